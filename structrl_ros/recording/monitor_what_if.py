"""What another monitor would have said of a recorded run: a what-if; no ROS.

The monitor is asked at the instants at which the recorded one was, about the subtask that it has
itself come to. It looks at what was recorded: the plans are those of the run, which followed from
the recorded verdicts, so this is no new run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Monitor
from structrl_ros.recording.causal_order import bodies
from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.seen_predicates import SeenPredicates
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import Verdict


@dataclass(frozen=True, slots=True)
class StepTimes:
    """When a step of a plan was seen done, nanoseconds of the body; None: never."""

    revision: int
    subtask_id: str
    recorded_ns: int | None
    computed_ns: int | None


def monitor_named(name: str) -> Monitor:
    """Return a monitor that needs nothing but a recording.

    Raises:
        ParameterError: If there is none of that name.
    """
    if name != PredicateMonitor.name:
        raise ParameterError(f'monitor {name!r}; allowed on a recording: {PredicateMonitor.name}')
    return PredicateMonitor()


def with_monitor(events: RunEvents, monitor: Monitor, *, lockstep: bool) -> RunEvents:
    """Return the events with the monitor's verdicts in the place of the recorded ones."""
    arrivals: list[Arrival] = []
    for body in bodies(events):
        told = list(_verdicts(body, monitor, lockstep=lockstep))
        kept = [a for a in body if not isinstance(a.value, Verdict) or a.value.stop]
        merged = [*kept, *(Arrival(v.stamp_ns, v) for v in told)]
        arrivals += sorted(merged, key=lambda a: a.value.stamp_ns)
    return dataclasses.replace(events, arrivals=arrivals)


def step_times(recorded: RunEvents, computed: RunEvents) -> tuple[StepTimes, ...]:
    """Return when each step of each plan was done, as recorded and as computed."""
    done = [_done(recorded), _done(computed)]
    return tuple(
        StepTimes(plan.revision, step.id, *(d.get((plan.stamp_ns, step.id)) for d in done))
        for plan in recorded.of(Plan)
        for step in plan.subtasks
    )


def _verdicts(body: Sequence[Arrival], monitor: Monitor, *, lockstep: bool) -> Iterator[Verdict]:
    seen = SeenPredicates(body, lockstep=lockstep)
    plans = [a.value for a in body if isinstance(a.value, Plan)]
    ticks = sorted({a.value.stamp_ns for a in body if isinstance(a.value, Verdict)})
    index, followed = 0, None
    for tick in ticks:
        plan = next((p for p in reversed(plans) if p.stamp_ns < tick), None)
        if plan is None:
            continue
        if plan is not followed:
            index, followed = 0, plan
            if isinstance(monitor, PredicateMonitor):
                monitor.follow(plan.subtasks)
        latest = next(iter(seen.at(tick)), None)
        if latest is None or index >= len(plan.subtasks):
            continue
        subtask = plan.subtasks[index]
        now = Observation(tick, latest.episode, predicates=latest)
        try:
            answer = monitor.verify(subtask, now, now)
        except (ParameterError, StaleDataError):
            continue
        yield Verdict(
            tick,
            plan.revision,
            index,
            subtask.id,
            answer.done,
            answer.confidence,
            0.0,
            monitor.name,
        )
        index += int(answer.done)


def _done(events: RunEvents) -> dict[tuple[int, str], int]:
    """Return (stamp of the plan, subtask) to the stamp of its first `done`."""
    found: dict[tuple[int, str], int] = {}
    plans = events.of(Plan)
    for verdict in events.of(Verdict):
        fitting = [
            p for p in plans if p.revision == verdict.revision and p.stamp_ns <= verdict.stamp_ns
        ]
        if fitting and verdict.done:
            found.setdefault((fitting[-1].stamp_ns, verdict.subtask_id), verdict.stamp_ns)
    return found
