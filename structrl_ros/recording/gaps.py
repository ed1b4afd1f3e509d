"""Holes in a numbered stream: messages that a recorder should have got and did not."""

from __future__ import annotations

from collections import Counter


class GapCounter:
    """Counts missing chunk numbers by topic; the numbers rise by one within an episode.

    A stream that is joined late, or that restarts with a lower number, is no gap.

    Attributes:
        missing: Number of missing messages, by topic.
    """

    def __init__(self) -> None:
        self.missing: Counter[str] = Counter()
        self._last: dict[str, tuple[int, int]] = {}

    def see(self, topic: str, episode: int, chunk: int) -> int:
        """Take the next message of a topic and return how many are missing before it."""
        known = self._last.get(topic)
        self._last[topic] = (episode, chunk)
        if known is None or known[0] != episode:
            return 0
        gap = max(0, chunk - known[1] - 1)
        self.missing[topic] += gap
        return gap
