"""Inverse kinematics by damped least squares, inside the joint ranges.

Each iteration solves (J^T W J + lambda I) dq = J^T W e on the joints that are not at an end of
their range, with lambda = |e|_W^2 / 2 + a floor (Sugihara, "Solvability-unconcerned inverse
kinematics by the Levenberg-Marquardt method", 2011): far from the goal or at a singularity the
steps are short and safe, near a regular goal they converge fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.rotations import difference
from structrl_ros.types import Float64

#: One radian weighs like this many metres.
LENGTH_M = 0.3
#: Floor of the damping: it bounds the joint steps at a singularity.
DAMPING = 1e-6


@dataclass(frozen=True, eq=False, slots=True)
class Solution:
    """Joint positions nearest to a pose; errors are those that are left, metres and radians."""

    position: Float64
    translation_error: float
    rotation_error: float
    is_reached: bool


class InverseKinematics:
    """Solves for joint positions near a seed; deterministic, always inside the ranges."""

    def __init__(
        self,
        kinematics: Kinematics,
        limits: JointLimits,
        *,
        tolerance: float = 1e-6,
        iterations: int = 50,
        largest_step: float = 0.3,
        rest_share: float = 0.0,
    ) -> None:
        """Bind arm and ranges.

        Args:
            kinematics: The arm with its tool.
            limits: Ranges to stay in (already with their margin).
            tolerance: Weighted error at which the pose counts as reached, metres.
            iterations: Most iterations.
            largest_step: Largest joint step of an iteration, rad.
            rest_share: Share of the way to the ready posture that is taken in one call without
                moving `ee`, in [0, 1]; it keeps the elbow away from its limits.
        """
        self._kinematics = kinematics
        self._low, self._high = limits.position_low, limits.position_high
        self._tolerance = tolerance
        self._iterations = iterations
        self._largest_step = largest_step
        self._rest_share = rest_share
        self._rest = np.clip(kinematics.robot.ready, self._low, self._high)
        self._weight = np.array([1.0, 1.0, 1.0, *(LENGTH_M,) * 3])

    def solve(self, target: Float64, seed: Float64) -> Solution:
        """Return joint positions whose `ee` comes nearest to a pose that they can find.

        Args:
            target: Transform of `ee` to the base, shape (4, 4).
            seed: Where to start, shape (J,); positions out of range are moved to its end first.
        """
        position = np.clip(seed, self._low, self._high)
        if self._rest_share:
            position = self._towards_rest(position)
        best, best_error = position, np.inf
        for _ in range(self._iterations):
            end, jacobian = self._kinematics.forward_and_jacobian(position)
            error = self._error(end, target)
            size = float(np.linalg.norm(error))
            if size < best_error:
                best, best_error = position, size
            if size <= self._tolerance:
                break
            position = self._improved(position, jacobian * self._weight[:, None], error)
        return self._judged(target, best)

    def _error(self, end: Float64, target: Float64) -> Float64:
        error: Float64 = np.concatenate(difference(end, target)) * self._weight
        return error

    def _improved(self, position: Float64, jacobian: Float64, error: Float64) -> Float64:
        """Return the next position: joints that would leave their range stay at its end."""
        damping = 0.5 * float(error @ error) + DAMPING
        is_free = np.ones(len(position), dtype=bool)
        step = np.zeros_like(position)
        for _ in range(len(position)):
            free = jacobian[:, is_free]
            residual = error - jacobian[:, ~is_free] @ step[~is_free]
            normal = free.T @ free + damping * np.eye(free.shape[1])
            step[is_free] = np.linalg.solve(normal, free.T @ residual)
            wanted = position + step
            leaves = is_free & ((wanted < self._low) | (wanted > self._high))
            if not leaves.any():
                break
            step[leaves] = np.clip(wanted, self._low, self._high)[leaves] - position[leaves]
            is_free &= ~leaves
        largest = float(np.max(np.abs(step)))
        if largest > self._largest_step:
            step *= self._largest_step / largest
        improved: Float64 = np.clip(position + step, self._low, self._high)
        return improved

    def _towards_rest(self, position: Float64) -> Float64:
        """Return the position with a part of its way to rest that leaves `ee` where it is."""
        _, jacobian = self._kinematics.forward_and_jacobian(position)
        wish = self._rest_share * (self._rest - position)
        square = jacobian @ jacobian.T + 1e-4 * np.eye(6)
        still = wish - jacobian.T @ np.linalg.solve(square, jacobian @ wish)
        rested: Float64 = np.clip(position + still, self._low, self._high)
        return rested

    def _judged(self, target: Float64, position: Float64) -> Solution:
        moved, turned = difference(self._kinematics.forward(position), target)
        translation, rotation = float(np.linalg.norm(moved)), float(np.linalg.norm(turned))
        size = float(np.hypot(translation, LENGTH_M * rotation))
        return Solution(position, translation, rotation, size <= self._tolerance)
