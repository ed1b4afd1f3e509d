"""Poses of a hand that does not point straight down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structrl_ros.sim.libero.expert import motion

if TYPE_CHECKING:
    from structrl_ros.sim.libero.expert.motion import Hand
    from structrl_ros.types import Float64

#: Corners of the hand in its own frame (m): fingers with their tips, and the palm's housing.
_CORNERS = np.array(
    [[x, y, 0.0092] for x in (-0.066, 0.066) for y in (-0.0105, 0.0105)]
    + [[x, y, z] for x in (-0.104, 0.104) for y in (-0.0316, 0.0316) for z in (-0.123, -0.031)]
)


def pointing(hand: Hand, approach: Float64, closing: Float64) -> Float64:
    """Return the rotation of a hand that points along `approach`, shape (3, 3).

    Of the two that differ by half a turn about `approach` (the fingers are alike), the one that is
    nearer to the hand now and keeps joint 7 inside its range.

    Args:
        hand: The hand now.
        approach: Direction out of the hand, a unit vector, shape (3,).
        closing: Direction along which the fingers close, shape (3,); only its part across
            `approach` counts.
    """
    across = closing - approach * float(closing @ approach)
    across = across / float(np.linalg.norm(across))
    options = [
        np.column_stack([s * across, np.cross(approach, s * across), approach])
        for s in (1.0, -1.0)
    ]
    return min(options, key=lambda option: _effort(hand, option))


def _effort(hand: Hand, rotation: Float64) -> float:
    """Return the rotation that is left (rad), plus a penalty if joint 7 would leave its range."""
    spin = motion.rotation_error(hand.rotation, rotation)
    wrist = float(hand.joints[6] + spin @ hand.rotation[:, 2])
    return float(np.linalg.norm(spin)) + 10.0 * max(0.0, abs(wrist) - motion.WRIST_LIMIT)


def depth_below(rotation: Float64) -> float:
    """Return how far the lowest corner of the hand is below the grip site (m)."""
    return float(-(_CORNERS @ rotation.T)[:, 2].min())
