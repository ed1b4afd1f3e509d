"""What a person at a device asks of the arm."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.types.arrays import Float64


@dataclass(frozen=True, slots=True)
class OperatorCommand:
    """One reading of a device.

    Attributes:
        device: Its name.
        engaged: How far the dead-man switch is pressed, in [0, 1].
        motion: Translation x, y, z and rotation x, y, z in the device's frame, shape (6,), in
            [-1, 1]: shares of the largest step.
        gripper: -1 open ... +1 close; None leaves it as it is.
    """

    device: str
    engaged: float
    motion: Float64
    gripper: float | None = None
