"""Recorded verdicts of the predicate monitor against the monitor asked again; no ROS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.recording.causal_order import bodies
from structrl_ros.recording.comparison import Comparison
from structrl_ros.recording.comparison import with_reasons
from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.seen_predicates import SeenPredicates
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Verdict


def compare_verdicts(events: RunEvents, *, lockstep: bool) -> Comparison:
    """Ask the predicate monitor again for every verdict that can be asked for.

    In lock-step a verdict looks at the end of its chunk: at the first predicates that are not
    older. In real time it looks at the newest that had come; some may have been under way, so a
    verdict that only the ones before explain is no difference, and is counted as skipped.
    """
    reasons: Counter[str] = Counter()
    compared, difference = 0, ''
    for arrivals in bodies(events):
        body = _Body(arrivals, lockstep=lockstep)
        for verdict in (a.value for a in arrivals if isinstance(a.value, Verdict)):
            reason, found = body.check(verdict)
            if reason:
                reasons[reason] += 1
                continue
            compared += 1
            difference = difference or found
    return with_reasons('verdict', compared, difference, reasons)


class _Body:
    """What one body published: its plans and predicates, in the order of their stamps."""

    def __init__(self, arrivals: Sequence[Arrival], *, lockstep: bool) -> None:
        self._plans = [a.value for a in arrivals if isinstance(a.value, Plan)]
        self._predicates = SeenPredicates(arrivals, lockstep=lockstep)
        self._monitor = PredicateMonitor()
        self._followed: Plan | None = None

    def check(self, verdict: Verdict) -> tuple[str, str]:
        """Return (why it cannot be computed, '' if it can; how it differs, '' if it does not)."""
        if verdict.stop:
            return 'of a stop', ''
        if verdict.monitor != self._monitor.name:
            return f'of monitor {verdict.monitor}', ''
        plan = self._plan_of(verdict)
        if plan is None:
            return 'without a recorded plan', ''
        seen = self._predicates.at(verdict.stamp_ns)
        if not seen:
            return 'without recorded predicates', ''
        if plan is not self._followed:
            self._monitor.follow(plan.subtasks)
            self._followed = plan
        at = f'{verdict.subtask_id} at {verdict.stamp_ns} ns'
        try:
            answers = [self._ask(plan, verdict, predicates) for predicates in seen]
        except ParameterError as error:
            return '', f'{at}: {error}'
        if answers[0] == verdict.done:
            return '', ''
        if verdict.done in answers[1:]:
            return 'whose predicates were under way', ''
        return '', f'{at}: recorded done {verdict.done}, computed {answers[0]}'

    def _ask(self, plan: Plan, verdict: Verdict, predicates: Predicates) -> bool:
        now = Observation(verdict.stamp_ns, predicates.episode, predicates=predicates)
        return self._monitor.verify(plan.subtasks[verdict.index], now, now).done

    def _plan_of(self, verdict: Verdict) -> Plan | None:
        found = None
        for plan in self._plans:
            is_before = plan.stamp_ns <= verdict.stamp_ns
            if (
                plan.revision == verdict.revision
                and is_before
                and verdict.index < len(plan.subtasks)
            ):
                found = plan
        return found
