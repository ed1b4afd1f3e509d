"""`structrl bench learning --quick`: it writes what it says, and refuses in one line."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

pytest.importorskip('torch')

from structrl_ros.cli.bench_learning import LearningRequest
from structrl_ros.cli.bench_learning import run_bench_learning
from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError

pytestmark = pytest.mark.torch

WRITTEN = {'results.json', 'report.html', 'overview.svg', 'tables.md'}


def run(folder, **options):
    console = Console(file=io.StringIO(), width=120)
    document = run_bench_learning(LearningRequest(quick=True, out=folder, **options), console)
    return document, console.file.getvalue()


def test_a_quick_run_writes_results_report_and_picture_and_goes_on_at_no_cost(tmp_path):
    document, told = run(tmp_path, only=('gating',))
    assert {p.name for p in tmp_path.iterdir()} >= WRITTEN
    assert json.loads((tmp_path / 'results.json').read_text()) == document
    assert document['command'] == 'structrl bench learning --quick --only gating'
    assert [e['name'] for e in document['experiments']] == ['gating']
    arms = {arm['name']: arm for arm in document['experiments'][0]['arms']}
    assert arms['gated']['seeds'] == arms['ungated']['seeds'] == 2
    assert 'Gating, where demonstrations hold a shortcut' in told
    assert 'not judged' in told
    again, _ = run(tmp_path, only=('gating',))
    assert again == document  # the CPU seconds too: nothing was run


def test_seeds_can_be_set(tmp_path):
    document, _ = run(tmp_path, only=('pacing',), seeds=2)
    arms = {arm['name']: arm['seeds'] for arm in document['experiments'][0]['arms']}
    assert arms == {'start ODE': 1, 'start SDE': 1, 'demonstrations': 2, 'H / N': 2}


def test_an_unknown_experiment_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(ParameterError, match='unknown experiment'):
        run(tmp_path, only=('everything',))
    assert not list(tmp_path.iterdir())


def test_the_command_explains_itself():
    told = CliRunner().invoke(app, ['bench', 'learning', '--help'])
    assert told.exit_code == 0
    assert '--mujoco' in told.output


@pytest.mark.slow
def test_a_quick_run_of_everything_runs_every_experiment(tmp_path):
    document, _ = run(tmp_path)
    assert len(document['experiments']) == 10
    assert all(e['verdict']['claims'] for e in document['experiments'])


@pytest.mark.sim
@pytest.mark.slow
def test_the_confirmation_in_mujoco_runs_and_keeps_its_runs(tmp_path):
    document, _ = run(tmp_path, mujoco=True)
    (experiment,) = document['experiments']
    assert experiment['verdict']['state'] == 'not judged'
    assert [arm['episodes'] for arm in experiment['arms']] == [[2], [2], [2]]
    kept = [p for p in (tmp_path / 'cells').iterdir() if p.is_dir()]
    assert len(kept) == 2
    assert all((p / 'checkpoint').exists() for p in kept)
