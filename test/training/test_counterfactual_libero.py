"""Counterfactual sets of LIBERO: the operators that the tabletop has, on its scenes."""

import pytest
from typer.testing import CliRunner

pytest.importorskip('mujoco')
pytest.importorskip('libero')

from structrl_ros.cli.main import app
from structrl_ros.progress.operators import Operator
from structrl_ros.sim.counterfactual.stage import LEAST_CHANGE
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures

pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.timeout(900)]


def test_every_operator_is_rendered_and_seen_in_an_episode_of_libero(tmp_path):
    out = tmp_path / 'set'
    words = ('--body', 'libero', '--task', 'goal/8', '--episodes', '1')
    result = CliRunner().invoke(
        app, ['data', 'counterfactual', str(out), *words, '--frames', '12', '--size', '48']
    )
    assert result.exit_code == 0, result.output
    (record,) = read_manifest(out)
    assert (record.body, record.task, record.frames) == ('libero', 'goal/8', 12)
    assert {edit.operator for edit in record.edits} == {o.value for o in Operator}
    source = read_pictures(out, record.file)
    assert source['head'].shape == source['left_wrist'].shape == (12, 48, 48, 3)
    for edit in record.edits:
        assert max(edit.changed_pixels) >= LEAST_CHANGE, edit.operator
        assert (edit.target == 'akita_black_bowl_1') == Operator(edit.operator).is_negative
        pictures = read_pictures(out, edit.file)
        assert len(pictures['head']) == len(edit.edited_frames)
