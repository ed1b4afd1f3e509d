"""Fusion of the three anchored predictions to one potential (Robo-Dopamine 2.0, Eq. 12 to 17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.progress.hop import invert_hop
from structrl_ros.types import Float64

Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FusedPotential:
    """Potential and gate of steps 0 ... T, shape (T + 1, ...); `valid` of steps 1 ... T."""

    potential: Float64
    negative_branch: Bool
    valid: Bool


class Fusion:
    """The recursive estimator of the potential, one step at a time, for any number of streams.

    Robo-Dopamine 2.0, Eq. 12 to 17: inputs clipped to [-1, 1], gate b = [forward < 0], floors
    L^F = L^B = -b_t and L^I = -max(b_{t-1}, b_t), the mean of the three recovered potentials
    clipped to [-1, 1], Phi_0 = 0.

    Differs from the paper: a step with a prediction that could not be parsed (NaN) repeats the
    potential and the gate of the step before and is not valid. Without a goal there is no backward
    prediction, and the mean of Eq. 16 is that of the other two.
    """

    def __init__(self, shape: tuple[int, ...] = (), *, has_goal: bool = True) -> None:
        """Start every stream at potential 0; `shape` is () for one stream or (B,).

        Args:
            shape: Of the predictions of a step.
            has_goal: Whether there is a backward term; without one `step` ignores `backward`.
        """
        self.has_goal = has_goal
        self._potential = np.zeros(shape)
        self._negative = np.zeros(shape, dtype=bool)

    @property
    def potential(self) -> Float64:
        """Potential of the newest step, in [-1, 1], a copy."""
        return self._potential.copy()

    @property
    def negative_branch(self) -> Bool:
        """Gate of the newest step, a copy."""
        return self._negative.copy()

    def reset(self, mask: Bool) -> None:
        """Start the streams of the mask anew at potential 0 and on the positive branch."""
        self._potential = np.where(mask, 0.0, self._potential)
        self._negative = self._negative & ~mask

    def step(self, forward: ArrayLike, backward: ArrayLike, incremental: ArrayLike) -> Bool:
        """Take one prediction of each anchor and return whether the step is valid.

        Args:
            forward: Normalised hop from the start to now, NaN if it could not be parsed.
            backward: Normalised hop from the goal to now; ignored without a goal.
            incremental: Normalised hop from the step before to now.
        """
        f, b, i = (
            np.clip(np.asarray(h, dtype=np.float64), -1.0, 1.0)
            for h in (forward, backward, incremental)
        )
        valid = ~np.isnan(f + b + i) if self.has_goal else ~np.isnan(f + i)
        negative = f < 0.0
        now = -negative.astype(np.float64)
        either = -(negative | self._negative).astype(np.float64)
        total = invert_hop(f, 0.0, now)
        if self.has_goal:
            total = total + invert_hop(b, 1.0, now)
        total = total + invert_hop(i, self._potential, either)
        fused = np.clip(total / (3.0 if self.has_goal else 2.0), -1.0, 1.0)
        self._potential = np.where(valid, fused, self._potential)
        self._negative = np.where(valid, negative, self._negative)
        return np.asarray(valid)


def fuse(forward: ArrayLike, backward: ArrayLike, incremental: ArrayLike) -> FusedPotential:
    """Return the potential of whole recordings (Robo-Dopamine 2.0, Eq. 12 to 17).

    Args:
        forward: Normalised hops, shape (T,) or (T, B), NaN where one could not be parsed.
        backward: Same shape.
        incremental: Same shape.

    Returns:
        Potential and gate, shape (T + 1, ...), and validity, shape (T, ...).

    Raises:
        ParameterError: If the shapes differ or a value is infinite.
    """
    anchors = {
        'forward': np.asarray(forward, dtype=np.float64),
        'backward': np.asarray(backward, dtype=np.float64),
        'incremental': np.asarray(incremental, dtype=np.float64),
    }
    shape = anchors['forward'].shape
    for field, hops in anchors.items():
        if hops.shape != shape:
            raise ParameterError(
                f'{field}: shape must be that of forward, {shape}, got {hops.shape}'
            )
        if np.isinf(hops).any():
            raise ParameterError(f'{field}: every value must be finite, or none')
    fusion = Fusion(shape[1:])
    potential = np.zeros((shape[0] + 1, *shape[1:]))
    negative = np.zeros(potential.shape, dtype=bool)
    valid = np.zeros(shape, dtype=bool)
    for t in range(shape[0]):
        valid[t] = fusion.step(*(hops[t] for hops in anchors.values()))
        potential[t + 1], negative[t + 1] = fusion.potential, fusion.negative_branch
    return FusedPotential(potential, negative, valid)
