"""A look at the end of a chunk: what is seen, judged at every tick that lies in the chunk."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager

from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import Command
from structrl_ros.plan.commands import PublishVerdict
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.monitor_clock import MonitorClock
from structrl_ros.plan.session_ports import Answer
from structrl_ros.plan.session_ports import take_answer
from structrl_ros.types import Observation
from structrl_ros.types import Verdict


class Look:
    """One look of the monitor; a step is judged once on what is seen, then known.

    Args:
        executive: The state machine that is told.
        ticks: Counts the ticks and the calls.
        ask: Asks the monitor; it is called without the lock.
        do: Carries out commands; it is called under the lock.
        held: Holds the session's lock and tells whether the task of the look still runs.
    """

    def __init__(
        self,
        executive: Executive,
        ticks: MonitorClock,
        ask: Callable[[AskMonitor], tuple[Answer, float]],
        do: Callable[[Sequence[Command]], None],
        held: Callable[[], AbstractContextManager[bool]],
    ) -> None:
        """Begin with no step judged."""
        self._executive, self._ticks = executive, ticks
        self._ask, self._do, self._held = ask, do, held
        self._known: dict[str, Answer] = {}
        self._last_ns = 0
        self._verdict: Verdict | None = None

    def run(self, seen: Observation, stamps: Sequence[int]) -> None:
        """Judge what is seen at these times, ascending; call it in a thread, without the lock."""
        self._last_ns = max(stamps, default=0)
        for stamp, following in itertools.zip_longest(stamps, stamps[1:]):
            before = self._executive.current
            self._tick(dataclasses.replace(seen, stamp_ns=stamp))
            if following == stamp and self._executive.current is before:
                break

    def owed(self) -> list[Command]:
        """Return the last verdict again, at the last of the times, if it has an earlier one.

        The tracker waits for a verdict of that time, also if the task was cancelled meanwhile.
        """
        if self._verdict is None or self._verdict.stamp_ns >= self._last_ns:
            return []
        return [PublishVerdict(dataclasses.replace(self._verdict, stamp_ns=self._last_ns))]

    def _tick(self, seen: Observation) -> None:
        """Run one tick to its end, or until the task is another."""
        pending: deque[Command] = deque()
        with self._held() as is_wanted:
            if is_wanted:
                pending.extend(self._executive.tick(seen, seen.stamp_ns))
        while pending:
            command = pending.popleft()
            latency_s = self._judge(command) if isinstance(command, AskMonitor) else 0.0
            with self._held() as is_wanted:
                if not is_wanted:
                    return
                if isinstance(command, AskMonitor):
                    pending.extend(self._answered(command, latency_s, seen.stamp_ns))
                else:
                    self._do([self._told(command)])

    def _judge(self, command: AskMonitor) -> float:
        """Ask about a step unless its answer is known; return the seconds that it took."""
        if command.subtask.id in self._known:
            return 0.0
        self._known[command.subtask.id], latency_s = self._ask(command)
        return latency_s

    def _answered(self, command: AskMonitor, latency_s: float, stamp_ns: int) -> list[Command]:
        self._ticks.is_due(stamp_ns)
        self._ticks.begin(stamp_ns)
        self._ticks.end(latency_s)
        answer = self._known[command.subtask.id]
        return take_answer(self._executive, command, answer, latency_s, stamp_ns)

    def _told(self, command: Command) -> Command:
        """Note a verdict; one that ends the execution gets the last of the times, none follows."""
        if not isinstance(command, PublishVerdict):
            return command
        self._verdict = command.verdict
        if self._executive.current is None:
            self._verdict = dataclasses.replace(command.verdict, stamp_ns=self._last_ns)
        return PublishVerdict(self._verdict)
