"""What can be chosen about a twin: how things go wrong, and what the policy perceives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import fields

from structrl_ros.errors import SimulationError


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinSettings:
    """Chances are per control period (0.1 s) and in [0, 1]; lengths in metres.

    Attributes:
        calibration_offset: Shared error of what `features` perceives; see
            `tabletop.perception`. Negative values turn it round.
        offsets_apart: Error of each thing in a direction of its own.
        action_noise: Standard deviation of noise on the arm's entries of every action, 1 being a
            full step; a part of the world, so it is not in `executed`.
        slip: Chance that a thing slips out of fingers that hold it at the edge of what they can
            hold; one held in its middle never slips. Handles slip in the same way.
        loss: Chance that a thing which is knocked is out of reach for the rest of the episode.
    """

    calibration_offset: float = 0.0
    offsets_apart: float = 0.0
    action_noise: float = 0.0
    slip: float = 0.1
    loss: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no such number.

        Raises:
            SimulationError: Naming the setting, what was got and what is allowed.
        """
        ranges = {'calibration_offset': (-0.2, 0.2), 'offsets_apart': (0.0, 0.2)}
        for setting in fields(self):
            value = getattr(self, setting.name)
            low, high = ranges.get(setting.name, (0.0, 1.0))
            if not (math.isfinite(value) and low <= value <= high):
                raise SimulationError(f'{setting.name} is {value}; allowed: {low} to {high}')
