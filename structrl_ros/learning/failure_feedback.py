"""What of failed rollouts' feedback is kept: controls of MART-GRPO, and the account of it.

The controls of Section 4.3 keep as much weight as truncation by events does, without events.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from structrl_ros.errors import ParameterError
from structrl_ros.learning.truncation import TruncatedFeedback
from structrl_ros.learning.truncation import truncate_failures
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject


def scale_failures(
    advantages: ArrayLike, success: Sequence[bool], valid_chunks: Sequence[int], scale: float
) -> TruncatedFeedback:
    """Return A / N for every chunk of a success, scale A / N for those of a failure (Section 4.3).

    Args:
        advantages: Group advantage of each rollout, shape (n,).
        success: Whether each rollout succeeded, length n.
        valid_chunks: Number N of valid chunks of each rollout, >= 1, length n.
        scale: Gamma, in [0, 1].

    Raises:
        ParameterError: If the lengths differ or a value is out of range.
    """
    if not 0.0 <= scale <= 1.0:
        raise ParameterError(f'scale of failures: must be in [0, 1], got {scale}')
    whole = truncate_failures(advantages, success, valid_chunks, [None] * len(valid_chunks))
    factor = np.where(np.asarray(success, dtype=bool), 1.0, scale)[:, None]
    is_scaled = failure_mass(advantages, success) > 0.0
    return TruncatedFeedback(
        whole.weights * factor, whole.valid_chunks, scale if is_scaled else 1.0
    )


def failure_mass(advantages: ArrayLike, success: Sequence[bool]) -> float:
    """Return the sum of the negative weights of failures before any mask, as a number >= 0."""
    lost = ~np.asarray(success, dtype=bool)
    return float(np.maximum(-np.asarray(advantages, dtype=np.float64)[lost], 0.0).sum())


def draw_boundaries(
    random: np.random.Generator,
    observed: Mapping[int, int],
    success: Sequence[bool],
    valid_chunks: Sequence[int],
) -> list[int | None]:
    """Return a random prefix for each failure (Section F.2), None for a success.

    Args:
        random: Of the draw.
        observed: How often each boundary was seen on accepted failures; those that kept all
            feedback count with their N.
        success: Whether each rollout succeeded, length n.
        valid_chunks: N of each; a boundary beyond it is cut to it.

    Raises:
        ParameterError: If none was observed.
    """
    if not observed:
        raise ParameterError('boundaries to draw from: at least one is needed, got none')
    values = np.array(sorted(observed), dtype=np.intp)
    share = np.array([observed[int(value)] for value in values], dtype=np.float64)
    drawn = random.choice(values, size=len(valid_chunks), p=share / share.sum()).tolist()
    return [
        None if won else min(last, chunks)
        for won, last, chunks in zip(success, drawn, valid_chunks, strict=True)
    ]


@dataclass(slots=True)
class FeedbackTally:
    """The account of an update, or of all updates together (Table 10).

    Attributes:
        failures: Accepted failed rollouts.
        shortened: Those of which feedback was cut.
        fallbacks: How many kept all of it, by the reason.
        mass_before: Negative weight of failures before the mask.
        mass_after: What was left of it.
        boundaries: How often each boundary was taken; N where all was kept.
    """

    failures: int = 0
    shortened: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)
    mass_before: float = 0.0
    mass_after: float = 0.0
    boundaries: dict[int, int] = field(default_factory=dict)

    @property
    def retained(self) -> float:
        """Retained negative mass, in [0, 1]; 1 where there was none."""
        return self.mass_after / self.mass_before if self.mass_before else 1.0

    def add(
        self,
        advantages: Float64,
        success: Sequence[bool],
        kept: TruncatedFeedback,
        boundaries: Sequence[int | None],
        reasons: Sequence[str],
    ) -> None:
        """Count an update.

        Args:
            advantages: Of the rollouts that teach, shape (n,).
            success: Whether each succeeded.
            kept: Their weights.
            boundaries: Of each; None where all is kept.
            reasons: Why all is kept; '' where it is not, or where nobody was asked.
        """
        before = failure_mass(advantages, success)
        self.mass_before += before
        self.mass_after += before * kept.retained_negative_mass
        rows = zip(success, kept.valid_chunks, boundaries, reasons, strict=True)
        for won, chunks, boundary, reason in rows:
            if won:
                continue
            self.failures += 1
            last = chunks if boundary is None else min(boundary, chunks)
            self.shortened += last < chunks
            self.boundaries[last] = self.boundaries.get(last, 0) + 1
            if reason:
                self.fallbacks[reason] = self.fallbacks.get(reason, 0) + 1

    def merge(self, other: FeedbackTally) -> None:
        """Add another account to this one."""
        self.failures += other.failures
        self.shortened += other.shortened
        self.mass_before += other.mass_before
        self.mass_after += other.mass_after
        for reason, count in other.fallbacks.items():
            self.fallbacks[reason] = self.fallbacks.get(reason, 0) + count
        for last, count in other.boundaries.items():
            self.boundaries[last] = self.boundaries.get(last, 0) + count

    def document(self) -> JsonObject:
        """Return plain JSON that `tally_of_document` takes back."""
        return {
            'failures': self.failures,
            'shortened': self.shortened,
            'fallbacks': dict(self.fallbacks),
            'mass_before': self.mass_before,
            'mass_after': self.mass_after,
            'boundaries': {str(last): count for last, count in sorted(self.boundaries.items())},
        }


def tally_of_document(document: JsonObject) -> FeedbackTally:
    """Return the account that a document keeps.

    Raises:
        ParameterError: If it is none.
    """
    try:
        own = dict(document)
        counts = {int(last): int(count) for last, count in dict(own.pop('boundaries')).items()}
        return FeedbackTally(**own, boundaries=counts)
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f'account of feedback: {error}') from None
