"""The body's time as a session knows it, and how long nothing of the body has moved."""

from __future__ import annotations

from collections.abc import Callable

from structrl_ros.plan.latest import BACK_NS
from structrl_ros.plan.latest import LatestObservation
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.ports import Clock


class BodyTime:
    """Used under the session's lock."""

    def __init__(
        self,
        clock: Clock,
        latest: LatestObservation,
        settings: SessionSettings,
        wall: Callable[[], float],
    ) -> None:
        """Begin with news."""
        self._clock, self._latest, self._wall = clock, latest, wall
        self._trusts_observations = settings.lockstep
        self._late_ns = 2 * settings.period_ns
        self._news, self._news_s = (0, 0), wall()

    def now_ns(self) -> int:
        """Return the time of the newest observation, or the clock's if that is far from it."""
        now, stamp = self._clock.now_ns(), self._latest.stamp_ns
        is_wild = 0 < now < stamp - BACK_NS and not self._trusts_observations
        return now if is_wild or now - stamp >= self._late_ns else stamp

    def note_news(self, *, is_excused: bool) -> None:
        """Begin to wait anew if the body's time has moved, or nothing is to be expected."""
        news = (self._clock.now_ns(), self._latest.stamp_ns)
        if news != self._news or is_excused:
            self._news, self._news_s = news, self._wall()

    @property
    def still_s(self) -> float:
        """Wall seconds since the last news."""
        return self._wall() - self._news_s
