"""The pure parts of a real body: clock, guards, target of ee, and the loop, stepped by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_clock import ArmClock
from structrl_ros.control.arm_guards import RecoveryBudget
from structrl_ros.control.arm_guards import guard_age
from structrl_ros.control.arm_guards import guard_clock
from structrl_ros.control.arm_guards import guard_mode
from structrl_ros.control.arm_guards import guard_state
from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.control.arm_target import ArmTarget
from structrl_ros.control.arm_target import Leash
from structrl_ros.control.arm_target import aligned_rows
from structrl_ros.control.arm_target import delta_action
from structrl_ros.control.arm_target import displacement
from structrl_ros.control.chunk_skew import KEPT
from structrl_ros.control.chunk_skew import ChunkSkew
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.limits import Limits
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.rotations import difference
from structrl_ros.control.rotations import moved
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.errors import ArmError
from structrl_ros.errors import LimitError
from structrl_ros.types import ActionChunk
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState
from structrl_ros.types import BodySpec
from structrl_ros.types import SafetyState
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo

FR3 = load_robot('fr3')
KINEMATICS = Kinematics(FR3)
JOINTS = FR3.limits.scaled(velocity=0.5, acceleration=0.5, jerk=0.5, position_margin=0.05)
PERIOD_NS = 50_000_000
WORKSPACE = Limits(
    box_low=(0.25, -0.3, 0.3),
    box_high=(0.6, 0.3, 0.7),
    translation_velocity=0.5,
    rotation_velocity=1.0,
)


class Clocks:
    """Two hand-driven clocks, nanoseconds."""

    def __init__(self):
        self.wall, self.steady = 10**18, 5 * 10**9

    def pass_ns(self, wall, steady=None):
        self.wall += wall
        self.steady += wall if steady is None else steady


def clock_of(clocks):
    return ArmClock(lambda: clocks.wall, lambda: clocks.steady, period_s=0.05)


@given(jitter=st.lists(st.integers(-20_000_000, 20_000_000), min_size=5, max_size=80))
def test_ticks_that_come_a_little_early_or_late_stay_on_the_grid(jitter):
    clocks = Clocks()
    clock = clock_of(clocks)
    start = now = clock.now_ns()
    for number, off in enumerate(jitter, start=1):
        clocks.wall = start + number * PERIOD_NS + off
        clocks.steady = 5 * 10**9 + number * PERIOD_NS + off
        after = clock.next_ns(now)
        assert abs(after - now - PERIOD_NS) <= 6_000_000
        now = after
    assert abs(now - start - len(jitter) * PERIOD_NS) <= 21_000_000
    assert clock.jump_s == 0.0


def test_tick_that_is_much_too_late_takes_the_real_time():
    clocks = Clocks()
    clock = clock_of(clocks)
    start = clock.now_ns()
    clocks.pass_ns(400_000_000)
    assert clock.next_ns(start) == start + 400_000_000


def test_body_that_holds_waits_for_a_clock_that_went_back():
    clocks = Clocks()
    clock = clock_of(clocks)
    start = now = clock.now_ns()
    clocks.pass_ns(-1_000_000_000, PERIOD_NS)
    for _ in range(30):
        clocks.pass_ns(PERIOD_NS)
        before, now = now, clock.next_ns(now, is_idle=True)
        assert now > before
    assert now == clocks.wall
    assert now > start


def test_clock_that_ticked_too_often_lets_the_real_time_catch_up():
    """Else stamps of observations would stay in the future for ever."""
    clocks = Clocks()
    clock = clock_of(clocks)
    now = clock.now_ns()
    for _ in range(3):
        now = clock.next_ns(now)
    assert now - clocks.wall > 2 * PERIOD_NS
    steps = []
    for _ in range(100):
        clocks.pass_ns(PERIOD_NS)
        before, now = now, clock.next_ns(now)
        steps.append(now - before)
    assert min(steps) >= 0.95 * PERIOD_NS
    assert abs(now - clocks.wall) < 0.01 * PERIOD_NS


@pytest.mark.parametrize('jump_ns', [-2_000_000_000, 3_000_000_000])
def test_clock_that_jumps_is_told_and_never_taken_back(jump_ns):
    clocks = Clocks()
    clock = clock_of(clocks)
    now = clock.now_ns()
    clocks.pass_ns(PERIOD_NS + jump_ns, PERIOD_NS)
    after = clock.next_ns(now)
    assert after - now >= 47_500_000
    assert clock.jump_s == pytest.approx(jump_ns / 1e9)
    objection = guard_clock(lambda: clock.jump_s)()
    assert objection.stops
    assert 'clock jumped by' in objection.why
    clock.accept_jump()
    assert guard_clock(lambda: clock.jump_s)() is None


def state_in(mode, **changes):
    still = np.zeros(7)
    fields = {
        'time_ns': 0,
        'mode': mode,
        'position': FR3.ready,
        'velocity': still,
        'reference': FR3.ready,
        'is_still': True,
        'opening': 0.08,
        **changes,
    }
    return ArmState(**fields)


def test_guards_deny_by_default():
    assert 'no state' in guard_state(lambda: None, lambda: math.inf, limit_s=0.1)().why
    assert 'never came' in guard_age('heartbeat', lambda: math.inf, limit_s=0.1)().why
    assert '0.30 s old, limit 0.1 s' in guard_age('picture', lambda: 0.3, limit_s=0.1)().why
    old = guard_state(lambda: state_in(ArmMode.MOVE), lambda: 0.3, limit_s=0.1)()
    assert old.stops
    idle = guard_mode(lambda: state_in(ArmMode.IDLE), needs_control=True)()
    assert not idle.stops
    assert guard_mode(lambda: state_in(ArmMode.IDLE))() is None


@pytest.mark.parametrize('mode', [ArmMode.USER_STOPPED, ArmMode.GUIDING, ArmMode.REFLEX])
def test_modes_of_the_arm_s_own_stop_the_policy(mode):
    objection = guard_mode(lambda: state_in(mode, errors=('joint_reflex',)))()
    assert objection.stops
    assert 'joint_reflex' in objection.why


def test_recoveries_are_bounded_in_a_window_of_time():
    budget = RecoveryBudget(attempts=2, window_s=60.0)
    budget.spend(0.0)
    budget.spend(50.0)
    with pytest.raises(ArmError, match='2 recoveries within 60 s: look at the arm, and wait 5 s'):
        budget.spend(55.0)
    budget.spend(61.0)
    with pytest.raises(ArmError, match='no recovery is allowed'):
        RecoveryBudget(attempts=0).spend(0.0)


def target_at_ready(**changes):
    target = ArmTarget(KINEMATICS, JOINTS, WORKSPACE, period_s=0.05, **changes)
    target.seed(FR3.ready)
    return target


def test_waypoint_moves_ee_by_the_displacement():
    target = target_at_ready()
    start = target.pose.copy()
    shift, turn = np.array([0.004, -0.003, 0.002]), np.array([0.01, 0.0, 0.02])
    waypoint = target.advance(shift, turn, FR3.ready)
    translation, rotation = difference(start, KINEMATICS.forward(waypoint))
    assert np.allclose(translation, shift, atol=2e-6)
    assert np.allclose(rotation, turn, atol=2e-5)


def test_without_a_displacement_the_joints_stand_still():
    target = target_at_ready(rest_share=0.2)
    away = FR3.ready + np.array([0.3, 0.0, -0.3, 0.0, 0.2, 0.0, 0.1])
    target.seed(away)
    assert np.array_equal(target.advance(np.zeros(3), np.zeros(3), away), away)


@settings(max_examples=25)
@given(steps=st.lists(st.tuples(*[st.floats(-0.05, 0.05)] * 6), min_size=1, max_size=20))
def test_target_keeps_box_joint_ranges_and_joint_speeds(steps):
    target = target_at_ready()
    before = FR3.ready
    for step in steps:
        waypoint = target.advance(np.array(step[:3]), np.array(step[3:]), before)
        place = KINEMATICS.forward(waypoint)[:3, 3]
        assert (np.abs(waypoint - before) <= JOINTS.velocity * 0.05 + 1e-9).all()
        assert (waypoint >= JOINTS.position_low - 1e-9).all()
        assert (waypoint <= JOINTS.position_high + 1e-9).all()
        assert (place >= np.array(WORKSPACE.box_low) - 0.002).all()
        assert (place <= np.array(WORKSPACE.box_high) + 0.002).all()
        before = waypoint


def test_arm_that_is_held_fast_does_not_wind_up_the_target():
    """The target runs ahead of an arm that somebody holds, but not farther than the leash."""
    target = target_at_ready(leash=Leash(0.05, 0.2))
    held = KINEMATICS.forward(FR3.ready)
    for _ in range(60):
        waypoint = target.advance(np.array([0.0, 0.01, 0.0]), np.zeros(3), FR3.ready)
    assert np.linalg.norm(KINEMATICS.forward(waypoint)[:3, 3] - held[:3, 3]) < 0.06


def test_target_needs_a_seed():
    target = ArmTarget(KINEMATICS, JOINTS, WORKSPACE, period_s=0.05)
    with pytest.raises(LimitError, match='seed'):
        target.advance(np.ones(3), np.zeros(3), FR3.ready)


def test_absolute_pose_becomes_the_displacement_that_leads_there():
    start = KINEMATICS.forward(FR3.ready)
    goal = moved(start, np.array([0.02, 0.0, -0.01]), np.array([0.0, 0.1, 0.0]))
    for sign in (1.0, -2.0):  # either sign, any length
        pose = pose_from_transform(goal)
        pose[3:] *= sign
        translation, rotation = displacement(delta_action(start, pose, 1.0))
        assert np.allclose(translation, [0.02, 0.0, -0.01], atol=1e-6)
        assert np.allclose(rotation, [0.0, 0.1, 0.0], atol=1e-6)
    with pytest.raises(LimitError, match='length 0'):
        delta_action(start, np.zeros(7), 0.0)


def test_quaternions_of_rows_get_the_sign_of_their_neighbours():
    rows = np.zeros((4, 8), np.float32)
    rows[:, 3:7] = [[0, 0, 0, 1], [0, 0, 0, -1], [0, 0.1, 0, -1], [0, 0, 0, 1]]
    aligned = aligned_rows(rows, np.array([0.0, 0.0, 0.0, -1.0]))
    assert (aligned[:, 6] < 0).all()
    assert aligned[2, 4] == pytest.approx(0.1)
    assert np.array_equal(rows[0], [0, 0, 0, 0, 0, 0, 1, 0]), 'the given rows stay'


class Body:
    """Stands for an arm: notes what it is asked to do."""

    spec = BodySpec('stand-in', 20.0, 'ee_delta_pose', 7, ())

    def __init__(self):
        self.actions, self.stops = [], 0

    def reset(self, task, seed, initial_state):
        return TaskInfo(task, task, 1000, (), ())

    def step(self, action):
        self.actions.append(action.copy())
        return StepOutcome((), False)

    def hold_action(self):
        return np.zeros(7, np.float32)

    def stop(self):
        self.stops += 1

    def simulator_state(self):
        return np.empty(0)


class Loop:
    def __init__(self):
        self.body = Body()
        limiter = ActionLimiter(Limits(), period_s=0.05)
        self.runner = EpisodeRunner(self.body, limiter=limiter)
        self.objection = None
        self.loop = ArmLoop(
            self.runner,
            self.body.spec,
            self.body,
            guards=[lambda: self.objection],
            max_chunk_age_s=1.0,
        )
        self.loop.reset('test', 0, 0)
        self.number = 0

    def send(self, rows=None, **changes):
        self.number += 1
        actions = np.full((8, 7), 0.5, np.float32) if rows is None else rows
        fields = (self.runner.now_ns, 1, self.number, 'policy', 'ee_delta_pose', 0.05, actions)
        chunk = ActionChunk(*fields)
        return self.loop.offer(chunk)

    @property
    def state(self):
        return self.loop.safety.state


def hold_of(why):
    return guard_age(why, lambda: 9.0, limit_s=0.1)()


def test_objection_holds_in_the_same_period_and_the_next_good_chunk_ends_it():
    loop = Loop()
    assert loop.send() == ''
    loop.loop.advance()
    assert loop.body.actions[-1][0] > 0.0
    loop.objection = hold_of('heartbeat')
    results = loop.loop.advance()
    assert loop.state is SafetyState.HOLD
    assert results[0].done.executed_steps == 1
    assert loop.body.stops == 0
    assert 'heartbeat' in loop.send(), 'no chunk is taken meanwhile'
    loop.objection = None
    loop.loop.advance()
    assert loop.state is SafetyState.HOLD
    assert 'nothing objects' in loop.loop.safety.reason
    assert loop.send() == ''
    loop.loop.advance()
    assert loop.state is SafetyState.OK


def test_objection_that_stops_is_latched_and_stops_the_arm_once():
    loop = Loop()
    loop.send()
    loop.loop.advance()
    loop.objection = guard_mode(lambda: state_in(ArmMode.REFLEX))()
    for _ in range(3):
        loop.loop.advance()
    assert loop.state is SafetyState.STOPPED
    assert loop.body.stops == 1
    loop.objection = None
    assert 'until an operator resets it' in loop.send()
    loop.loop.operator_reset()
    assert loop.send() == ''


def test_chunk_that_is_not_finite_drops_what_runs():
    loop = Loop()
    loop.send()
    loop.loop.advance()
    rows = np.full((8, 7), 0.5, np.float32)
    rows[3, 2] = np.inf
    assert 'not finite' in loop.send(rows)
    assert loop.state is SafetyState.HOLD
    loop.loop.advance()
    assert abs(loop.body.actions[-1][0]) < 0.5


def test_skew_pairs_chunks_by_number_whatever_comes_first():
    skew = ChunkSkew()
    skew.note_own(1, 1_000_000_000)
    assert skew.last_s is None
    skew.note_partner(1, 1_030_000_000)
    assert skew.last_s == pytest.approx(-0.03)
    skew.note_partner(3, 2_000_000_000)
    skew.note_own(2, 1_500_000_000)
    skew.note_own(3, 2_010_000_000)
    assert skew.last_s == pytest.approx(0.01)
    assert skew.largest_s == pytest.approx(0.03)
    skew.open_episode()
    skew.note_partner(2, 9_000_000_000)
    assert skew.last_s == pytest.approx(0.01)
    for chunk in range(1000):
        skew.note_partner(chunk + 10, 0)
    assert len(skew._partner) <= KEPT


def test_emergency_stops_the_arm_at_once():
    loop = Loop()
    loop.send()
    loop.loop.advance()
    results = loop.loop.emergency('a test')
    assert loop.body.stops == 1
    assert loop.state is SafetyState.EMERGENCY
    assert results[0].done.executed_steps == 1
    loop.loop.advance()
    assert np.array_equal(loop.body.actions[-1], np.zeros(7))
