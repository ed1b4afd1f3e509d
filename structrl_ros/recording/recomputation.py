"""Compute a recording's subtasks, rewards, verdicts and progress again, and compare; no ROS.

The same pure tracker and monitor that ran live run on the recorded messages. With other settings
of the tracker the rewards are those that the run would have earned: a what-if.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import BagError
from structrl_ros.recording.causal_order import tracker_inputs
from structrl_ros.recording.comparison import Comparison
from structrl_ros.recording.comparison import with_reasons
from structrl_ros.recording.ledger import first_difference
from structrl_ros.recording.ledger import recorded_settings
from structrl_ros.recording.progress_check import compare_progress
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.verdict_check import compare_verdicts
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict


@dataclass(frozen=True, slots=True)
class EpisodeReturn:
    """What an episode earned as recorded, and with what is tried, by chunks."""

    episode: int
    recorded_rewards: tuple[Reward, ...]
    computed_rewards: tuple[Reward, ...]

    @property
    def recorded(self) -> float:
        """Return as recorded, 0 if no reward was."""
        return self.recorded_rewards[-1].episode_return if self.recorded_rewards else 0.0

    @property
    def computed(self) -> float:
        """Return with what is tried."""
        return self.computed_rewards[-1].episode_return

    @property
    def payments(self) -> tuple[tuple[str, float], ...]:
        """Names and values of what is paid for, in order."""
        return tuple(term for reward in self.computed_rewards for term in reward.terms)


def compare(events: RunEvents, settings: TrackerSettings | None = None) -> tuple[Comparison, ...]:
    """Return how subtasks, rewards, verdicts and progress compare with what was recorded.

    Args:
        events: Of the whole recording.
        settings: What the tracker ran with; None takes what it said on /diagnostics.

    Raises:
        BagError: If what everything is computed from was not recorded.
    """
    _check_inputs(events)
    known = settings or recorded_settings(events) or TrackerSettings()
    outputs = run_tracker(events, known)
    rewards = [o for o in outputs if isinstance(o, Reward)]
    statuses = [o for o in outputs if isinstance(o, SubtaskStatus)]
    recorded = events.of(Reward)
    return (
        Comparison('reward', len(recorded), first_difference(recorded, rewards)),
        _compare_statuses(events.of(SubtaskStatus), statuses, _early_ends(events, known)),
        compare_verdicts(events, lockstep=known.lockstep),
        compare_progress(events),
    )


def _check_inputs(events: RunEvents) -> None:
    verdicts, rewards = len(events.of(Verdict)), len(events.of(Reward))
    if rewards and not events.of(Episode):
        raise BagError(
            f'{rewards} rewards, but no episode was recorded (topic episode, latched): '
            'nothing can be computed again'
        )
    if verdicts and not events.of(Plan):
        raise BagError(
            f'{verdicts} verdicts, but no plan was recorded (topic plan, latched): '
            'nothing can be computed again'
        )


def run_tracker(
    events: RunEvents, settings: TrackerSettings, *, is_end_early: bool = False
) -> list[SubtaskStatus | Reward]:
    """Return everything that a tracker says to the recorded messages (see `tracker_inputs`)."""
    tracker = Tracker(settings, StructuredReward)
    inputs = tracker_inputs(events, lockstep=settings.lockstep, is_end_early=is_end_early)
    return [output for value in inputs for output in tracker.consume(value)]


def what_if(events: RunEvents, settings: TrackerSettings) -> tuple[EpisodeReturn, ...]:
    """Return what each episode would have earned with other settings of the tracker.

    Raises:
        ParameterError: If the settings are not allowed.
    """
    computed: dict[int, list[Reward]] = {}
    for output in run_tracker(events, settings):
        if isinstance(output, Reward):
            computed.setdefault(output.episode, []).append(output)
    recorded: dict[int, list[Reward]] = {}
    for reward in events.of(Reward):
        recorded.setdefault(reward.episode, []).append(reward)
    return tuple(
        EpisodeReturn(episode, tuple(recorded.get(episode, ())), tuple(rewards))
        for episode, rewards in computed.items()
    )


def _early_ends(events: RunEvents, settings: TrackerSettings) -> frozenset[SubtaskStatus] | None:
    """Return what a tracker says that hears of an episode's end early; None in real time."""
    if not settings.lockstep:
        return None
    outputs = run_tracker(events, settings, is_end_early=True)
    return frozenset(o for o in outputs if isinstance(o, SubtaskStatus))


def _compare_statuses(
    recorded: Sequence[SubtaskStatus],
    computed: Sequence[SubtaskStatus],
    early_ends: frozenset[SubtaskStatus] | None,
) -> Comparison:
    """Compare in order; a recording that began late or ended early holds fewer.

    In real time (no `early_ends`) a status tells what had come until then, and the recorder may
    have heard the topics in another order than the tracker: one that differs is no fault there.
    """
    positions = {status: i for i, status in enumerate(computed)}
    last, reasons = -1, Counter[str]()
    for status in recorded:
        place = positions.get(status)
        if place is not None and place >= last:
            last = place
        elif early_ends is None:
            reasons['heard in another order, in real time'] += 1
        elif status not in early_ends:
            where = f'episode {status.episode}, chunk {status.chunk}: current {status.current!r}'
            return Comparison('subtask', len(recorded), f'{where} recorded, not computed')
    return with_reasons('subtask', len(recorded) - reasons.total(), '', reasons)
