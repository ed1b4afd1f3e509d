"""Puts the messages about one chunk together, whatever topic comes first."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.types import ChunkDone
from structrl_ros.types import Predicates


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """What is known of a chunk; `stamp_ns` is None and all is empty if both messages are lost."""

    chunk: int
    stamp_ns: int | None
    truth: frozenset[str]
    success: bool
    terminated: bool
    truncated: bool
    missing: tuple[str, ...]


class ChunkInbox:
    """Chunks of one episode in order, each once, complete or known to be lost.

    Each topic keeps its own order. So a message is lost, and no longer waited for, once a later
    chunk's message came on the same topic. A message that came before is a duplicate.
    """

    def __init__(self, *, needs_predicates: bool) -> None:
        """Start with chunk 1; without `needs_predicates` only chunk_done is waited for."""
        self._needs_predicates = needs_predicates
        self._done: dict[int, ChunkDone] = {}
        self._predicates: dict[int, Predicates] = {}
        self._last_done = 0
        self._last_predicates = -1
        self._next = 1
        self.names: tuple[str, ...] = ()
        self.at_reset: frozenset[str] = frozenset()
        self.duplicates = 0

    def add_done(self, done: ChunkDone) -> None:
        """Take the end of a chunk."""
        if done.chunk <= self._last_done:
            self.duplicates += 1
            return
        self._last_done = done.chunk
        self._done[done.chunk] = done

    def add_predicates(self, predicates: Predicates) -> None:
        """Take the truth of a chunk; chunk 0 is the truth at reset."""
        if predicates.chunk <= self._last_predicates:
            self.duplicates += 1
            return
        self._last_predicates = predicates.chunk
        self.names = predicates.names
        if predicates.chunk == 0:
            self.at_reset = predicates.truth
        else:
            self._predicates[predicates.chunk] = predicates

    def peek(self) -> ChunkFacts | None:
        """Return the next chunk if nothing about it is waited for any more."""
        chunk = self._next
        done, predicates = self._done.get(chunk), self._predicates.get(chunk)
        if self.waiting_for():
            return None
        stamps = [message.stamp_ns for message in (done, predicates) if message is not None]
        # An arm does not know of success; whoever publishes predicates beside it may.
        told = [message.success for message in (done, predicates) if message is not None]
        missing = ['chunk_done'] if done is None else []
        if self._needs_predicates and predicates is None:
            missing.append('predicates')
        return ChunkFacts(
            chunk=chunk,
            stamp_ns=stamps[0] if stamps else None,
            truth=predicates.truth if predicates is not None else frozenset(),
            success=any(told),
            terminated=done is not None and done.terminated,
            truncated=done is not None and done.truncated,
            missing=tuple(missing),
        )

    def pop(self) -> None:
        """Go on to the next chunk."""
        self._done.pop(self._next, None)
        self._predicates.pop(self._next, None)
        self._next += 1

    def waiting_for(self) -> tuple[str, ...]:
        """Return the topics that are waited for."""
        waiting = []
        if self._next not in self._done and self._last_done < self._next:
            waiting.append('chunk_done')
        is_here = self._next in self._predicates or self._last_predicates > self._next
        if self._needs_predicates and not is_here:
            waiting.append('predicates')
        return tuple(waiting)

    def next_stamp_ns(self) -> int | None:
        """Return the earliest stamp among the messages that are held, None if there is none."""
        stamps = [done.stamp_ns for done in self._done.values()]
        stamps += [predicates.stamp_ns for predicates in self._predicates.values()]
        return min(stamps, default=None)

    @property
    def has_part(self) -> bool:
        """Whether anything about the next chunk has come."""
        return self._next in self._done or self._next in self._predicates
