"""Event-guided truncation of failure feedback (MART-GRPO, Sections 3.2, 3.3 and D.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64


@dataclass(frozen=True, slots=True)
class TruncatedFeedback:
    """Weight of every valid chunk of each rollout, padded with 0, shape (n, longest N).

    `retained_negative_mass` is the share of the failures' negative weight that is left, in [0, 1].
    """

    weights: Float64
    valid_chunks: tuple[int, ...]
    retained_negative_mass: float

    def rows(self) -> list[list[float]]:
        """Return the weights without padding: one list of N floats a rollout."""
        pairs = zip(self.weights, self.valid_chunks, strict=True)
        return [row[:length].tolist() for row, length in pairs]


def truncate_failures(
    advantages: ArrayLike,
    success: Sequence[bool],
    valid_chunks: Sequence[int],
    boundary: Sequence[int | None],
) -> TruncatedFeedback:
    """Return the weight A z / N of every chunk (MART-GRPO Sections 3.2, 3.3, D.2).

    z is 1 for every chunk of a success, and for chunks 1 ... boundary of a failure; N stays the
    original number of valid chunks. Without a boundary all feedback is kept.

    Args:
        advantages: Group advantage of each rollout, shape (n,).
        success: Whether each rollout succeeded, length n.
        valid_chunks: Number N of valid chunks of each rollout, >= 1, length n.
        boundary: Last chunk (from 1) whose feedback is kept, >= 0, or None; length n.

    Raises:
        ParameterError: If the lengths differ or a value is out of range.
    """
    values = np.asarray(advantages, dtype=np.float64)
    for field, items in (
        ('success', success),
        ('valid_chunks', valid_chunks),
        ('boundary', boundary),
    ):
        if len(items) != len(values):
            raise ParameterError(
                f'{field}: must have one entry an advantage ({len(values)}), got {len(items)}'
            )
    if not np.isfinite(values).all():
        raise ParameterError('advantages: every value must be finite')
    lengths = np.array(valid_chunks, dtype=np.intp)
    if (lengths < 1).any():
        raise ParameterError(f'valid_chunks: must be >= 1, got {lengths.min()}')
    if any(last is not None and last < 0 for last in boundary):
        raise ParameterError('boundary: must be >= 0, or none')
    ends = [n if b is None else min(b, n) for n, b in zip(valid_chunks, boundary, strict=True)]
    won = np.asarray(success, dtype=bool)
    kept = np.where(won, lengths, np.array(ends, dtype=np.intp))
    chunk = np.arange(lengths.max(initial=0))
    share = (values / lengths)[:, None]
    weights = np.where(chunk < lengths[:, None], share * (chunk < kept[:, None]), 0.0)
    mass = np.where(won, 0.0, np.maximum(-values, 0.0))
    before = float(mass.sum())
    after = float((mass * kept / lengths).sum())
    return TruncatedFeedback(weights, tuple(valid_chunks), after / before if before else 1.0)
