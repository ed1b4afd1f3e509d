"""Whether a recording gives its own rewards again: the pure tracker on recorded messages."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import LedgerCheck
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.settings_text import SETTINGS_KEY
from structrl_ros.subtasks.settings_text import settings_from_text
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import JsonObject
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import Verdict

_INPUTS = Episode | Plan | Verdict | Predicates | ChunkDone
#: Fields of a reward that must be equal to the last bit.
_COMPARED = ('value', 'terms', 'episode_return', 'terminated', 'truncated', 'stamp_ns')


def recorded_settings(events: RunEvents) -> TrackerSettings | None:
    """Return what the tracker said that it ran with, None if it did not."""
    for diagnostic in reversed(events.diagnostics):
        if text := diagnostic.values.get(SETTINGS_KEY):
            try:
                return settings_from_text(text)
            except ParameterError:
                continue
    return None


def check_ledger(
    events: RunEvents, settings: TrackerSettings | None = None
) -> tuple[JsonObject, LedgerCheck]:
    """Run the tracker on one episode's messages and compare its rewards with the recorded ones.

    Args:
        events: What belongs to the episode (`RunEvents.of_episode`).
        settings: What the tracker ran with; None takes what it said on /diagnostics.

    Returns:
        The trace, a document for `structrl score structured_reward`, and the result.
    """
    known = settings or recorded_settings(events)
    tracker = Tracker(known or TrackerSettings(), StructuredReward)
    again = [
        output
        for arrival in events.arrivals
        if isinstance(arrival.value, _INPUTS)
        for output in tracker.consume(arrival.value)
        if isinstance(output, Reward)
    ]
    recorded = events.of(Reward)
    difference = first_difference(recorded, again)
    if difference and known is None:
        difference += '; the recording does not say what the tracker ran with, defaults were taken'
    return tracker.trace(), LedgerCheck(not difference, len(recorded), difference)


def first_difference(recorded: Sequence[Reward], again: Sequence[Reward]) -> str:
    """Return where two ledgers first differ, '' if they are equal to the last bit.

    Rewards at the end that were not recorded any more (the recording stopped first) are no
    difference; a recorded one that is not computed is.
    """
    computed = {(r.episode, r.chunk): r for r in again}
    for reward in recorded:
        twin = computed.get((reward.episode, reward.chunk))
        if twin is None:
            return f'chunk {reward.chunk}: recorded, but not computed'
        for name in _COMPARED:
            was, now = getattr(reward, name), getattr(twin, name)
            if was != now:
                return f'chunk {reward.chunk}, {name}: recorded {was!r}, computed {now!r}'
    last = max((r.chunk for r in recorded), default=0)
    seen = {(r.episode, r.chunk) for r in recorded}
    for reward in again:
        if (reward.episode, reward.chunk) not in seen and reward.chunk < last:
            return f'chunk {reward.chunk}: computed, but not recorded'
    return ''
