"""What came of comparing one kind of recorded message with what is computed again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """One kind of message: how many were compared, and where they first differ ('' nowhere).

    `skipped` counts those that cannot be computed from the recording, `why` says why.
    """

    kind: str
    compared: int
    difference: str
    skipped: int = 0
    why: str = ''


def with_reasons(kind: str, compared: int, difference: str, reasons: Counter[str]) -> Comparison:
    """Return a comparison whose `why` tells how many were skipped for each reason."""
    why = ', '.join(f'{count} {reason}' for reason, count in reasons.items())
    return Comparison(kind, compared, difference, reasons.total(), why)
