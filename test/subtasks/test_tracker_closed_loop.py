"""Planner, tracker, expert and the kinematic body in one process, in lock-step."""

import itertools

import numpy as np
import pytest

from structrl_ros.cli.score import score_document
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.rewards.ledger import audit
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.sim.registry import default_task
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Reward
from structrl_ros.types import SubtaskStatus


class Loop:
    """The graph of docs/architecture.md with calls for topics."""

    def __init__(self, order, truth_source='predicates', policy=None, timeout_s=30.0):
        self.runner = EpisodeRunner(make_body('kinematic'))
        self.policy = policy or make_expert('kinematic')
        settings = TrackerSettings(
            lockstep=True, truth_source=truth_source, pacing='uniform', horizon_chunks=30.0
        )
        self.tracker = Tracker(settings, StructuredReward)
        self.order = order
        self.rewards, self.statuses, self.plans, self.ends = [], [], [], []
        monitor = PredicateMonitor()
        self.session = TaskSession(
            Executive(ExecutiveSettings(subtask_timeout_s=timeout_s), 'rules', monitor.name),
            RulePlanner(),
            monitor,
            Outputs(self.take_plan, self.consume, lambda *e: self.ends.append(e), monitor.follow),
            SessionSettings(lockstep=True, needs_predicates=True),
            self,
            spawn=lambda work: work(),
        )

    def now_ns(self):
        return self.runner.now_ns

    def take_plan(self, plan):
        self.plans.append(plan)
        self.consume(plan)

    def consume(self, message):
        for output in self.tracker.consume(message):
            kept = self.rewards if isinstance(output, Reward) else self.statuses
            kept.append(output)
            assert isinstance(output, Reward | SubtaskStatus)

    def run(self, chunks):
        begin = self.runner.reset(default_task('kinematic'), 0, 0)
        self.consume(begin.episode)
        self.consume(begin.predicates)
        self.policy.reset(begin.episode)
        self.session.see_episode(begin.episode)
        self.session.update(lambda latest: latest.take_predicates(begin.predicates))
        episode = begin.episode
        self.session.start(Goal(episode.instruction, 0.0, episode.objects, True))
        for _ in range(chunks):
            status = self.statuses[-1]
            if not self.runner.is_running or not status.current:
                break
            plan = self.plans[-1]
            assert plan.revision == status.revision
            subtask = next(s for s in plan.subtasks if s.id == status.current)
            seen = self.runner.observe(privileged=True)
            actions = self.policy.act(seen, subtask, plan.instruction)
            self.deliver(self.runner.run_chunk(actions))
            assert self.statuses[-1].chunk == self.runner.chunk
            assert self.tracker.waiting_for() == ''

    def deliver(self, result):
        steps = {
            'predicates': lambda: self.consume(result.predicates),
            'done': lambda: self.consume(result.done),
            'planner': lambda: self.tell_planner(result),
        }
        for name in self.order:
            steps[name]()
        if result.end is not None:
            self.session.see_episode(result.end)
            self.consume(result.end)

    def tell_planner(self, result):
        self.session.update(lambda latest: latest.take_predicates(result.predicates))
        self.session.see_chunk(result.done)


class Idler:
    """A policy that never gets anywhere, so that the planner retries and replans."""

    spec = None

    def reset(self, episode):
        del episode

    def act(self, observation, subtask, instruction):
        del observation, subtask, instruction
        actions = np.zeros((100, 7), dtype=np.float32)
        actions[:, 6] = -1.0
        return actions


ORDERS = list(itertools.permutations(('predicates', 'done', 'planner')))


@pytest.mark.parametrize('truth_source', ['predicates', 'verdicts'])
def test_expert_earns_every_subtask_and_the_success_once(truth_source):
    loops = [Loop(order, truth_source) for order in ORDERS]
    for loop in loops:
        loop.run(200)
    first = loops[0]
    assert first.ends == [(True, first.ends[0][1])]
    paid = [name for page in first.rewards for name, _ in page.terms]
    assert len(paid) == len(set(paid)) == len(first.plans[0].subtasks) + 1
    assert paid[-1] == 'success'
    assert audit(first.rewards) == []
    scored, is_fine = score_document('structured_reward', first.tracker.trace())
    assert is_fine
    values = [value for case in scored['cases'] for value in case['output']['rewards']]
    assert [page.value for page in first.rewards] == values
    for loop in loops[1:]:
        assert loop.rewards == first.rewards
        assert loop.statuses[-1] == first.statuses[-1]


def test_retries_and_replans_leave_no_chunk_unpaid_and_earn_nothing():
    for order in ORDERS:
        loop = Loop(order, policy=Idler(), timeout_s=3.0)
        loop.run(300)
        assert loop.plans[-1].revision > 2
        assert [page.chunk for page in loop.rewards] == list(range(1, loop.runner.chunk + 1))
        assert loop.rewards[-1].truncated
        assert loop.rewards[-1].episode_return == 0.0
