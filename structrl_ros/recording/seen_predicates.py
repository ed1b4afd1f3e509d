"""What a monitor can have looked at: the recorded predicates around an instant; no ROS."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from structrl_ros.recording.run_events import Arrival
from structrl_ros.types import Predicates


class SeenPredicates:
    """The predicates of one body, by their stamps."""

    def __init__(self, arrivals: Sequence[Arrival], *, lockstep: bool) -> None:
        """Take what one body published (`causal_order.bodies`)."""
        self._lockstep = lockstep
        found = [a.value for a in arrivals if isinstance(a.value, Predicates)]
        self._predicates = sorted(found, key=lambda p: p.stamp_ns)
        self._stamps = [p.stamp_ns for p in self._predicates]

    def at(self, stamp_ns: int) -> list[Predicates]:
        """Return what a verdict of this stamp can have looked at, the likeliest first.

        In lock-step that is the end of its chunk: the first predicates that are not older. In
        real time it is the newest, or the ones before, if those were under way.
        """
        if self._lockstep:
            place = bisect.bisect_left(self._stamps, stamp_ns)
            return self._predicates[place : place + 1]
        place = bisect.bisect_right(self._stamps, stamp_ns)
        return self._predicates[max(0, place - 2) : place][::-1]
