"""The watchdog: when the body must hold although nobody said so.

States are those of the contract (`Safety`): a HOLD ends with the next good chunk; STOPPED and
EMERGENCY are latched until an operator resets them. Times are integers in nanoseconds. The age of
what moves the body is the larger of two ages, that of its observation on the body's clock and that
of its receipt: a stamp far ahead (a wall-clock stamp under simulation time) or a clock that jumped
back can never switch the watchdog off.
"""

from __future__ import annotations

from structrl_ros.errors import ParameterError
from structrl_ros.types import SafetyState


class Watchdog:
    """Safety state of one body, driven by its control loop."""

    def __init__(
        self, *, control_period_s: float, max_observation_age_s: float, idle_periods: int = 2
    ) -> None:
        """Start in HOLD: nothing has been asked for yet.

        Args:
            control_period_s: The body's control period, seconds, above 0.
            max_observation_age_s: Oldest observation that may still move the body, seconds.
            idle_periods: Control periods without a row before a hold, 1 or more.

        Raises:
            ParameterError: If a value is out of range.
        """
        for name, value in (
            ('control_period_s', control_period_s),
            ('max_observation_age_s', max_observation_age_s),
            ('idle_periods', idle_periods),
        ):
            if not value > 0:
                raise ParameterError(f'{name} is {value}; allowed: above 0')
        self._period_ns = round(control_period_s * 1e9)
        self._limit_s = max_observation_age_s
        self._idle_limit = idle_periods
        self._state = SafetyState.HOLD
        self._reason = 'no chunk yet: holding position'
        self._stamp_ns: int | None = None
        self._receipt_ns: int | None = None
        self._idle = 0

    @property
    def state(self) -> SafetyState:
        """The state; anything but OK means that no chunk moves the body."""
        return self._state

    @property
    def reason(self) -> str:
        """Why the state is what it is, '' when it is OK."""
        return self._reason

    @property
    def is_latched(self) -> bool:
        """Whether only an operator can end the state."""
        return self._state.is_latched

    def open_episode(self) -> None:
        """Forget the chunk of the episode before; a latched state stays."""
        self._stamp_ns = self._receipt_ns = None
        self._idle = 0
        if not self.is_latched:
            self._state = SafetyState.HOLD
            self._reason = 'no chunk yet: holding position'

    def admit(self, stamp_ns: int, receipt_ns: int) -> None:
        """Note a good chunk: it ends a hold, never a latched state.

        Args:
            stamp_ns: Stamp of its observation, on the body's clock.
            receipt_ns: When it came, on the clock that `tick` is given as `local_ns`.
        """
        self._stamp_ns = stamp_ns
        self._receipt_ns = receipt_ns
        self._idle = 0
        if not self.is_latched:
            self._state = SafetyState.OK
            self._reason = ''

    def tick(self, body_ns: int, local_ns: int, *, has_row: bool) -> SafetyState:
        """Judge one control period before its row is sent.

        Args:
            body_ns: Now, on the body's clock.
            local_ns: Now, on a clock of this process that no message can set: the monotonic
                clock on an arm; a simulator gives its own step clock.
            has_row: Whether the schedule has a row for this period.
        """
        self._idle = 0 if has_row else self._idle + 1
        if self._state is not SafetyState.OK:
            return self._state
        age_s = self._age_s(body_ns, local_ns)
        if has_row and age_s > self._limit_s:
            self._hold(f'chunk {age_s:.2f} s old, limit {self._limit_s:.2f} s: holding position')
        elif self._idle >= self._idle_limit:
            idle_s = self._idle * self._period_ns / 1e9
            limit_s = self._idle_limit * self._period_ns / 1e9
            self._hold(f'no chunk for {idle_s:.2f} s, limit {limit_s:.2f} s: holding position')
        return self._state

    def hold(self, why: str) -> None:
        """Hold for a reason of the body, until the next good chunk."""
        if not self.is_latched:
            self._hold(why)

    def stop(self, why: str) -> None:
        """Stop, latched; an emergency stop stays one."""
        if self._state is not SafetyState.EMERGENCY:
            self._state = SafetyState.STOPPED
            self._reason = f'{why}: stopped until an operator resets it'

    def emergency(self, why: str) -> None:
        """Emergency stop, latched."""
        self._state = SafetyState.EMERGENCY
        self._reason = f'{why}: emergency stop until an operator resets it'

    def operator_reset(self) -> None:
        """End a latched state; the body then holds until the next good chunk."""
        self._stamp_ns = self._receipt_ns = None
        self._hold('reset by an operator, no chunk yet: holding position')

    def _hold(self, why: str) -> None:
        self._state = SafetyState.HOLD
        self._reason = why

    def _age_s(self, body_ns: int, local_ns: int) -> float:
        """Return the larger of the two ages in seconds; 0 when nothing was admitted."""
        if self._stamp_ns is None or self._receipt_ns is None:
            return 0.0
        return max(body_ns - self._stamp_ns, local_ns - self._receipt_ns) / 1e9
