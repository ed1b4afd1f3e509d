"""A recorded failure as it is reviewed, and what a bag must hold for that: one line each."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import BagError
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.strip import Layout
from structrl_ros.recording.failed_rollout import read_failed_rollout
from structrl_ros.recording.failed_rollout import recorded_states
from structrl_ros.recording.failed_rollout import with_asked_potential

SECOND = 1_000_000_000


@pytest.fixture
def failed(synthetic_run, tmp_path):
    """Folder of the bag of a made-up failure of 8 chunks, with two cameras."""
    synthetic_run(success=False, is_rich=True, chunks=8).write(tmp_path)
    return tmp_path / 'bag'


class FirstUpThenDown:
    """A progress model: half way up at once, and down again from the fifth question on."""

    name = 'made up'

    def __init__(self):
        self.asked = 0

    def hops(self, contexts):
        self.asked += 1
        return np.full(len(contexts), 0.5 if self.asked < 5 else -0.4)


def test_a_recorded_failure_has_its_pictures_at_the_ends_of_its_chunks(failed) -> None:
    recorded = read_failed_rollout(failed, ('head', 'left_wrist'))
    rollout = recorded.rollout
    assert rollout.chunks == 8
    assert rollout.frame_chunks == tuple(range(1, 9))
    assert rollout.views['head'].shape == (8, 96, 128, 3)
    head = read_failed_rollout(failed, ('head',)).rollout
    assert head.frame_chunks == tuple(range(9))
    assert recorded.stamps_ns[2] == SECOND + 2 * 400_000_000 == head.frame_stamps_ns[2]
    assert recorded.end_reason == 'horizon reached'


def test_a_progress_model_is_asked_at_every_boundary(failed) -> None:
    model = FirstUpThenDown()
    online = OnlineModel(make=lambda _: model, layout=Layout(), view_px=32)
    recorded = with_asked_potential(read_failed_rollout(failed, ('head',)), online)
    potential = recorded.rollout.potential
    assert potential.shape == (9,)
    assert model.asked == 8
    assert potential[4] > 0.4
    assert potential[8] < 0.0


def test_command_prints_the_boundary_with_evidence_or_what_is_missing(failed) -> None:
    printed = CliRunner().invoke(app, ['events', str(failed), '--role', 'head', '--grm', 'none'])
    assert 'no progress model' in str(printed.exception)
    vlm = CliRunner().invoke(app, ['events', str(failed), '--backend', 'vlm'])
    assert '--model' in str(vlm.exception)


def test_a_success_a_cut_bag_and_missing_topics_are_one_line_each(synthetic_run, tmp_path) -> None:
    synthetic_run(success=True, chunks=2).write(tmp_path / 'won')
    with pytest.raises(BagError, match='episode 1 succeeded'):
        read_failed_rollout(tmp_path / 'won' / 'bag', ('head',))

    cut = synthetic_run(success=False, chunks=5)
    cut._episode = lambda stamp_ns, ended, whole=cut._episode: whole(stamp_ns, ended=False)
    cut.write(tmp_path / 'cut')
    with pytest.raises(BagError, match='ends within episode 1'):
        read_failed_rollout(tmp_path / 'cut' / 'bag', ('head',))

    idle = synthetic_run(success=False, chunks=0)
    idle.write(tmp_path / 'idle')
    with pytest.raises(BagError, match='no chunk_done'):
        read_failed_rollout(tmp_path / 'idle' / 'bag', ('head',))
    with pytest.raises(BagError, match='no episode 5'):
        read_failed_rollout(tmp_path / 'idle' / 'bag', ('head',), 5)


def test_a_chunk_that_was_not_recorded_is_named(synthetic_run, tmp_path) -> None:
    run = synthetic_run(success=False, chunks=5)
    run._chunk = lambda k, whole=run._chunk: None if k == 4 else whole(k)
    run.write(tmp_path)
    with pytest.raises(BagError, match='chunk_done 4 of episode 1'):
        read_failed_rollout(tmp_path / 'bag', ('head',))


def test_without_pictures_the_progress_model_says_what_it_misses(failed) -> None:
    online = OnlineModel(make=lambda _: FirstUpThenDown(), layout=Layout(), view_px=32)
    with pytest.raises(BagError, match='no picture was recorded after chunk 0'):
        with_asked_potential(read_failed_rollout(failed, ('left_wrist',)), online)


def test_a_bag_without_the_simulators_state_says_so(failed) -> None:
    with pytest.raises(BagError, match='no privileged/state'):
        recorded_states(failed, read_failed_rollout(failed, ('head',)))
