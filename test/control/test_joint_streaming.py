"""Whatever waypoints come, and whenever: the commands keep the limits of the arm."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.control.joint_plans import plan_stop
from structrl_ros.control.joint_plans import stopping_reach
from structrl_ros.control.joint_segments import JointMotion
from structrl_ros.control.joint_segments import PolynomialSegment
from structrl_ros.control.joint_segments import at_rest
from structrl_ros.control.joint_segments import instants_of
from structrl_ros.control.joint_stream import PLANNING_S
from structrl_ros.control.joint_stream import JointStream
from structrl_ros.control.robot_description import load_robot
from structrl_ros.errors import LimitError

PERIOD_S = 0.001
FR3 = load_robot('fr3')
SHARES = {'velocity': 0.9, 'acceleration': 0.7, 'jerk': 0.7, 'position_margin': 0.02}


def limits_of(arm):
    return load_robot(arm).limits.scaled(**SHARES)


def stream_of(arm='fr3', waypoint_s=0.05):
    stream = JointStream(limits_of(arm), waypoint_period_s=waypoint_s, period_s=PERIOD_S)
    stream.seed(load_robot(arm).ready)
    return stream


def run(stream, seconds):
    return [stream.step().position for _ in range(round(seconds / PERIOD_S))]


def assert_within(limits, positions):
    """Judge the commands as the controller does: by differences of successive positions."""
    p = np.array(positions)
    assert np.isfinite(p).all()
    v = np.diff(p, axis=0) / PERIOD_S
    a = np.diff(v, axis=0) / PERIOD_S
    jerk = np.diff(a, axis=0) / PERIOD_S
    low, high = limits.velocity_bounds(p[1:])
    assert (p >= limits.position_low - 2e-6).all()
    assert (p <= limits.position_high + 2e-6).all()
    assert (v <= high + 1e-4).all()
    assert (v >= low - 1e-4).all()
    assert (np.abs(a) <= limits.acceleration * 1.001 + 1e-4).all()
    assert (np.abs(jerk) <= limits.jerk * 1.001 + 1.0).all()


#: Kinds of what a body may do in a control period, with weights by repetition.
EVENTS = ('smooth', 'smooth', 'smooth', 'turn', 'wild', 'missing', 'late', 'hold', 'stop')


def random_stream(arm, waypoint_s, events, seed):
    """Return the commands of a random stream: each event is one control period."""
    generator = np.random.default_rng(seed)
    limits, stream = limits_of(arm), stream_of(arm, waypoint_s)
    steps = round(waypoint_s / PERIOD_S)
    waypoint, velocity = load_robot(arm).ready.copy(), np.zeros(7)
    positions = [stream.motion.position]
    for event in events:
        if event == 'turn':
            velocity = generator.uniform(-2.0, 2.0, 7)
        velocity = 0.9 * velocity + 0.1 * generator.normal(0.0, 1.0, 7)
        waypoint = waypoint + velocity * waypoint_s
        if event == 'wild':
            waypoint = generator.uniform(limits.position_low - 0.5, limits.position_high + 0.5)
        if event == 'hold':
            velocity = np.zeros(7)
        if event == 'stop':
            stream.stop()
            waypoint, velocity = stream.motion.position.copy(), np.zeros(7)
        early = generator.integers(1, steps)
        delay = {'late': generator.integers(1, steps), 'missing': None}.get(event, -early)
        due = None if delay is None else (steps + delay) % steps
        for step in range(steps):
            if step == due:
                stream.follow(waypoint)
            positions.append(stream.step().position)
            stream.prepare()
    return stream, positions


@settings(max_examples=20)
@given(
    arm=st.sampled_from(['fr3', 'panda']),
    waypoint_s=st.sampled_from([0.05, 0.1, 1.0 / 15.0]),
    events=st.lists(st.sampled_from(EVENTS), min_size=4, max_size=25),
    seed=st.integers(0, 2**31),
)
def test_no_stream_of_waypoints_makes_the_commands_leave_the_limits(arm, waypoint_s, events, seed):
    stream, positions = random_stream(arm, waypoint_s, events, seed)
    positions += run(stream, 4.0)
    assert_within(limits_of(arm), positions)
    assert stream.is_still, 'a hold ends at standstill'
    assert np.array_equal(positions[-1], run(stream, 0.2)[-1])


@pytest.mark.slow
@pytest.mark.parametrize('arm', ['fr3', 'panda'])
def test_ten_minutes_of_random_chunks_keep_the_limits(arm):
    generator = np.random.default_rng(7)
    events = generator.choice(EVENTS, 12000)
    stream, positions = random_stream(arm, 0.05, events, 7)
    assert_within(limits_of(arm), positions + run(stream, 4.0))
    assert stream.is_still


def test_even_motion_is_followed_exactly_one_period_and_the_time_to_plan_behind():
    stream, velocity = stream_of(), np.array([0.3, -0.2, 0.1, 0.4, -0.3, 0.2, 0.5])
    start = FR3.ready
    for number in range(1, 31):  # waypoint n is meant for the time n * 0.05 s
        stream.follow(start + number * 0.05 * velocity)
        run(stream, 0.05)
    expected = start + velocity * ((30 - 1) * 0.05 - PLANNING_S)
    assert np.allclose(stream.motion.position, expected, atol=1e-6)
    assert np.allclose(stream.motion.velocity, velocity, atol=1e-6)


def test_hold_ends_at_the_last_waypoint():
    stream = stream_of()
    goal = FR3.ready + 0.05
    stream.follow(goal)
    run(stream, 1.0)
    assert stream.is_still
    assert np.allclose(stream.motion.position, goal, atol=1e-9)


def test_waypoint_that_comes_late_is_taken_up_at_once():
    early, late = stream_of(), stream_of()
    for number in range(1, 20):
        for stream in (early, late):
            run(stream, 0.04)
            stream.follow(FR3.ready + 0.01 * number)
            run(stream, 0.01)
    early.follow(FR3.ready + 0.2)
    run(early, 0.05)
    run(late, 0.004)
    late.follow(FR3.ready + 0.2)
    run(late, 0.046)
    gap = np.abs(early.motion.position - late.motion.position)
    assert (gap < 0.002).all()


@settings(max_examples=20)
@given(delays=st.lists(st.integers(0, 60), min_size=10, max_size=20))
def test_each_waypoint_is_asked_for_once_however_late_it_comes(delays):
    """An arm asks when 20 ms are left; its body answers after a delay, in ms."""
    stream, lead_s = stream_of(), 0.02
    asked = answered = 0
    was_due, due_at = True, []
    for step in range(3000):
        stream.step()
        is_due = stream.wants_waypoint_in_s <= lead_s
        if is_due and not was_due and asked < len(delays):
            due_at.append(step + delays[asked])
            asked += 1
        was_due = is_due
        stream.prepare()
        if due_at and step >= due_at[0]:
            due_at.pop(0)
            answered += 1
            stream.follow(FR3.ready + 0.002 * answered)
    assert asked == answered == len(delays)
    assert np.allclose(stream.motion.position, FR3.ready + 0.002 * answered, atol=1e-6)


def test_newer_waypoint_replaces_one_that_waits():
    stream = stream_of()
    run(stream, 0.01)
    stream.follow(FR3.ready + 0.01)
    stream.follow(FR3.ready + 0.30)
    stream.follow(FR3.ready - 0.02)
    run(stream, 1.0)
    assert np.allclose(stream.motion.position, FR3.ready - 0.02, atol=1e-9)


def test_stop_is_the_quickest_and_takes_no_waypoint_until_it_stands():
    stream = stream_of()
    for number in range(1, 21):
        run(stream, 0.04)
        stream.follow(FR3.ready + 0.02 * number)
        run(stream, 0.01)
    fastest = float(np.abs(stream.motion.velocity).max())
    stream.stop()
    assert not stream.follow(FR3.ready)
    assert math.isinf(stream.wants_waypoint_in_s)
    limits = limits_of('fr3')
    seconds = 0
    while stream.is_stopping:
        stream.step()
        seconds += PERIOD_S
    expected = fastest / limits.acceleration[0] + limits.acceleration[0] / limits.jerk[0]
    assert fastest == pytest.approx(0.4, abs=0.01)
    assert seconds == pytest.approx(expected, abs=0.01)
    place = stream.motion.position.copy()
    assert stream.is_still
    assert stream.follow(place + 0.01)
    run(stream, 1.0)
    assert np.allclose(stream.motion.position, place + 0.01, atol=1e-9)


def test_stream_goes_on_from_where_the_arm_says_that_it_is():
    """Commands were lost: the arm went on with its acceleration, the stream must join there."""
    stream = stream_of()
    positions = []
    for number in range(1, 21):
        positions += run(stream, 0.04)
        stream.follow(FR3.ready + 0.004 * number**1.3)
        positions += run(stream, 0.01)
    lost, gap = stream.motion, 0.005
    arm = JointMotion(
        lost.position + gap * lost.velocity + 0.5 * gap * gap * lost.acceleration,
        lost.velocity + gap * lost.acceleration,
        lost.acceleration,
    )
    stream.resume(arm)
    after = [arm.position, *run(stream, 0.3)]
    assert_within(limits_of('fr3'), after)
    start = (after[1] - after[0]) / PERIOD_S
    assert np.allclose(start, arm.velocity, atol=0.02)


def test_commands_that_were_lost_are_found_again_on_the_stream():
    stream = stream_of()
    stream.follow(FR3.ready + 0.3)
    run(stream, 0.1)
    twin = stream_of()
    twin.follow(FR3.ready + 0.3)
    ahead = run(twin, 0.104)[-1]
    assert stream.find(ahead, periods=20) == 4
    assert stream.find(ahead + 1e-4, periods=20) is None
    assert stream.find(stream.motion.position, periods=20) == 0


def test_far_waypoint_is_approached_at_full_speed_and_reached_without_a_swing():
    stream = stream_of()
    goal = FR3.ready + np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    stream.follow(goal)
    positions = np.array(run(stream, 2.0))
    assert_within(limits_of('fr3'), positions)
    assert positions[:, 0].max() <= goal[0] + 1e-6
    assert np.allclose(positions[-1], goal, atol=1e-9)
    rest_to_rest = 2.0 * math.sqrt(0.8 / 7.0)
    arrival = np.argmax(positions[:, 0] > goal[0] - 1e-3) * PERIOD_S
    assert arrival < rest_to_rest + 0.25


@pytest.mark.parametrize('bad', [np.full(7, np.nan), np.zeros(6), np.full(7, np.inf)])
def test_what_is_no_waypoint_is_refused_and_changes_nothing(bad):
    stream = stream_of()
    with pytest.raises(LimitError, match='joint positions'):
        stream.follow(bad)
    assert np.array_equal(run(stream, 0.2)[-1], FR3.ready)


def test_stream_without_a_seed_and_wrong_periods_are_refused():
    limits = limits_of('fr3')
    with pytest.raises(LimitError, match='seed first'):
        JointStream(limits, waypoint_period_s=0.05).step()
    for waypoint_s, period_s in ((0.001, 0.05), (0.05, 0.0), (math.inf, 0.001)):
        with pytest.raises(LimitError, match='command period <= waypoint period'):
            JointStream(limits, waypoint_period_s=waypoint_s, period_s=period_s)


def test_arm_beyond_its_range_may_only_come_back():
    """Somebody pushed a joint past the margin by hand."""
    limits, stream = limits_of('fr3'), stream_of()
    place = FR3.ready.copy()
    place[3] = limits.position_high[3] + 0.015
    stream.seed(place)
    stream.follow(place + 0.5)
    assert np.array(run(stream, 1.0))[:, 3].max() <= place[3] + 1e-9
    stream.follow(FR3.ready)
    assert np.allclose(run(stream, 4.0)[-1], FR3.ready, atol=1e-9)


@given(
    states=st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=6),
    duration_s=st.floats(0.02, 0.2),
)
def test_polynomial_joins_both_states(states, duration_s):
    start, end = (
        JointMotion(*(np.array([value]) for value in states[part : part + 3])) for part in (0, 3)
    )
    segment = PolynomialSegment(start, end, duration_s)
    for time_s, state in ((0.0, start), (duration_s, end)):
        motion = segment.at(time_s)
        assert np.allclose(motion.position, state.position, atol=1e-9)
        assert np.allclose(motion.velocity, state.velocity, atol=1e-7)
        assert np.allclose(motion.acceleration, state.acceleration, atol=1e-5)
    instants = instants_of(0.0, duration_s, 0.3 * duration_s)
    found, motion = segment.states(instants)[:, 1], segment.at(0.3 * duration_s)
    assert np.allclose(found, [motion.position, motion.velocity, motion.acceleration])


def test_stop_of_an_arm_that_stands_is_no_motion():
    segment = plan_stop(limits_of('fr3'), at_rest(FR3.ready))
    assert segment.duration_s == 0.0
    assert np.array_equal(segment.at(0.5).position, FR3.ready)


@given(
    velocity=st.floats(-2.0, 2.0),
    share=st.floats(-1.0, 1.0),
    arm=st.sampled_from(['fr3', 'panda']),
)
def test_reach_of_a_stop_is_what_the_stop_reaches(velocity, share, arm):
    """The bound is never below, and at most a hair above, the farthest point of Ruckig's stop."""
    limits = limits_of(arm)
    acceleration = share * limits.acceleration
    start = JointMotion(np.zeros(7), np.full(7, velocity), acceleration)
    segment = plan_stop(limits, start)
    instants = instants_of(0.0, segment.duration_s + 0.001, 0.0005)
    position, speed, _ = segment.states(instants)
    for sign in (1.0, -1.0):
        states = np.full((1, 7), sign * velocity), sign * acceleration[None]
        reach, peak = (values[0] for values in stopping_reach(limits, *states))
        farthest = np.maximum((sign * position).max(axis=0), 0.0)
        fastest = np.maximum((sign * speed).max(axis=0), 0.0)
        assert (reach >= farthest - 1e-9).all()
        assert (reach <= farthest + 2e-4).all()
        assert (peak >= fastest - 1e-9).all()
