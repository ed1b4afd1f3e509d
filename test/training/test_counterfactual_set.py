"""Claims of counterfactual sets: provenance, splits before edits, sheets, clear mistakes."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip('mujoco')

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.progress.operators import Operator
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.training.counterfactual_set import split_of
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.sim

TASK = 'apple_in_bowl'


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp('set') / 'new'
    words = ('--task', TASK, '--episodes', 2, '--frames', 16, '--size', 48)
    result = run('data', 'counterfactual', out, *words)
    assert result.exit_code == 0, result.output
    assert 'non_release' in result.output
    return out


def test_every_edited_frame_keeps_its_source(made):
    records = read_manifest(made)
    assert [(r.task, r.initial_state) for r in records] == [(TASK, 0), (TASK, 1)]
    for record in records:
        source = read_pictures(made, record.file)
        assert set(source) == set(record.roles) == {'head', 'left_wrist'}
        assert source['head'].shape == (record.frames, 48, 48, 3)
        assert len(record.phases) == record.frames
        assert {edit.operator for edit in record.edits} == {o.value for o in Operator}
        for edit in record.edits:
            pictures = read_pictures(made, edit.file)
            assert edit.edited_frames == list(range(edit.start, edit.stop))
            assert len(pictures['head']) == len(edit.edited_frames) == len(edit.changed_pixels)
            assert max(edit.changed_pixels) > 0.0
            assert edit.group == ('negative' if Operator(edit.operator).is_negative else 'robust')
            assert (edit.target == 'apple_1') == (edit.group == 'negative')
            assert edit.file.startswith(record.episode)


def test_changed_pixels_say_what_the_pictures_show(made):
    record = read_manifest(made)[0]
    source = read_pictures(made, record.file)
    for edit in record.edits:
        pictures = read_pictures(made, edit.file)
        for n, frame in enumerate(edit.edited_frames):
            same = all(np.array_equal(pictures[r][n], source[r][frame]) for r in record.roles)
            assert not (same and edit.changed_pixels[n] > 0.0)


def test_splits_are_of_episodes_and_known_before_any_edit():
    starts = [EpisodeStart(TASK, 0, i) for i in range(400)]
    splits = [split_of(start, 0.25) for start in starts]
    assert splits == [split_of(start, 0.25) for start in starts]
    assert 0.15 < splits.count('test') / 400 < 0.35
    assert {split_of(start, 0.0) for start in starts} == {'train'}


def test_no_edit_leaves_the_split_of_its_source(made):
    document = json.loads((made / 'manifest.json').read_text())
    owners = {}
    for episode in document['episodes']:
        for edit in episode['edits']:
            assert owners.setdefault(edit['file'], episode['episode']) == episode['episode']
            assert 'split' not in edit


def test_sheet_shows_sources_and_edits(made, tmp_path):
    result = run('data', 'sheet', made, '--out', tmp_path)
    assert result.exit_code == 0, result.output
    assert len(list(tmp_path.glob('*-head.png'))) == 2
    result = run('data', 'sheet', made, '--episode', 'nothing')
    assert isinstance(result.exception, ParameterError)
    assert "no episode 'nothing'; allowed: tabletop-apple_in_bowl-0-0" in str(result.exception)


def test_mistakes_are_one_line(made, tmp_path):
    result = run('data', 'counterfactual', made, '--task', TASK)
    assert 'not empty; allowed: a new or empty folder' in str(result.exception)
    with pytest.raises(CheckpointError, match='no manifest of counterfactuals'):
        read_manifest(tmp_path)
    cut = made / 'cut.npz'
    cut.write_bytes((made / read_manifest(made)[0].file).read_bytes()[:200])
    with pytest.raises(CheckpointError, match=r'cut\.npz: cannot be read'):
        read_pictures(made, 'cut.npz')
