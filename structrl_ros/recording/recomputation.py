"""Compute a recording's subtasks, rewards and verdicts again, and compare; no ROS.

The same pure tracker and monitor that ran live run on the recorded messages. With other settings
of the tracker the rewards are those that the run would have earned: a what-if.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.recording.ledger import first_difference
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

_INPUTS = Episode | Plan | Verdict | Predicates | ChunkDone


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kind of message: how many were compared, and where they first differ ('' nowhere).

    `skipped` counts those that cannot be computed from the recording, `why` says why.
    """

    kind: str
    compared: int
    difference: str
    skipped: int = 0
    why: str = ''


@dataclass(frozen=True, slots=True)
class EpisodeReturn:
    """What an episode earned as recorded, and with the settings that are tried."""

    episode: int
    recorded: float
    computed: float
    payments: tuple[tuple[str, float], ...]


def compare(events: RunEvents, settings: TrackerSettings | None = None) -> tuple[Comparison, ...]:
    """Return how subtasks, rewards and verdicts compare with what was recorded.

    Args:
        events: Of the whole recording.
        settings: What the tracker ran with; None takes what it said on /diagnostics.
    """
    known = settings or recorded_settings(events) or TrackerSettings()
    outputs = run_tracker(events, known)
    rewards = [o for o in outputs if isinstance(o, Reward)]
    statuses = [o for o in outputs if isinstance(o, SubtaskStatus)]
    recorded = events.of(Reward)
    return (
        Comparison('reward', len(recorded), first_difference(recorded, rewards)),
        _compare_statuses(events.of(SubtaskStatus), statuses, known.lockstep),
        _compare_verdicts(events),
    )


def run_tracker(events: RunEvents, settings: TrackerSettings) -> list[SubtaskStatus | Reward]:
    """Return everything that a tracker says to the recorded messages, in order."""
    tracker = Tracker(settings, StructuredReward)
    return [
        output
        for arrival in events.arrivals
        if isinstance(arrival.value, _INPUTS)
        for output in tracker.consume(arrival.value)
    ]


def what_if(events: RunEvents, settings: TrackerSettings) -> tuple[EpisodeReturn, ...]:
    """Return what each episode would have earned with other settings of the tracker.

    Raises:
        ParameterError: If the settings are not allowed.
    """
    computed: dict[int, list[Reward]] = {}
    for output in run_tracker(events, settings):
        if isinstance(output, Reward):
            computed.setdefault(output.episode, []).append(output)
    recorded = {r.episode: r.episode_return for r in events.of(Reward)}
    return tuple(
        EpisodeReturn(
            episode,
            recorded.get(episode, 0.0),
            pages[-1].episode_return,
            tuple(term for page in pages for term in page.terms),
        )
        for episode, pages in computed.items()
    )


def _compare_statuses(
    recorded: Sequence[SubtaskStatus], computed: Sequence[SubtaskStatus], lockstep: bool
) -> Comparison:
    """Compare in order; a recording that began late or ended early holds fewer.

    In real time a status tells what had come until then, and the recorder may have heard the
    topics in another order than the tracker: one that differs is no fault there.
    """
    positions = {status: i for i, status in enumerate(computed)}
    last, missing = -1, 0
    for status in recorded:
        place = positions.get(status)
        if (place is None or place < last) and not lockstep:
            missing += 1
            continue
        if place is None or place < last:
            where = f'episode {status.episode}, chunk {status.chunk}: current {status.current!r}'
            return Comparison('subtask', len(recorded), f'{where} recorded, not computed')
        last = place
    why = 'another order of arrival, in real time' if missing else ''
    return Comparison('subtask', len(recorded) - missing, '', missing, why)


def _compare_verdicts(events: RunEvents) -> Comparison:
    """Ask the predicate monitor again where the predicates of a verdict's stamp are known."""
    monitor, plans = PredicateMonitor(), {}
    predicates = {p.stamp_ns: p for p in events.of(Predicates)}
    for plan in events.of(Plan):
        plans[plan.revision, plan.stamp_ns] = plan
    compared = skipped = 0
    difference, followed = '', None
    for verdict in events.of(Verdict):
        plan = _plan_of(verdict, plans.values())
        seen = predicates.get(verdict.stamp_ns)
        if verdict.stop or verdict.monitor != monitor.name or plan is None or seen is None:
            skipped += 1
            continue
        if plan is not followed:
            monitor.follow(plan.subtasks)
            followed = plan
        compared += 1
        now = Observation(verdict.stamp_ns, seen.episode, predicates=seen)
        try:
            done = monitor.verify(plan.subtasks[verdict.index], now, now).done
        except ParameterError as error:
            difference = difference or f'{verdict.subtask_id}: {error}'
            continue
        if done != verdict.done and not difference:
            at = f'{verdict.subtask_id} at {verdict.stamp_ns} ns'
            difference = f'{at}: recorded done {verdict.done}, computed {done}'
    why = 'of another monitor, of a stop, or between two predicates' if skipped else ''
    return Comparison('verdict', compared, difference, skipped, why)


def _plan_of(verdict: Verdict, plans: object) -> Plan | None:
    found = None
    for plan in plans:  # type: ignore[attr-defined]
        is_before = plan.stamp_ns <= verdict.stamp_ns
        if plan.revision == verdict.revision and is_before and verdict.index < len(plan.subtasks):
            found = plan
    return found
