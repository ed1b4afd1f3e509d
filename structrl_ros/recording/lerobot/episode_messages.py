"""The messages of a demonstration as an episode: chunks, rewards, subtasks, takeovers."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import DatasetError
from structrl_ros.recording.encoding import Encodable
from structrl_ros.recording.lerobot.demonstration import Demonstration
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus


class Told:
    """Gives plans, changes of the subtask, and takeovers when they come."""

    def __init__(self, number: int, found: Demonstration, plans: list[Plan]) -> None:
        """Take an episode's number, steps, and plans in order of time."""
        self._number, self._found, self._plans = number, found, plans
        self._sent = 0
        self._subtask = ''
        self._acting = False

    def at(self, step: int, now_ns: int) -> Iterator[Encodable]:
        """Yield what is new when a step begins."""
        found = self._found
        while self._sent < len(self._plans) and self._plans[self._sent].stamp_ns <= now_ns:
            yield self._plans[self._sent]
            self._sent += 1
        current = found.subtask[step] if found.subtask else ''
        if current != self._subtask:
            self._subtask = current
            yield self._status(step, current, now_ns)
        if bool(found.intervention[step]) != self._acting:
            self._acting = not self._acting
            yield self._takeover(now_ns, found.action[step])

    def close(self, now_ns: int) -> Iterator[Encodable]:
        """Yield what is left, and what ends with the episode."""
        yield from self._plans[self._sent :]
        if self._acting:
            yield self._takeover(now_ns, np.zeros(0, dtype=np.float32), active=False)

    def _status(self, step: int, current: str, now_ns: int) -> SubtaskStatus:
        heard = self._plans[: max(self._sent, 1)]
        holding = [p for p in heard if any(s.id == current for s in p.subtasks)] or heard
        return SubtaskStatus(
            stamp_ns=now_ns,
            episode=self._number,
            chunk=int(self._found.chunk[step]) - 1,
            revision=holding[-1].revision if holding else 0,
            current=current,
            completed=(),
            open=(),
            blocked=(),
        )

    def _takeover(
        self, now_ns: int, action: NDArray[Any], *, active: bool | None = None
    ) -> Intervention:
        acting = self._acting if active is None else active
        return Intervention(now_ns, self._number, acting, 'recorded', action)


def chunk_spans(numbers: NDArray[Any]) -> list[tuple[int, int]]:
    """Return first and last step of each chunk."""
    starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist()]
    return list(zip(starts, [*(s - 1 for s in starts[1:]), len(numbers) - 1], strict=True))


def end_of_chunk(found: Demonstration, first: int, last: int, period_ns: int) -> int:
    """Return when the last step of a chunk ended, from the start of the episode."""
    spacing_ns = period_ns
    if last > first:
        measured = (found.begin_ns[last] - found.begin_ns[first]) / (last - first)
        if abs(measured - period_ns) > 1.0:
            spacing_ns = round(measured)
    return int(found.begin_ns[last]) + spacing_ns


def chunk_done(number: int, found: Demonstration, first: int, last: int, end_ns: int) -> ChunkDone:
    """Return that the steps from first to last were done as a chunk."""
    rows = slice(first, last + 1)
    done, truncated = bool(found.done[rows].any()), bool(found.truncated[rows].any())
    return ChunkDone(
        stamp_ns=end_ns,
        episode=number,
        chunk=int(found.chunk[first]),
        executed_steps=last + 1 - first,
        terminated=done and not truncated,
        truncated=truncated,
        success=bool(found.success[rows].any()),
        executed=found.action[rows],
    )


def chunk_reward(done: ChunkDone, value: float, returned: float) -> Reward:
    """Return the page of the ledger of a chunk, and what the episode earned up to it."""
    return Reward(
        stamp_ns=done.stamp_ns,
        episode=done.episode,
        chunk=done.chunk,
        value=value,
        terms=(('next.reward', value),) if value else (),
        episode_return=returned,
        terminated=done.terminated,
        truncated=done.truncated,
    )


def episode_end(start: Episode, found: Demonstration, end_ns: int) -> Episode:
    """Return the end of an episode."""
    success = bool(found.origin.get('success', found.success.any()))
    reason = found.origin.get('end_reason', 'success' if success else 'end of the recording')
    return Episode(
        stamp_ns=end_ns,
        episode=start.episode,
        ended=True,
        body=start.body,
        task=start.task,
        instruction=start.instruction,
        seed=start.seed,
        initial_state=start.initial_state,
        success=success,
        end_reason=str(reason),
        objects=start.objects,
    )


def recorded_plans(origin: Mapping[str, Any], start_ns: int) -> list[Plan]:
    """Return the plans that our export keeps.

    Raises:
        DatasetError: If one is damaged.
    """
    try:
        return [_plan(document, start_ns) for document in origin.get('plans', ())]
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(f'a plan in the rows of episodes is damaged: {error!r}') from None


def _plan(document: Mapping[str, Any], start_ns: int) -> Plan:
    subtasks = tuple(
        Subtask(**{**s, 'arguments': tuple(s['arguments'])}) for s in document['subtasks']
    )
    stamp_ns = start_ns + int(document['stamp_ns'])
    return Plan(**{**document, 'stamp_ns': stamp_ns, 'subtasks': subtasks})
