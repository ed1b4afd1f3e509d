"""Parameters of teleop_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.control.operator_motion import MotionScale
from structrl_ros.control.takeover import TakeoverRules
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter

_SCALE, _RULES = MotionScale(), TakeoverRules()


@dataclass(frozen=True, kw_only=True)
class TeleopParameters:
    """How devices take the arm from the policy, and how their motion is meant."""

    control_rate_hz: float = parameter(
        description='Rows of a chunk a second: the rate of the body.', bounds=(1.0, 1000.0)
    )
    lockstep: bool = parameter(
        False, description='The body waits for each chunk: one row at a time.'
    )
    translation: float = parameter(
        _SCALE.translation,
        description='Share of the largest step (0.05 m) at full deflection.',
        bounds=(0.001, 1.0),
    )
    rotation: float = parameter(
        _SCALE.rotation,
        description='Share of the largest turn (0.5 rad) at full deflection; 0: none.',
        bounds=(0.0, 1.0),
    )
    dead_zone: float = parameter(
        _SCALE.dead_zone, description='Deflection that counts as none.', bounds=(0.0, 0.9)
    )
    frame: str = parameter(
        _SCALE.frame,
        description='Axes in which a gamepad moves: base, or tool.',
        choices=('base', 'tool'),
    )
    engage_above: float = parameter(
        _RULES.engage_above,
        description='Share of its way at which a dead-man switch is pressed.',
        bounds=(0.01, 1.0),
    )
    release_below: float = parameter(
        _RULES.release_below,
        description='Share at which it is released; below engage_above.',
        bounds=(0.0, 0.99),
    )
    silence_s: float = parameter(
        _RULES.silence_s,
        description='Seconds without a word of the device after which the arm is held.',
        bounds=(0.05, 10.0),
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        self.rules()

    def rules(self) -> TakeoverRules:
        """Return the limits of dead-man switches."""
        return TakeoverRules(
            engage_above=self.engage_above,
            release_below=self.release_below,
            silence_s=self.silence_s,
        )

    def scale(self) -> MotionScale:
        """Return what a deflection means."""
        return MotionScale(
            translation=self.translation,
            rotation=self.rotation,
            dead_zone=self.dead_zone,
            frame='tool' if self.frame == 'tool' else 'base',
        )
