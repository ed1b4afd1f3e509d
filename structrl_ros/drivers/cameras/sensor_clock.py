"""The time of a picture on this machine's clock, whatever clock the sensor has."""

from __future__ import annotations

from collections import deque

#: Pictures over which the smallest delay is taken as the clocks' distance.
_WINDOW = 120
#: Change of a clock against the other that is a jump and no delay, nanoseconds.
JUMP_NS = 500_000_000
#: A stamp of this machine's clock may lie this far ahead of the receipt, nanoseconds.
AHEAD_NS = 20_000_000


class SensorClock:
    """Maps the stamps of one camera, from its opening on.

    A stamp on this machine's clock is taken as it is. One on the device's own clock, whose zero
    means nothing, is moved by the smallest difference to the receipt that was seen lately: it is
    late by the shortest way through cable and driver. A jump of either clock shows as a change of
    that difference: the picture is dropped and the mapping begins anew.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._offsets: deque[int] = deque(maxlen=_WINDOW)
        self._newest_ns = -1
        self.jumps = 0

    def reopen(self) -> None:
        """Begin the mapping anew: the camera was opened again."""
        self._offsets.clear()

    def stamp(self, sensor_ns: int, received_ns: int, host_clock: bool) -> int | None:
        """Return the stamp of a picture, or None if its time is not known.

        Args:
            sensor_ns: Time that the sensor tells.
            received_ns: Time of receipt on this machine's clock.
            host_clock: The sensor tells this machine's time.

        Returns:
            Nanoseconds, more than any stamp before unless this machine's clock went back; None
            for a picture that is no newer than the last one, or at which a clock jumped.
        """
        offset = received_ns - sensor_ns
        if self._offsets and abs(offset - self._offsets[-1]) > JUMP_NS:
            self.jumps += 1
            self._offsets.clear()
            self._offsets.append(offset)
            if self._newest_ns > received_ns:
                self._newest_ns = received_ns  # this machine's clock was set back
            return None
        self._offsets.append(offset)
        is_plausible = -AHEAD_NS <= offset <= JUMP_NS
        if host_clock and is_plausible:
            stamp_ns = min(sensor_ns, received_ns)
        else:
            stamp_ns = sensor_ns + min(self._offsets)
        if stamp_ns <= self._newest_ns:
            return None
        self._newest_ns = stamp_ns
        return stamp_ns
