"""Claims of the chunk schedule: rows, lateness, seams, drops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.chunk_schedule import Blend
from structrl_ros.control.chunk_schedule import ChunkSchedule
from structrl_ros.control.chunk_schedule import blend_weights
from structrl_ros.errors import ParameterError
from structrl_ros.types import ActionChunk

PERIOD = 50_000_000


def chunk(number=1, stamp=0, rows=10, value=None, gripper=-1.0):
    actions = np.zeros((rows, 7), np.float32)
    actions[:, 0] = np.arange(rows) / 100 if value is None else value
    actions[:, 6] = gripper
    return ActionChunk(stamp, 1, number, 'policy', 'ee_delta_pose', 0.05, actions)


def serve(schedule, ticks):
    return [schedule.next(t * PERIOD) for t in ticks]


def test_row_i_is_served_at_stamp_plus_i_periods():
    schedule = ChunkSchedule()
    schedule.accept(chunk(stamp=2 * PERIOD))
    assert [s.row for s in serve(schedule, range(2, 12))] == list(range(10))
    assert schedule.next(12 * PERIOD) is None


def test_late_chunk_skips_rows_whose_time_has_passed():
    schedule = ChunkSchedule()
    schedule.accept(chunk(stamp=0))
    assert schedule.rows_left(3 * PERIOD) == 7
    assert [s.row for s in serve(schedule, range(3, 10))] == [3, 4, 5, 6, 7, 8, 9]


def test_chunk_that_is_wholly_late_leaves_the_running_one_alone():
    schedule = ChunkSchedule()
    schedule.accept(chunk(1, stamp=10 * PERIOD))
    serve(schedule, [10, 11])
    schedule.accept(chunk(2, stamp=0, rows=4))
    assert [s.chunk for s in serve(schedule, [12, 13])] == [1, 1]


def test_missed_ticks_skip_rows_and_never_serve_them_later():
    schedule = ChunkSchedule()
    schedule.accept(chunk())
    assert [s.row for s in serve(schedule, [0, 1, 5, 6])] == [0, 1, 5, 6]


def test_a_faster_tick_never_serves_a_row_twice():
    schedule = ChunkSchedule()
    schedule.accept(chunk(rows=3))
    served = [schedule.next(t * PERIOD // 5) for t in range(20)]
    assert [s.row for s in served if s] == [0, 1, 2]


def test_chunk_stamped_in_the_future_waits():
    schedule = ChunkSchedule()
    schedule.accept(chunk(stamp=2 * PERIOD))
    assert schedule.next(PERIOD) is None
    assert schedule.next(2 * PERIOD).row == 0


def test_lockstep_runs_a_chunk_whole_whatever_the_time():
    schedule = ChunkSchedule(whole=True)
    schedule.accept(chunk(stamp=0, rows=4))
    assert [s.row for s in serve(schedule, [100, 100, 7, 3])] == [0, 1, 2, 3]
    assert schedule.next(0) is None


def test_nothing_executed_means_row_zero_is_next_not_row_21():
    """LeRobot #4454: the queue served index 21 although nothing had been executed."""
    schedule = ChunkSchedule(whole=True)
    schedule.accept(chunk(1, rows=50))
    schedule.accept(chunk(2, stamp=21 * PERIOD, rows=50))
    first = schedule.next(21 * PERIOD)
    assert (first.chunk, first.row) == (2, 0)
    live = ChunkSchedule()
    live.accept(chunk(2, stamp=21 * PERIOD, rows=50))
    assert live.next(21 * PERIOD).row == 0


def test_queue_does_not_survive_a_reset():
    """LeRobot #1116: rows of the episode before were still served after a reset."""
    schedule = ChunkSchedule()
    schedule.accept(chunk(1))
    serve(schedule, [0, 1, 2])
    schedule.accept(chunk(2, stamp=2 * PERIOD))
    assert schedule.drop() == 17
    assert serve(schedule, range(3, 12)) == [None] * 9
    assert schedule.rows_left(0) == 0


def test_empty_chunk_drops_what_runs():
    schedule = ChunkSchedule()
    schedule.accept(chunk(1))
    assert schedule.next(0) is not None
    schedule.accept(chunk(2, rows=0))
    assert schedule.next(PERIOD) is None


