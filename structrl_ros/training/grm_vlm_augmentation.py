"""What queries lose in the training of a GRM on a vision-language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.progress.context import Query


def leave_out(
    queries: Sequence[Query], rng: np.random.Generator, wrists: float, panels: float
) -> list[Query]:
    """Return queries of which some are without wrist views, and some without panels.

    Arms without a wrist camera ask so, and the backward query of Eq. 13.

    Args:
        queries: They stay as they are.
        rng: Of the draws.
        wrists: Share of queries without wrist views.
        panels: Share of queries without panels.
    """
    draws = rng.random((len(queries), 2)) < (wrists, panels)
    found = []
    for query, (is_blind, is_forgetful) in zip(queries, draws, strict=True):
        seen = query.without_wrists() if is_blind else query
        found.append(seen.without_panels() if is_forgetful else seen)
    return found
