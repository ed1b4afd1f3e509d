"""The clock of a real body: ticks on a grid of control periods that follows a real clock."""

from __future__ import annotations

from collections.abc import Callable

from structrl_ros.errors import ParameterError

#: Share of the error of a tick that is corrected by it.
CORRECTION = 0.1
#: A real clock that moved by more than this against the steady one has jumped, seconds.
JUMP_S = 0.5


class ArmClock:
    """Gives the time of each control tick; it never goes back, whatever the real clock does.

    While rows are served a tick a little early or late stays on the grid, so that no row of a
    chunk is served twice or skipped for a thread that woke up late. One that is more than half a
    period late takes the real time. After ticks that came too early the grid lets the real time
    catch up, a twentieth of a period a tick; while the body holds it waits for it. A real clock
    that jumps is noticed by comparison with the steady one.
    """

    def __init__(
        self, source: Callable[[], int], steady: Callable[[], int], *, period_s: float
    ) -> None:
        """Follow a real clock.

        Args:
            source: The clock that stamps are of, nanoseconds.
            steady: A clock that never jumps, nanoseconds.
            period_s: Control period, seconds, above 0.

        Raises:
            ParameterError: If the period is not positive.
        """
        if not period_s > 0.0:
            raise ParameterError(f'control period is {period_s} s; allowed: above 0')
        self._source, self._steady = source, steady
        self._period_ns = round(1e9 * period_s)
        self._offset_ns = source() - steady()

    def now_ns(self) -> int:
        """Return the real time now: of the first tick, and between two ticks."""
        return self._source()

    def next_ns(self, before_ns: int, *, is_idle: bool = False) -> int:
        """Return the time of the tick after the one at `before_ns`, always later.

        Args:
            before_ns: Time of the tick before.
            is_idle: The body holds: no row is served, so there is no grid to keep.
        """
        if is_idle:
            return max(before_ns + 1, self._source())
        expected = before_ns + self._period_ns
        error = self._source() - expected
        if error > self._period_ns // 2:
            return expected + error
        return expected + round(CORRECTION * max(error, -self._period_ns // 2))

    @property
    def jump_s(self) -> float:
        """Seconds that the real clock jumped since `accept_jump`; 0 if it did not."""
        moved = (self._source() - self._steady() - self._offset_ns) / 1e9
        return moved if abs(moved) > JUMP_S else 0.0

    def accept_jump(self) -> None:
        """Take the real clock as it is now (an operator resumed)."""
        self._offset_ns = self._source() - self._steady()