@pytest.mark.parametrize('blend', list(Blend))
def test_seam_changes_less_a_step_than_without_blending(blend):
    """ros2_controllers #574, #84: a new trajectory was not blended with the running one."""

    def velocities(blend_steps):
        schedule = ChunkSchedule(blend_steps=blend_steps, blend=blend)
        schedule.accept(chunk(1, value=0.0))
        head = serve(schedule, range(5))
        schedule.accept(chunk(2, stamp=5 * PERIOD, value=1.0))
        return np.array([s.action[0] for s in head + serve(schedule, range(5, 15))])

    jump, fade = velocities(0), velocities(4)
    assert np.abs(np.diff(jump)).max() == 1.0
    assert np.abs(np.diff(fade)).max() <= 0.36
    assert np.abs(np.diff(fade, 2)).max() <= 0.36
    assert fade[9:].tolist() == [1.0] * 6


def test_seam_mixes_rows_meant_for_the_same_time():
    schedule = ChunkSchedule(blend_steps=1, blend=Blend.LINEAR)
    schedule.accept(chunk(1))
    serve(schedule, range(4))
    schedule.accept(chunk(2, stamp=2 * PERIOD))
    mixed = schedule.next(4 * PERIOD)
    assert (mixed.chunk, mixed.row) == (2, 2)
    assert mixed.action[0] == pytest.approx((0.04 + 0.02) / 2)
    assert schedule.next(5 * PERIOD).action[0] == pytest.approx(0.03)


def test_gripper_is_never_blended():
    schedule = ChunkSchedule(blend_steps=4)
    schedule.accept(chunk(1, value=0.0, gripper=-1.0))
    serve(schedule, range(3))
    schedule.accept(chunk(2, stamp=3 * PERIOD, value=1.0, gripper=1.0))
    assert [s.action[6] for s in serve(schedule, range(3, 7))] == [1.0] * 4


def test_third_chunk_fades_from_the_mixture_that_was_running():
    schedule = ChunkSchedule(blend_steps=3, blend=Blend.LINEAR)
    schedule.accept(chunk(1, value=0.0))
    serve(schedule, [0])
    schedule.accept(chunk(2, stamp=PERIOD, value=1.0))
    assert schedule.next(PERIOD).action[0] == pytest.approx(0.25)
    schedule.accept(chunk(3, stamp=2 * PERIOD, value=1.0))
    assert schedule.next(2 * PERIOD).action[0] == pytest.approx(0.75 * 0.5 + 0.25)


def test_after_a_gap_there_is_nothing_to_blend_with():
    schedule = ChunkSchedule(blend_steps=3)
    schedule.accept(chunk(1, value=0.0, rows=2))
    serve(schedule, [0, 1])
    schedule.accept(chunk(2, stamp=5 * PERIOD, value=1.0))
    assert schedule.next(5 * PERIOD).action[0] == 1.0


def test_accepted_arrays_are_not_changed_by_blending():
    old, new = chunk(1, value=0.0), chunk(2, stamp=PERIOD, value=1.0)
    schedule = ChunkSchedule(blend_steps=3)
    schedule.accept(old)
    schedule.next(0)
    schedule.accept(new)
    schedule.next(PERIOD)
    assert (new.actions[:, 0] == 1.0).all()
    assert (old.actions[:, 0] == 0.0).all()


@given(
    ticks=st.lists(st.integers(0, 30), min_size=1, max_size=40),
    arrivals=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=6),
    blend_steps=st.integers(0, 5),
)
def test_no_row_is_served_twice_or_before_its_time(ticks, arrivals, blend_steps):
    schedule = ChunkSchedule(blend_steps=blend_steps)
    served = []
    arrivals = sorted(arrivals)
    for tick in sorted(ticks):
        while arrivals and arrivals[0][0] <= tick:
            at, rows = arrivals.pop(0)
            schedule.accept(chunk(len(served) + 100 * at, stamp=at * PERIOD, rows=rows))
        point = schedule.next(tick * PERIOD)
        if point:
            assert point.stamp_ns + point.row * PERIOD == tick * PERIOD
            served.append((point.chunk, point.row))
    assert len(served) == len(set(served))


@given(st.integers(1, 20), st.sampled_from(list(Blend)))
def test_blend_weights_rise_strictly_between_zero_and_one(steps, blend):
    weights = blend_weights(steps, blend)
    assert weights.shape == (steps,)
    assert ((weights > 0) & (weights < 1)).all()
    assert (np.diff(weights) > 0).all()


def test_negative_blend_steps_and_period_zero_are_refused():
    with pytest.raises(ParameterError, match='blend_steps is -1'):
        ChunkSchedule(blend_steps=-1)
    bad = ActionChunk(0, 1, 1, 'policy', 'ee_delta_pose', 0.0, np.zeros((1, 7), np.float32))
    with pytest.raises(ParameterError, match='step_period'):
        ChunkSchedule().accept(bad)
