"""What became of a camera's frames: counts, rate, delay; for one thread at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from dataclasses import field

#: Frames over which rate and delay are told.
_WINDOW = 60


@dataclass
class FrameStatistics:
    """Counts since the start, never reset.

    `lost` are frames that the device counted and nobody got (by its frame numbers, or by gaps
    between stamps where it does not count); the others that are not `kept` were dropped here, for
    the reason that the name says. `failures` are reads that broke off, `reconnects` openings
    after the first, `resets` restarts of the device itself, `timeouts` reads without a frame.
    """

    received: int = 0
    kept: int = 0
    lost: int = 0
    repeated: int = 0
    frozen: int = 0
    wrong_size: int = 0
    clock_jumps: int = 0
    timeouts: int = 0
    failures: int = 0
    reconnects: int = 0
    resets: int = 0
    _stamps: deque[int] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    _delays: deque[int] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    _number: int | None = None

    def keep(self, stamp_ns: int, done_ns: int, number: int | None, period_ns: int) -> None:
        """Count a frame that was passed on.

        Args:
            stamp_ns: Its time.
            done_ns: When it was passed on.
            number: The device's, None if it does not count.
            period_ns: Nominal time between two frames, 0 if unknown.
        """
        if number is not None and self._number is not None:
            self.lost += max(number - self._number - 1, 0)
        elif self._stamps and period_ns > 0:
            self.lost += max(round((stamp_ns - self._stamps[-1]) / period_ns) - 1, 0)
        self._number = number
        self.kept += 1
        self._stamps.append(stamp_ns)
        self._delays.append(done_ns - stamp_ns)

    def restart(self) -> None:
        """Begin rate and gaps anew: the camera was opened again."""
        self._stamps.clear()
        self._number = None

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest frame since the camera was opened."""
        return self._stamps[-1] if self._stamps else None

    def values(self) -> dict[str, str]:
        """Return everything as text, for `/diagnostics`."""
        names = [name for name in self.__dataclass_fields__ if not name.startswith('_')]
        counts = {name: str(getattr(self, name)) for name in names}
        return {**counts, 'rate_hz': f'{self.rate_hz:.2f}', 'delay_ms': f'{self.delay_ms:.1f}'}

    @property
    def rate_hz(self) -> float:
        """Frames a second, over the last ones."""
        if len(self._stamps) < 2:
            return 0.0
        return (len(self._stamps) - 1) * 1e9 / (self._stamps[-1] - self._stamps[0])

    @property
    def delay_ms(self) -> float:
        """Median time from the stamp until a frame was passed on, milliseconds."""
        ordered = sorted(self._delays)
        return ordered[len(ordered) // 2] / 1e6 if ordered else 0.0
