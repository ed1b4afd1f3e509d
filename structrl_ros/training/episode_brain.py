"""Planner, monitor and tracker of the graph, in one process and one thread.

The same objects stand behind planner_node and tracker_node. In lock-step no decision of theirs
depends on which message came first, so an episode here is that of the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Protocol

from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.ports import Clock
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
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
from structrl_ros.types import UInt8
from structrl_ros.types import Verdict

Told = Episode | Predicates | ChunkDone


class Listener(Protocol):
    """Who is told everything that passes: an `EpisodeAccount`, or what stands around one."""

    def take(self, value: object) -> None:
        """Take a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minds:
    """A planner and a monitor, as `nodes.planner_backends.Backends` has them.

    Attributes:
        planner: Asked for plans.
        monitor: Asked for verdicts.
        follow: Gets the steps of each revision.
        settings: Limits of the task.
        roles: Cameras that either of them looks at.
        monitor_roles: Cameras that a verdict waits for.
        needs_predicates: Whether the monitor looks at predicates.
    """

    planner: Planner
    monitor: Monitor
    follow: Callable[[Sequence[Subtask]], None] = lambda steps: None
    settings: ExecutiveSettings = field(default_factory=ExecutiveSettings)
    roles: tuple[str, ...] = ()
    monitor_roles: tuple[str, ...] = ()
    needs_predicates: bool = True


def rule_minds() -> Minds:
    """Return the rules and the body's own truth."""
    monitor = PredicateMonitor()
    return Minds(planner=RulePlanner(), monitor=monitor, follow=monitor.follow)


class EpisodeBrain:
    """One task on one episode; `hear` takes what the body says."""

    def __init__(
        self,
        clock: Clock,
        body: str,
        chunk_rows: int,
        account: Listener,
        minds: Minds | None = None,
    ) -> None:
        """Begin; `chunk_rows` paces the reward, as `chunk_steps` of tracker_node.

        Without `minds` the rules plan and the body's predicates judge.
        """
        settings = TrackerSettings(lockstep=True, durations=shipped_durations(body, chunk_rows))
        self._account = account
        self._tracker = Tracker(settings, StructuredReward)
        self._jobs: deque[Callable[[], None]] = deque()
        self._plan: Plan | None = None
        self._status: SubtaskStatus | None = None
        self.outcome: tuple[bool, str] | None = None
        minds = minds or rule_minds()
        self._executive = Executive(minds.settings, minds.planner.name, minds.monitor.name)
        self._session = TaskSession(
            self._executive,
            minds.planner,
            minds.monitor,
            Outputs(self._take_plan, self._track, self._finish, minds.follow),
            SessionSettings(
                lockstep=True,
                needs_predicates=minds.needs_predicates,
                monitor_roles=minds.monitor_roles,
            ),
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

    def look(self, images: Mapping[str, UInt8], stamp_ns: int) -> None:
        """Take what the cameras see; before the chunk that they belong to is told."""
        for role, image in images.items():
            self._session.update(
                lambda latest, r=role, i=image: latest.take_image(r, stamp_ns, i)  # type: ignore[misc]
            )

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
