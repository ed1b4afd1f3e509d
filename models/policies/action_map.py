"""Between the actions that a policy draws and the body's 7-D `ee_delta_pose`; numpy only.

A policy that explores with Gaussian noise of .1 in the body's own units would shake the gripper
at the very moment of a grasp. The tabletop map therefore puts a cubic between the two: near rest
its slope is a quarter, so the same noise is four times smaller there than at half speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Every map ends in this space of the contract (`types.ActionChunk`).
ACTION_SPACE = 'ee_delta_pose'
BODY_DIMENSION = 7

#: Places of dx, dy, dz, dyaw (turn about the base's z) and grip in the body's seven numbers.
_TABLETOP_PLACES = (0, 1, 2, 5, 6)
_TILTS = (3, 4)


@dataclass(frozen=True)
class ActionMap:
    """A pair of maps; both keep the leading axes and raise PolicyError on NaN or a wrong shape.

    Attributes:
        name: As in a checkpoint's config.
        dimension: A, numbers a row of the policy's own actions.
        to_body: (..., A) unclipped to (..., 7) float32 in [-1, 1].
        from_body: (..., 7) to (..., A) float32, the inverse on [-1, 1].
    """

    name: str
    dimension: int
    to_body: Callable[[Float32], Float32]
    from_body: Callable[[Float32], Float32]


def cubic(value: Float64) -> Float64:
    """Return clip(.25 a + .75 a^3, -1, 1): times 0.05 m (0.5 rad for yaw) it is the offset."""
    held = np.clip(value, -1.0, 1.0)
    return np.asarray(held * (0.25 + 0.75 * held * held))


def inverse_cubic(offset: Float64) -> Float64:
    """Return the only real a with .25 a + .75 a^3 = y, for y clipped to [-1, 1].

    a^3 + a / 3 = 4 y / 3 has the hyperbolic solution a = 2/3 sinh(asinh(18 y) / 3).
    """
    held = np.clip(offset, -1.0, 1.0)
    return np.asarray(2.0 / 3.0 * np.sinh(np.arcsinh(18.0 * held) / 3.0))


def _checked(actions: Float32, dimension: int, what: str) -> Float64:
    values = np.asarray(actions, np.float64)
    if values.ndim < 1 or values.shape[-1] != dimension:
        raise PolicyError(f'{what} have shape {values.shape}; allowed: (..., {dimension})')
    if not np.isfinite(values).all():
        raise PolicyError(f'{what} hold NaN or infinity; allowed: finite numbers')
    return values


def _tabletop_to_body(actions: Float32) -> Float32:
    """Map (dx dy dz dyaw grip); the grip keeps its sign and is clipped alone."""
    values = _checked(actions, 5, 'tabletop actions')
    body = np.zeros((*values.shape[:-1], BODY_DIMENSION))
    body[..., _TABLETOP_PLACES] = cubic(values)
    body[..., 6] = np.clip(values[..., 4], -1.0, 1.0)
    return body.astype(np.float32)


def _tabletop_from_body(actions: Float32) -> Float32:
    """Map back; a body action that tilts the gripper has no counterpart."""
    body = _checked(actions, BODY_DIMENSION, 'body actions')
    tilt = np.abs(body[..., _TILTS]).max(initial=0.0)
    if tilt > 1e-6:
        raise PolicyError(
            f'body action turns about x or y by {tilt:.3g}; allowed: 0 (5-D tabletop actions '
            'turn about z alone)'
        )
    values = inverse_cubic(body[..., _TABLETOP_PLACES])
    values[..., 4] = np.clip(body[..., 6], -1.0, 1.0)
    return values.astype(np.float32)


def _clipped(actions: Float32) -> Float32:
    values = _checked(actions, BODY_DIMENSION, 'actions')
    return np.clip(values, -1.0, 1.0).astype(np.float32)


ACTION_MAPS = {
    'tabletop': ActionMap('tabletop', 5, _tabletop_to_body, _tabletop_from_body),
    'identity': ActionMap('identity', BODY_DIMENSION, _clipped, _clipped),
}


def action_map(name: str) -> ActionMap:
    """Return a map by name.

    Raises:
        ParameterError: If there is none of that name.
    """
    if name not in ACTION_MAPS:
        raise ParameterError(f'unknown action map {name!r}; known: {", ".join(ACTION_MAPS)}')
    return ACTION_MAPS[name]
