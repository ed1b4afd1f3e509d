"""Progress along a successful source, and the signed potential of its states.

Robo-Dopamine 2.0, Eq. 5, 6 and 20.
"""

from __future__ import annotations

from structrl_ros.errors import ParameterError


def source_progress(index: int, total: int) -> float:
    """Return g_i = i / (T - 1), in [0, 1] (Robo-Dopamine 2.0, Eq. 5; p_i of Eq. 20).

    Args:
        index: Frame i, from 0 to T - 1.
        total: Frames T of the source, at least 2.

    Raises:
        ParameterError: If the frame is outside the source, or that has fewer than two.
    """
    if total < 2 or not 0 <= index < total:
        raise ParameterError(f'frame {index} of {total}; allowed: 0 to T - 1, T >= 2')
    return index / (total - 1)


def signed_potential(index: int, total: int, *, is_negative: bool) -> float:
    """Return Phi = g_i of a positive or robust state, -g_i of a negative one (Eq. 6).

    Args:
        index: Frame i of the source that the state is aligned to.
        total: Frames T of the source, at least 2.
        is_negative: Whether the state is on the negative branch.

    Raises:
        ParameterError: If the frame is outside the source, or a negative one is frame 0.
    """
    if is_negative and index == 0:
        raise ParameterError('negative state at frame 0; allowed: frames from 1 (Eq. 6)')
    progress = source_progress(index, total)
    return -progress if is_negative else progress
