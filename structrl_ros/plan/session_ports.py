"""What a session is given: where its results go, how it runs, and safe calls of the backends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import StructRLError
from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import Command
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.latest import LatestObservation
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
from structrl_ros.types import ChunkDone
from structrl_ros.types import Judgement
from structrl_ros.types import Plan
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict

Answer = Judgement | StructRLError


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the results go; called from any thread, one at a time.

    `follow` gets the steps of each revision before it is published.
    """

    plan: Callable[[Plan], None]
    verdict: Callable[[Verdict], None]
    finish: Callable[[bool, str], None]
    follow: Callable[[Sequence[Subtask]], None] = lambda steps: None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How a session runs.

    Attributes:
        lockstep: Ticks run when a chunk has ended, else on the grid of the body's time.
        period_ns: Grid of the monitor.
        stall_limit_s: Wall time without any news from the body that ends a task.
        monitor_roles: Cameras that the monitor looks at.
        needs_predicates: Whether the monitor looks at predicates.
        needs_progress: Whether the monitor looks at the potential.
    """

    lockstep: bool = False
    period_ns: int = 200_000_000
    stall_limit_s: float = 60.0
    monitor_roles: tuple[str, ...] = ()
    needs_predicates: bool = False
    needs_progress: bool = False

    def has_end(self, latest: LatestObservation, done: ChunkDone) -> bool:
        """Tell whether all that the monitor looks at has come of the end of a chunk."""
        truth, progress = latest.predicates, latest.progress
        if self.needs_predicates if truth is None else truth.chunk < done.chunk:
            return False
        if self.needs_progress and (progress is None or progress.stamp_ns < done.stamp_ns):
            return False
        return latest.has_images(self.monitor_roles, done.stamp_ns)


def spawn_thread(work: Callable[[], None]) -> None:
    """Run something in a thread of its own that does not keep the process alive."""
    threading.Thread(target=work, daemon=True).start()


def call_planner(planner: Planner, request: PlanRequest) -> str | StructRLError:
    """Return the planner's text, or what went wrong; a backend's own fault counts as down."""
    try:
        return planner.propose(request)
    except StructRLError as error:
        return error
    except Exception as error:
        return PlannerUnavailableError(f'{type(error).__name__}: {error}')


def call_monitor(
    monitor: Monitor, command: AskMonitor, wall: Callable[[], float] = time.monotonic
) -> tuple[Answer, float]:
    """Return the judgement, or what went wrong, and the wall time that it took in seconds."""
    begun = wall()
    answer: Answer
    try:
        answer = monitor.verify(command.subtask, command.start, command.now)
    except StructRLError as error:
        answer = error
    except Exception as error:
        answer = PlannerUnavailableError(f'{type(error).__name__}: {error}')
    return answer, max(0.0, wall() - begun)


def take_answer(
    executive: Executive, command: AskMonitor, answer: Answer, latency_s: float, now_ns: int
) -> list[Command]:
    """Give the executive the monitor's answer to a command; return what follows from it."""
    if isinstance(answer, StructRLError):
        return executive.monitor_failed(command.number, answer, latency_s, now_ns)
    return executive.judged(command.number, answer, latency_s, now_ns)
