"""What happened in the present episode, in order, for viewers that come and go."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

#: Entries of one kind that are kept: at ten a second, over three minutes.
KEPT = 2000


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a viewer has: the generation of the history and how many entries of each kind."""

    generation: int = -1
    seen: Mapping[str, int] = field(default_factory=dict)


class History:
    """Bounded logs by kind; `restart` begins a new generation with empty ones.

    Not safe between threads by itself: `LiveState` holds its lock around every call.
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        """Begin with an empty log of each kind."""
        self._kinds = kinds
        self._generation = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything."""
        self._generation += 1
        self._logs: dict[str, deque[dict[str, Any]]] = {k: deque(maxlen=KEPT) for k in self._kinds}
        self._counts = dict.fromkeys(self._kinds, 0)

    def add(self, kind: str, entry: dict[str, Any]) -> None:
        """Append an entry; the oldest is dropped when there are too many."""
        self._logs[kind].append(entry)
        self._counts[kind] += 1

    def since(self, cursor: Cursor) -> tuple[dict[str, Any], Cursor]:
        """Return what a viewer lacks, and its next cursor.

        The document has `restart` (forget what you have) and a list a kind.
        """
        is_new = cursor.generation != self._generation
        document: dict[str, Any] = {'restart': is_new}
        for kind, log in self._logs.items():
            lacking = self._counts[kind] - (0 if is_new else cursor.seen.get(kind, 0))
            document[kind] = list(log)[max(0, len(log) - lacking) :] if lacking else []
        return document, Cursor(self._generation, dict(self._counts))
