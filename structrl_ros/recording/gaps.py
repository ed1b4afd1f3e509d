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


class PublicationCounter:
    """Counts missing publications by topic: a publisher numbers what it sends, from 1.

    The middleware tells the number, not whose it is, so a topic is counted only while it has one
    publisher. A publisher that is joined late, or that restarts, is no gap.

    Attributes:
        missing: Number of missing messages, by topic.
    """

    def __init__(self) -> None:
        self.missing: Counter[str] = Counter()
        self._last: dict[str, int] = {}

    def see(self, topic: str, number: int, publishers: int) -> int:
        """Take the number of the next message of a topic and return how many are missing.

        Args:
            topic: Its name.
            number: Of the publication, from 1.
            publishers: How many the topic has now.
        """
        known = self._last.pop(topic, None)
        if publishers != 1:
            return 0
        self._last[topic] = number
        gap = 0 if known is None else max(0, number - known - 1)
        self.missing[topic] += gap
        return gap

    def forget(self, topic: str) -> None:
        """Take the next message of a topic as joined late."""
        self._last.pop(topic, None)
