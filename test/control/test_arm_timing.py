"""Stamps, ticks and rows of real bodies that follow one real clock, in virtual time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_clock import ArmClock
from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.control.chunk_schedule import ChunkSchedule
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.limits import Limits
from structrl_ros.types import ActionChunk
from structrl_ros.types import BodySpec
from structrl_ros.types import SafetyState
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo

PERIOD_S = 0.05
PERIOD_NS = 50_000_000
MS = 1_000_000
ROWS = np.full((8, 7), 0.5, np.float32)


class Body:
    """Stands for an arm that does what it is told."""

    spec = BodySpec('stand-in', 20.0, 'ee_delta_pose', 7, ())

    def reset(self, task, seed, initial_state):
        return TaskInfo(task, task, 100_000, (), ())

    def step(self, action):
        return StepOutcome((), False)

    def hold_action(self):
        return np.zeros(7, np.float32)

    def stop(self):
        pass


class RealTimeArm:
    """A body loop on a clock that all arms share; `tick` is what the arm asks for."""

    def __init__(self, wall):
        body = Body()
        self.clock = ArmClock(lambda: wall[0], lambda: wall[0], period_s=PERIOD_S)
        self.runner = EpisodeRunner(
            body, limiter=ActionLimiter(Limits(), period_s=PERIOD_S), clock=self.clock
        )
        self.loop = ArmLoop(self.runner, body.spec, body, guards=(), max_chunk_age_s=1.0)
        self.loop.reset('test', 0, 0)
        self.done = []

    def tick(self):
        self.done += [result.done for result in self.loop.advance()]

    def offer(self, number, stamp_ns):
        fields = (stamp_ns, 1, number, 'policy', 'ee_delta_pose', PERIOD_S, ROWS)
        return self.loop.offer(ActionChunk(*fields))


def run(arms, wall, ticks, offers):
    """Let ticks (time, arm) and offers (time, number) happen in order; return the refusals."""
    events = sorted([(at, 0, arm) for at, arm in ticks] + [(at, 1, n) for at, n in offers])
    refusals = []
    for at, kind, which in events:
        wall[0] = at
        if kind == 0:
            arms[which].tick()
        else:
            refusals += [reason for arm in arms if (reason := arm.offer(which, at))]
    return refusals


#: When two arms tick within their common period, and how late each tick is.
PHASES = st.tuples(st.integers(0, 49), st.integers(0, 49))
LATE = st.lists(st.integers(0, 20), min_size=90, max_size=90)


@given(phases=PHASES, late=LATE, offset=st.integers(0, 49))
def test_chunk_stamped_now_runs_on_two_arms_less_than_two_periods_apart(phases, late, offset):
    """A stamp of this moment is later than an arm's last tick: it is not in the future."""
    wall = [10**18]
    arms = [RealTimeArm(wall), RealTimeArm(wall)]
    begin = wall[0] + PERIOD_NS
    ticks = [
        (begin + n * PERIOD_NS + (phases[arm] + late[2 * n + arm]) * MS, arm)
        for n in range(45)
        for arm in (0, 1)
    ]
    offers = [(begin + (10 * n * 50 + offset) * MS, n + 1) for n in range(4)]
    assert run(arms, wall, ticks, offers) == []
    for arm in arms:
        assert len(arm.done) == 4
        assert min(done.executed_steps for done in arm.done) >= 7, 'the first may have passed'
    apart = [abs(a.stamp_ns - b.stamp_ns) for a, b in zip(arms[0].done, arms[1].done, strict=True)]
    assert max(apart) < 2 * PERIOD_NS


@given(offset=st.integers(1, 24))
def test_stamp_beyond_half_a_period_from_now_is_in_the_future(offset):
    wall = [10**18]
    arm = RealTimeArm(wall)
    wall[0] += PERIOD_NS
    arm.tick()
    wall[0] += 40 * MS
    assert arm.offer(1, wall[0] + offset * MS) == ''
    assert 'in the future' in arm.offer(2, wall[0] + (26 + offset) * MS)


def test_chunk_whose_first_row_is_not_due_yet_is_not_exhausted():
    """Its stamp is two ticks ahead of the arm's last one, which came early and was late."""
    wall = [10**18]
    arm = RealTimeArm(wall)
    for _ in range(3):
        wall[0] += PERIOD_NS
        arm.tick()
    wall[0] += 73 * MS
    assert arm.offer(1, wall[0] + 24 * MS) == ''
    states = []
    for _ in range(4):
        arm.tick()
        wall[0] += PERIOD_NS
        states.append(arm.loop.safety.state)
    assert states == [SafetyState.OK] * 4
    assert arm.runner.in_chunk


@given(st.lists(st.integers(-24, 24), min_size=15, max_size=15), st.integers(-4, 44))
def test_drift_of_the_ticks_neither_skips_nor_repeats_a_row(steps, first):
    """Each tick within half a period of its place after the first one that served."""
    schedule = ChunkSchedule()
    stamp = 10 * PERIOD_NS
    actions = np.zeros((16, 7), np.float32)
    schedule.accept(ActionChunk(stamp, 1, 1, 'policy', 'ee_delta_pose', PERIOD_S, actions))
    begin = stamp + first * MS
    rows = [schedule.next(begin).row]
    for number, off in enumerate(steps, start=1):
        left = schedule.rows_left(begin + number * PERIOD_NS + off * MS)
        assert left == 16 - number
        rows.append(schedule.next(begin + number * PERIOD_NS + off * MS).row)
    assert rows == list(range(16))
