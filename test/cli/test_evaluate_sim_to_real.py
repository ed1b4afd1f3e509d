"""`structrl evaluate sim-to-real` on two folders of results."""

import json

import pytest
from episode_records import episode_record
from scipy import stats
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.results import save_results

SIM = {'lunch': (18, 20), 'bowl': (12, 20), 'drawer': (5, 20), 'peg': (9, 20)}
REAL = {'lunch': (8, 10), 'bowl': (7, 10), 'drawer': (1, 10), 'peg': (3, 10), 'lid': (0, 10)}


def record(number, code, task, success):
    return episode_record(success, number=number, code=code, task=task, seed=number)


def write(folder, rates, codes=('flow',)):
    folder.mkdir()
    rows = [
        (code, task, k < successes)
        for code in codes
        for task, (successes, n) in rates.items()
        for k in range(n)
    ]
    results = EvaluationResults(
        protocol='test',
        protocol_hash='0',
        body='tabletop',
        success_rule='truth',
        planned=len(rows),
        policies=tuple(EvaluatedPolicy(code=c, name=c) for c in codes),
        episodes=tuple(record(i, *row) for i, row in enumerate(rows)),
    )
    save_results(folder / 'results.json', results)
    return str(folder)


def test_correlations_are_printed_and_written(tmp_path):
    sim, real = write(tmp_path / 'sim', SIM), write(tmp_path / 'real', REAL)
    out = tmp_path / 'numbers.json'
    words = ['evaluate', 'sim-to-real', sim, real, '--json', str(out)]
    result = CliRunner().invoke(app, words, env={'COLUMNS': '160'})
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    shared = list(SIM)
    x, y = ([side[t][0] / side[t][1] for t in shared] for side in (SIM, REAL))
    assert document['pearson']['value'] == pytest.approx(stats.pearsonr(x, y)[0])
    assert document['left_out'] == ['lid']
    for word in ('pearson', 'spearman', 'mmrv', '18/20', 'on one side only: lid'):
        assert word in result.output


def test_few_tasks_are_told_in_a_line(tmp_path):
    sim = write(tmp_path / 'sim', {'lunch': (1, 2), 'bowl': (2, 2)})
    result = CliRunner().invoke(app, ['evaluate', 'sim-to-real', sim, sim], env={'COLUMNS': '160'})
    assert result.exit_code == 0, result.output
    assert '2 common task(s); pearson needs 3 and more' in result.output


def test_one_of_several_policies_must_be_named(tmp_path):
    sim = write(tmp_path / 'sim', SIM, codes=('before', 'after'))
    words = ['evaluate', 'sim-to-real', sim, sim]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, ParameterError)
    assert 'allowed: one of before, after, by --policy' in str(result.exception)
    assert CliRunner().invoke(app, [*words, '--policy', 'after']).exit_code == 0
