"""Signed hops and their inverse (Robo-Dopamine 2.0, Eq. 7 to 9 and 15)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

#: Scale of the GRM's regression label (Eq. 9).
LABEL_SCALE = 100.0


def signed_hop(
    phi_before: ArrayLike,
    phi_after: ArrayLike,
    before_negative: ArrayLike,
    after_negative: ArrayLike,
) -> Float64:
    """Return the signed hop of each pair: the share of the range left in its direction.

    Robo-Dopamine 2.0, Eq. 7 to 9: L = -max(flags); up delta / (1 - phi_b), down
    delta / (phi_b - L); clipped to [-1, 1]. The label of the GRM is `LABEL_SCALE` times this.

    Args:
        phi_before: Potential of the first state, in [-1, 1], any shape.
        phi_after: Potential of the second state, same shape.
        before_negative: Whether the first state is on the negative branch, same shape.
        after_negative: Whether the second state is.

    Returns:
        Hops in [-1, 1], same shape.

    Raises:
        ParameterError: If a potential is outside [-1, 1], or negative without its flag: Eq. 6
            gives negative potential to flagged states alone, and the floor would be wrong.
    """
    before, after, flag_b, flag_a = np.broadcast_arrays(
        np.asarray(phi_before, dtype=np.float64),
        np.asarray(phi_after, dtype=np.float64),
        np.asarray(before_negative, dtype=bool),
        np.asarray(after_negative, dtype=bool),
    )
    for field, phi, flag in (('phi_before', before, flag_b), ('phi_after', after, flag_a)):
        if not (np.abs(phi) <= 1.0).all():
            raise ParameterError(f'{field}: must be in [-1, 1]')
        if (phi[~flag] < 0.0).any():
            raise ParameterError(f'{field}: negative, but not flagged as the negative branch')
    floor = -(flag_b | flag_a).astype(np.float64)
    delta = after - before
    room = np.where(delta > 0.0, 1.0 - before, before - floor)
    safe = np.where(room > 0.0, room, 1.0)
    hops: Float64 = np.clip(np.where(room > 0.0, delta / safe, np.sign(delta)), -1.0, 1.0)
    return hops


def invert_hop(hop: ArrayLike, phi: ArrayLike, floor: ArrayLike) -> Float64:
    """Return the potential that a hop leads to: Gamma(h; phi, L) of Robo-Dopamine 2.0, Eq. 15.

    phi + h (1 - phi) for h >= 0, phi + h (phi - L) for h < 0; not clipped. Rising in h wherever
    phi >= L, which the floors of Eq. 7 and 14 are there for: a state on the negative branch needs
    floor -1, else a worse hop would raise its potential.

    Args:
        hop: Normalised hop, in [-1, 1], any shape.
        phi: Potential before, same shape.
        floor: Floor L, 0 or -1, same shape.

    Returns:
        Potential after, same shape; NaN where an argument is.
    """
    h = np.asarray(hop, dtype=np.float64)
    before = np.asarray(phi, dtype=np.float64)
    after: Float64 = before + h * np.where(h >= 0.0, 1.0 - before, before - np.asarray(floor))
    return after
