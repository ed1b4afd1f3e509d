"""Whole messages in an order, with stamps and numbers that no sane graph sends."""

import random

import numpy as np
import pytest

from structrl_ros.control.chunk_requester import ChunkRequest
from structrl_ros.control.chunk_requester import ChunkRequester
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.progress.frames import FrameQueue
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Judgement
from structrl_ros.types import Plan
from structrl_ros.types import PolicySpec
from structrl_ros.types import Predicates
from structrl_ros.types import Proprioception
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

SECOND = 1_000_000_000
STEPS = tuple(
    Subtask(f'{verb}(cup)', '', verb, ('cup',), stage)
    for stage, verb in enumerate(('grasp', 'open', 'close'))
)
NAMES = ('grasp(cup_1)', 'open(cup_1)', 'close(cup_1)')
PICTURE = np.zeros((2, 2, 3), np.uint8)
ROWS = np.zeros((2, 7), np.float32)
SEEDS = range(60)
TURNS = 60


class Nonsense:
    """Draws messages; stamps jump by up to an hour, numbers do not fit to each other."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    @property
    def stamp(self):
        return self.rng.choice((0, 1, 2, 3, 5, 8, 3600)) * SECOND + self.rng.randint(0, SECOND - 1)

    def number(self, most=4):
        return self.rng.randint(0, most)

    def flag(self):
        return self.rng.random() < 0.3

    def episode(self):
        number, ended = self.number(), self.flag()
        return Episode(
            self.stamp, number, ended, 'b', 't', 'close the cup', 0, 0, objects=('cup',)
        )

    def plan(self):
        steps = self.rng.sample(STEPS, self.number(3))
        return Plan(self.stamp, self.number(), 'x', tuple(steps))

    def verdict(self):
        step = self.rng.choice(STEPS)
        ends = (self.flag(), 0.5, 0.1, 'eye', self.flag())
        return Verdict(self.stamp, self.number(), self.number(), step.id, *ends)

    def predicates(self):
        values = tuple(self.flag() for _ in NAMES)
        chunk = self.number(9)
        return Predicates(self.stamp, self.number(), chunk, chunk, NAMES, values, self.flag())

    def done(self):
        ends = (self.flag(), self.flag(), self.flag())
        return ChunkDone(self.stamp, self.number(), self.number(9), 2, *ends, ROWS)

    def status(self):
        current = self.rng.choice(('', *(step.id for step in STEPS)))
        return SubtaskStatus(
            self.stamp, self.number(), self.number(9), self.number(), current, (), (), ()
        )

    def safety(self):
        return Safety(self.stamp, self.rng.choice(tuple(SafetyState)), '')

    def any_of(self, *kinds):
        return self.rng.choice(kinds)()


@pytest.mark.parametrize('lockstep', [False, True])
@pytest.mark.parametrize('source', ['predicates', 'verdicts'])
def test_a_tracker_survives_any_messages_and_pays_finite_numbers(lockstep, source):
    settings = TrackerSettings(lockstep=lockstep, truth_source=source)
    for seed in SEEDS:
        draw, tracker = Nonsense(seed), Tracker(settings, StructuredReward)
        kinds = (draw.episode, draw.plan, draw.verdict, draw.predicates, draw.done)
        for _ in range(TURNS):
            for out in tracker.consume(draw.any_of(*kinds)):
                assert np.isfinite(getattr(out, 'value', 0.0))


@pytest.mark.parametrize('lockstep', [False, True])
def test_a_policy_is_asked_for_sound_chunks_or_not_at_all(lockstep):
    spec = PolicySpec('net', 'ee_delta_pose', 7, 2, ('head',), {})
    asked = 0
    for seed in SEEDS:
        draw = Nonsense(seed)
        asker = ChunkRequester(spec, lockstep=lockstep, replan_steps=0)
        kinds = (draw.episode, draw.plan, draw.done, draw.status, draw.safety)
        for _ in range(TURNS):
            asker.see(draw.any_of(*kinds))
            pose = np.array([0, 0, 0, 0, 0, 0, 1.0])
            stamp = draw.stamp
            asker.store.take_image('head', stamp, PICTURE)
            asker.store.take_proprioception(
                Proprioception(stamp, (), np.zeros(0), np.zeros(0), pose, np.zeros(2))
            )
            request = asker.ask(draw.stamp)
            if isinstance(request, ChunkRequest):
                chunk = asker.answer(request, ROWS, draw.stamp)
                assert request.number >= 1
                assert chunk is None or np.isfinite(chunk.actions).all()
                asked += 1
    assert asked > 0


class Clock:
    def __init__(self):
        self.now = SECOND

    def now_ns(self):
        return self.now


class Eye:
    name = 'eye'

    def __init__(self, draw):
        self.draw = draw

    def verify(self, subtask, start, now):
        return Judgement(self.draw.flag(), 0.5)


@pytest.mark.parametrize('lockstep', [False, True])
def test_a_task_ends_once_with_a_reason_whatever_the_body_says(lockstep):
    ended = 0
    for seed in SEEDS:
        draw, clock, ends = Nonsense(seed), Clock(), []
        session = TaskSession(
            Executive(ExecutiveSettings(), 'rules', 'eye'),
            RulePlanner(),
            Eye(draw),
            Outputs(lambda plan: None, lambda verdict: None, lambda *end, to=ends: to.append(end)),
            SessionSettings(lockstep=lockstep, monitor_roles=('head',)),
            clock,
            spawn=lambda work: work(),
        )
        session.see_episode(Episode(SECOND, 1, False, 'b', 't', '', 0, 0, objects=('cup',)))
        for _ in range(TURNS):
            if not session.executive.state.is_running:
                session.start(Goal('close the cup', 0.0, ('cup',)))
                ends.clear()
            clock.now = draw.stamp
            turn = draw.number(3)
            if turn == 0:
                session.see_episode(draw.episode())
            elif turn == 1:
                session.see_chunk(draw.done())
            elif turn == 2:
                told = draw.predicates()
                session.update(lambda latest, told=told: latest.take_predicates(told))
            else:
                stamp = draw.stamp
                session.update(lambda latest, at=stamp: latest.take_image('head', at, PICTURE))
            session.poll()
            assert len(ends) <= 1
            if ends:
                assert ends[0][1]
                ended += 1
    assert ended > 10


@pytest.mark.parametrize('lockstep', [False, True])
def test_frames_of_a_grm_are_whole_or_empty_whatever_comes(lockstep):
    for seed in SEEDS:
        draw = Nonsense(seed)
        frames = FrameQueue(('head',), lockstep=lockstep, period_ns=0, max_age_s=1.0, wait_s=0.0)
        for _ in range(TURNS):
            turn = draw.number(3)
            if turn == 0:
                frames.begin(draw.stamp)
            elif turn == 1:
                frames.ask(draw.stamp, terminated=draw.flag())
            else:
                frames.take('head', draw.stamp, PICTURE)
            for _, frame in frames.ready():
                assert set(frame.stamps_ns) == set(frame.images)
