"""How far apart two arms are: the difference of the stamps at which they ended the same chunk."""

from __future__ import annotations

from collections import OrderedDict

#: Chunks whose partner is still waited for.
KEPT = 50


class ChunkSkew:
    """Pairs the ends of chunks by number; positive: the own arm is later."""

    def __init__(self) -> None:
        """Start without chunks."""
        self._own: OrderedDict[int, int] = OrderedDict()
        self._partner: OrderedDict[int, int] = OrderedDict()
        self.last_s: float | None = None
        self.largest_s = 0.0

    def note_own(self, chunk: int, stamp_ns: int) -> None:
        """Note the end of a chunk of the own arm."""
        self._note(self._own, chunk, stamp_ns)

    def note_partner(self, chunk: int, stamp_ns: int) -> None:
        """Note the end of a chunk of the other arm."""
        self._note(self._partner, chunk, stamp_ns)

    def open_episode(self) -> None:
        """Forget chunks that wait: numbers begin anew."""
        self._own.clear()
        self._partner.clear()

    def _note(self, side: OrderedDict[int, int], chunk: int, stamp_ns: int) -> None:
        side[chunk] = stamp_ns
        while len(side) > KEPT:
            side.popitem(last=False)
        if chunk in self._own and chunk in self._partner:
            self.last_s = (self._own.pop(chunk) - self._partner.pop(chunk)) / 1e9
            self.largest_s = max(self.largest_s, abs(self.last_s))
