"""Planner, monitor and tracker of the graph, in one process and one thread.

The same objects stand behind planner_node and tracker_node. In lock-step no decision of theirs
depends on which message came first, so an episode here is that of the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.ports import Clock
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.sim.decompositions import shipped_durations
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

#: Time of one attempt at a step, as planner_node has it.
SUBTASK_TIMEOUT_S = 15.0

Told = Episode | Predicates | ChunkDone


class EpisodeBrain:
    """One task on one episode; `hear` takes what the body says."""

    def __init__(self, clock: Clock, body: str, chunk_rows: int, account: EpisodeAccount) -> None:
        """Begin; `chunk_rows` paces the reward, as `chunk_steps` of tracker_node."""
        settings = TrackerSettings(lockstep=True, durations=shipped_durations(body, chunk_rows))
        self._account = account
        self._tracker = Tracker(settings, StructuredReward)
        self._jobs: deque[Callable[[], None]] = deque()
        self._plan: Plan | None = None
        self._status: SubtaskStatus | None = None
        self.outcome: tuple[bool, str] | None = None
        planner, monitor = RulePlanner(), PredicateMonitor()
        self._executive = Executive(
            ExecutiveSettings(subtask_timeout_s=SUBTASK_TIMEOUT_S), planner.name, monitor.name
        )
        self._session = TaskSession(
            self._executive,
            planner,
            monitor,
            Outputs(self._take_plan, self._track, self._finish, monitor.follow),
            SessionSettings(lockstep=True, needs_predicates=True),
            clock,
            wall=lambda: 0.0,
            spawn=self._jobs.append,
        )

    @property
    def replans(self) -> int:
        """New plans after the first."""
        return self._executive.replans

    @property
    def pursued(self) -> tuple[Subtask, str] | None:
        """What the policy pursues now, and the sentence; None if there is nothing to do."""
        plan, status = self._plan, self._status
        if plan is None or status is None or not status.current:
            return None
        step = next((s for s in plan.subtasks if s.id == status.current), None)
        return None if step is None else (step, plan.instruction)

    def begin(self, instruction: str, episode: Episode, limit_s: float) -> None:
        """Set the task, once the start of the episode and its first truth were heard."""
        sentence = instruction or episode.instruction
        is_its_own = sentence == episode.instruction
        self._session.start(Goal(sentence, limit_s, episode.objects or None, is_its_own))
        self._work()

    def hear(self, told: Told) -> None:
        """Take what the body says."""
        self._track(told)
        if isinstance(told, Episode):
            self._session.see_episode(told)
        elif isinstance(told, ChunkDone):
            self._session.see_chunk(told)
        else:
            self._session.update(lambda latest: latest.take_predicates(told))
        self._work()

    def _work(self) -> None:
        while self._jobs:
            self._jobs.popleft()()

    def _take_plan(self, plan: Plan) -> None:
        self._plan = plan
        self._track(plan)

    def _finish(self, success: bool, reason: str) -> None:
        self.outcome = (success, reason)

    def _track(self, message: Told | Plan | Verdict) -> None:
        self._account.take(message)
        for output in self._tracker.consume(message):
            if isinstance(output, SubtaskStatus):
                self._status = output
            else:
                self._account.take(output)
