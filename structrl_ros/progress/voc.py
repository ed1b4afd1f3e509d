"""Visual order consistency, VOC (Robo-Dopamine 2.0, evaluation protocol)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.progress.rank_correlation import spearman


def accumulate_hops(hops: Sequence[float], start: float, floors: Sequence[float]) -> list[float]:
    """Return the potential after each hop, from `start` on: Gamma of Eq. 15, clipped to [-1, 1].

    Args:
        hops: Incremental hops, length n.
        start: Potential of the first frame, in [-1, 1].
        floors: Floor L of each pair, 0 or -1, length n.

    Returns:
        Potentials of the n + 1 frames, `start` first; NaN from the first NaN on.
    """
    phi = start
    potential = [phi]
    for hop, floor in zip(hops, floors, strict=True):
        phi += hop * ((1.0 - phi) if hop >= 0.0 else (phi - floor))
        phi = 1.0 if phi > 1.0 else -1.0 if phi < -1.0 else phi
        potential.append(phi)
    return potential


def compute_voc(
    hops: Sequence[float], truth: Sequence[float], floors: Sequence[float]
) -> float | None:
    """Return Spearman's correlation of the accumulated progress with the true progress.

    Args:
        hops: Predicted incremental hops, length T - 1.
        truth: True potential of each frame, length T, in [-1, 1].
        floors: Floor of each pair, 0 or -1, length T - 1.

    Returns:
        VOC in [-1, 1]; 0 if a side is constant; None if there are fewer than two frames or a
        value is not finite.

    Raises:
        ParameterError: If the lengths differ.
    """
    for field, values in (('hops', hops), ('floors', floors)):
        if len(values) != max(len(truth) - 1, 0):
            raise ParameterError(
                f'{field}: must have one entry less than truth ({len(truth)}), got {len(values)}'
            )
    if len(truth) < 2 or not all(map(math.isfinite, (*hops, *floors))):
        return None
    return spearman(accumulate_hops(hops, truth[0], floors), truth)
