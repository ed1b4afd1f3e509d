"""One attempt at one step, as the monitor sees it: MonitoredExecute of REVER's Algorithm 1."""

from __future__ import annotations

from structrl_ros.plan.commands import AskMonitor
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Subtask


class Attempt:
    """Counts what the monitor says of a step.

    Attributes:
        start: Observation at the beginning, o_start of Verify.
        since_ns: Time of the beginning.
        number: Which attempt at this step, from 1.
        confidence: What the monitor said last, in [0, 1].
    """

    def __init__(self, start: Observation, since_ns: int, number: int = 1) -> None:
        """Begin with nothing confirmed."""
        self.start, self.since_ns, self.number = start, since_ns, number
        self.confidence = 0.0
        self._asked: AskMonitor | None = None
        self._confirmed: list[tuple[int, ...]] = []

    @property
    def is_asking(self) -> bool:
        """Whether the monitor has still to answer."""
        return self._asked is not None

    def ask(self, number: int, subtask: Subtask, now: Observation) -> AskMonitor:
        """Return the call of the monitor."""
        self._asked = AskMonitor(number, subtask, self.start, now)
        return self._asked

    def take(self, number: int) -> AskMonitor | None:
        """Return the call that this number answers, None if it is about something over."""
        asked = self._asked
        if asked is None or asked.number != number:
            return None
        self._asked = None
        return asked

    def confirms(self, asked: AskMonitor, judgement: Judgement, needed: int) -> bool:
        """Count a judgement; true once `needed` observations in a row were judged done."""
        self.confidence = judgement.confidence
        if not judgement.done:
            self._confirmed.clear()
        elif _content(asked.now) not in self._confirmed:
            self._confirmed.append(_content(asked.now))
        return len(self._confirmed) >= needed

    def doubt(self) -> None:
        """Forget confirmations, because a call failed between them."""
        self._confirmed.clear()


def _content(observation: Observation) -> tuple[int, ...]:
    """Return the stamps of what a monitor looks at: a tick without news confirms nothing."""
    if observation.progress is not None:  # given to the monitor that looks at nothing else
        return (observation.progress.stamp_ns,)
    stamps = tuple(observation.image_stamps_ns[r] for r in sorted(observation.image_stamps_ns))
    if observation.predicates is not None:
        stamps = (*stamps, observation.predicates.stamp_ns)
    return stamps or (observation.stamp_ns,)
