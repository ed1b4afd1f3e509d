"""A gamepad's axes and buttons as a reading and an operator's buttons.

The layout is that of an XBox pad under Linux's `xpad` driver, as the node `joy` publishes it. A
trigger rests at 1 and is pressed at -1; until it was moved first the driver says 0, which is half
pressed and less than a dead-man switch takes for pressed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import MessageError
from structrl_ros.types import OperatorCommand

NAME = 'gamepad'
#: Axes: left stick left and up, right stick left and up, right trigger, cross up.
_LEFT_X, _LEFT_Y, _RIGHT_X, _RIGHT_Y, _TRIGGER, _CROSS_Y, _CROSS_X = 0, 1, 3, 4, 5, 7, 6
#: Buttons: A closes the gripper, B opens it.
_CLOSE, _OPEN = 0, 1
#: Buttons that are no motion, and what they ask for.
BUTTONS = {2: 'emergency_stop', 3: 'reset', 6: 'failure', 7: 'success'}
_AXES, _KEYS = 8, 8


def gamepad_reading(
    axes: Sequence[float], buttons: Sequence[int]
) -> tuple[OperatorCommand, frozenset[str]]:
    """Return the reading of a gamepad, and which of `BUTTONS` are down.

    Left stick: x forward, y left; right stick up: z up, right stick left: yaw; cross: pitch and
    roll. The right trigger is the dead-man switch.

    Raises:
        MessageError: If there are fewer axes or buttons than the layout has.
    """
    if len(axes) < _AXES or len(buttons) < _KEYS:
        raise MessageError(
            f'gamepad with {len(axes)} axes and {len(buttons)} buttons; allowed: {_AXES} and '
            f'{_KEYS}, the layout of an XBox pad'
        )
    motion = np.array(
        [
            *(axes[_LEFT_Y], axes[_LEFT_X], axes[_RIGHT_Y]),
            *(-axes[_CROSS_X], axes[_CROSS_Y], axes[_RIGHT_X]),
        ],
        dtype=np.float64,
    )
    gripper = 1.0 if buttons[_CLOSE] else (-1.0 if buttons[_OPEN] else None)
    engaged = float((1.0 - axes[_TRIGGER]) / 2.0)
    down = frozenset(word for number, word in BUTTONS.items() if buttons[number])
    return OperatorCommand(NAME, engaged, motion, gripper), down
