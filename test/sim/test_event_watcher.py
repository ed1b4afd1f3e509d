"""The watched tabletop, in MuJoCo: an expert makes no lasting error, a hand that opens drops."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from structrl_ros.sim.events.reviewer import SimulatorEvents
from structrl_ros.sim.events.reviewer import chunk_of_moments
from structrl_ros.sim.events.reviewer import review_track
from structrl_ros.sim.events.track import read_track
from structrl_ros.sim.events.watcher import STATE_NAMES
from structrl_ros.sim.events.watcher import WatchedTabletop
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.types import FailedRollout

pytestmark = pytest.mark.sim
ROWS = 5


def play(body: WatchedTabletop, *, opens_at: float | None) -> int:
    """Let the expert play, and open the hand for good once an object is as high as told."""
    body.reset('apple_in_bowl', 0, 0)
    is_open = False
    for step in range(8 * ROWS):
        action = body.expert_action()
        is_open |= opens_at is not None and body.view.objects[0, 0, 2] > opens_at
        if is_open:
            action = np.array([0, 0, 0, 0, 0, 0, -body.hold_action()[6]], dtype=np.float32)
            if step and body.view.opening[0] > 0.8:
                action = body.hold_action()
        if body.step(action).success:
            break
    return len(body.kept[-1][0]) - 1


def test_the_expert_makes_no_lasting_error_and_an_opened_hand_drops() -> None:
    body = WatchedTabletop(calibration_offset=0.02)
    try:
        steps = play(body, opens_at=None)
        states = np.array(body.kept[-1][0])
        chunks = chunk_of_moments([ROWS] * (steps // ROWS) + [steps % ROWS])
        track = read_track(body.task, states, STATE_NAMES, chunks)
        assert review_track(track).outcome == 'success'
        steps = play(body, opens_at=0.12)
        states = np.array(body.kept[-1][0])
    finally:
        body.close()
    assert len(body.kept) == 2
    track = read_track(
        find_task('apple_in_bowl'), states, STATE_NAMES, chunk_of_moments([ROWS] * (steps // ROWS))
    )
    fine = review_track(track)
    assert (fine.error_type, fine.recovery) == ('dropped', 'not_observed')
    rollout = FailedRollout(
        task='apple_in_bowl',
        instruction='pick up the apple and place it in the bowl',
        chunks=steps // ROWS,
        states=states[::ROWS].astype(np.float64),
        state_names=STATE_NAMES,
    )
    coarse = SimulatorEvents().review(rollout)
    assert coarse.error_type == 'dropped'
    assert fine.interval is not None and coarse.interval is not None
    assert abs(coarse.interval[1] - fine.interval[1]) <= 1


def test_states_of_every_control_period_show_a_hand_that_shut_within_a_chunk() -> None:
    columns = {name: i for i, name in enumerate(STATE_NAMES)}
    states = np.zeros((11, len(STATE_NAMES)))
    states[:, columns['opening']] = 1.0
    states[2:5, columns['opening']] = 0.0
    rollout = FailedRollout(
        task='apple_in_bowl',
        instruction='',
        chunks=2,
        states=states,
        state_names=STATE_NAMES,
        state_chunks=chunk_of_moments([ROWS, ROWS]),
    )
    assert SimulatorEvents().review(rollout).interval == (1, 1)
    once = dataclasses.replace(rollout, states=states[::ROWS], state_chunks=())
    assert SimulatorEvents().review(once).interval is None
