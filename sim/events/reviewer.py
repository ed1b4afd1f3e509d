"""`SimulatorEvents`: the event model that knows the true states; the reference for all others."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.sim.events.event import Event
from structrl_ros.sim.events.grasping import misses
from structrl_ros.sim.events.grasping import releases
from structrl_ros.sim.events.scene_errors import falls
from structrl_ros.sim.events.scene_errors import losses
from structrl_ros.sim.events.scene_errors import topples
from structrl_ros.sim.events.track import Track
from structrl_ros.sim.events.track import read_track
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout


class SimulatorEvents:
    """Port EventModel on the states of a tabletop or twin rollout; privileged.

    States once a chunk miss what begins and ends within one, as a hand that shuts and opens;
    those of every control period (`FailedRollout.state_chunks`) do not.
    """

    name = 'simulator'

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return the last error that was not made good, by later states.

        Raises:
            ParameterError: If the rollout has no states, or is of no tabletop task.
            SimulationError: If the task is unknown.
        """
        if not len(rollout.states):
            raise ParameterError(
                f'a rollout of {rollout.task!r} without states; allowed: one whose `states` the '
                'simulator told'
            )
        chunks = rollout.state_chunks or tuple(range(rollout.chunks + 1))
        task = find_task(rollout.task)
        review = review_track(read_track(task, rollout.states, rollout.state_names, chunks))
        return dataclasses.replace(review, evidence=rollout.frames_near(review.evidence))


def find_events(track: Track) -> tuple[Event, ...]:
    """Return all errors of a rollout, in the order in which they were seen."""
    found = [
        event
        for detector in (misses, releases, falls, topples, losses)
        for event in detector(track)
    ]
    return tuple(sorted(found, key=lambda event: (event.last, event.first, event.kind)))


def review_track(track: Track) -> EventReview:
    """Return the review of a track: the last of its errors that was not made good.

    If all were, the review tells the last one and that a recovery was observed. A failure in which
    nothing of the kind happened (the arm stood still, or was too late) is unclear.
    """
    events = find_events(track)
    names = track.task.predicate_names
    goal = [names.index(name) for name in track.task.goal]
    if bool(track.truth[-1, goal].all()):
        return EventReview(outcome='success', confidence=1.0, reason='the goal is reached')
    if not events:
        return EventReview(
            outcome='failure', error_type='unclear', confidence=1.0, reason='no error was seen'
        )
    first = _interval(track, events[0])
    lasting = lasting_errors(events)
    event = (lasting or events)[-1]
    return EventReview(
        outcome='failure',
        error_type=event.kind,
        interval=_interval(track, event),
        recovery='not_observed' if lasting else 'observed',
        evidence=_evidence(track, event),
        confidence=1.0,
        reason=event.text,
        first_interval=first,
    )


def lasting_errors(events: Sequence[Event]) -> list[Event]:
    """Return the errors that were not made good, in order.

    A grasp that misses what an earlier lasting error was about is a recovery that failed, not a
    new error: it is those attempts that MART-GRPO does not want to punish (Section 1).
    """
    lasting: list[Event] = []
    for event in events:
        is_attempt = event.kind == 'missed_grasp' and any(
            earlier.subject == event.subject for earlier in lasting
        )
        if not event.recovered and not is_attempt:
            lasting.append(event)
    return lasting


def _interval(track: Track, event: Event) -> tuple[int, int]:
    first, last = track.chunks[[event.first, event.last]].tolist()
    return max(first, 1), max(last, 1)


def _evidence(track: Track, event: Event) -> tuple[int, ...]:
    """Return the boundaries before the error, and after it was seen."""
    first, last = _interval(track, event)
    return tuple(dict.fromkeys((first - 1, last)))


def chunk_of_moments(steps: Sequence[int]) -> tuple[int, ...]:
    """Return `Track.chunks` of a rollout that was seen at its start and after each step.

    Args:
        steps: Low-level steps of each chunk.
    """
    numbers = np.repeat(np.arange(1, len(steps) + 1), steps)
    return (0, *numbers.tolist())
