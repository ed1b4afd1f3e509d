"""Who moves the arm: the policy, or one of several devices in a person's hand.

A pure state machine: it is told what came and what time it is, and says who is in control. Its
rule is that nothing moves without a fresh press of a dead-man switch. A press counts once it was
seen to begin, so one that was held through a reset, a stop, a pause of the device or its plugging
in moves nothing until it is released and pressed again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from structrl_ros.errors import ParameterError


class Control(Enum):
    """Who is in control."""

    POLICY = 'policy'
    OPERATOR = 'operator'
    HELD = 'held'  # an operator's device fell silent: nobody moves the arm
    STOPPED = 'stopped'  # a stop is latched


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeoverRules:
    """Limits of the dead-man switch.

    Attributes:
        engage_above: Share of its way at which the switch counts as pressed, in (0, 1].
        release_below: Share at which it counts as released, in [0, engage_above): hysteresis, so
            that a trembling finger does not take turns with the policy.
        silence_s: Seconds without a word of the device in control after which the arm is held.
    """

    engage_above: float = 0.6
    release_below: float = 0.4
    silence_s: float = 0.25

    def __post_init__(self) -> None:
        """Refuse limits that are none.

        Raises:
            ParameterError: If one is out of its range.
        """
        if not 0.0 <= self.release_below < self.engage_above <= 1.0:
            raise ParameterError(
                f'dead-man switch: release_below {self.release_below:g}, engage_above '
                f'{self.engage_above:g}; allowed: 0 <= release_below < engage_above <= 1'
            )
        if not 0.0 < self.silence_s < 60.0:
            raise ParameterError(f'silence_s is {self.silence_s:g}; allowed: above 0, below 60')


class Takeover:
    """Arbitration between the policy and devices.

    Attributes:
        control: Who is in control.
        device: The device in control, or that was when it fell silent; '' otherwise.
        refused: Presses of another device while one was in control.
    """

    def __init__(self, rules: TakeoverRules | None = None) -> None:
        """Begin with the policy in control."""
        self._rules = TakeoverRules() if rules is None else rules
        self.control = Control.POLICY
        self.device = ''
        self.refused = 0
        self._pressed: dict[str, bool] = {}
        self._last_ns = 0

    @property
    def is_taken(self) -> bool:
        """Whether the policy is kept out by a person: the contract's `Intervention.active`."""
        return self.control in (Control.OPERATOR, Control.HELD)

    def command(self, device: str, engaged: float, now_ns: int) -> bool:
        """Take a reading, and return whether its motion may be carried out.

        Args:
            device: Who says so.
            engaged: Dead-man switch, 0 to 1; what is no number counts as released.
            now_ns: Now, on a clock that does not go back.
        """
        self.tick(now_ns)
        before = self._pressed.get(device)
        pressed = self._is_pressed(engaged, was_pressed=bool(before))
        self._pressed[device] = pressed
        if not pressed:
            if self.is_taken and device == self.device:
                self._give(Control.POLICY)
            return False
        if before is False:
            self._claim(device)
        is_in_control = self.control is Control.OPERATOR and device == self.device
        if is_in_control:
            self._last_ns = now_ns
        return is_in_control

    def tick(self, now_ns: int) -> None:
        """Hold the arm if the device in control fell silent."""
        silent_s = (now_ns - self._last_ns) / 1e9
        if self.control is Control.OPERATOR and silent_s > self._rules.silence_s:
            self.control = Control.HELD

    def begin_episode(self) -> None:
        """End a takeover: the scene was set anew, and the hand does not know it yet."""
        if self.is_taken:
            self._give(Control.POLICY)

    def let_go(self) -> None:
        """End a takeover from outside, as the console's button does."""
        if self.is_taken:
            self._give(Control.POLICY)

    def stop(self, latched: bool) -> None:
        """Note that a stop is latched, or that it was reset."""
        if latched:
            self._give(Control.STOPPED)
        elif self.control is Control.STOPPED:
            self._give(Control.POLICY)

    def _claim(self, device: str) -> None:
        if self.control is Control.STOPPED:
            return
        if self.control is Control.OPERATOR:
            self.refused += device != self.device
            return
        self.control, self.device = Control.OPERATOR, device

    def _give(self, control: Control) -> None:
        self.control, self.device = control, ''

    def _is_pressed(self, engaged: float, *, was_pressed: bool) -> bool:
        if math.isnan(engaged):
            return False
        if was_pressed:
            return engaged > self._rules.release_below
        return engaged >= self._rules.engage_above
