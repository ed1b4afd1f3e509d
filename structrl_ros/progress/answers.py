"""What every GRM behind `ports.ProgressModel` does alike: what it takes and what it answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.progress.context import Query
from structrl_ros.progress.hop import LABEL_SCALE
from structrl_ros.progress.strip import Layout
from structrl_ros.types import Float64


def only_queries(contexts: Sequence[object]) -> list[Query]:
    """Return what a progress model is asked, if all of it are queries.

    Raises:
        ParameterError: If something else is among them.
    """
    queries = [context for context in contexts if isinstance(context, Query)]
    if len(queries) != len(contexts):
        wrong = next(type(c).__name__ for c in contexts if not isinstance(c, Query))
        raise ParameterError(f'context of type {wrong}; allowed: Query')
    return queries


def check_query(query: Query, layout: Layout, view_px: int) -> None:
    """Accept a query whose views and panels are those that a model was made for.

    Raises:
        ParameterError: If its views are of another size, or its panels of another layout.
    """
    size = query.before.images.shape[1]
    if size != view_px:
        raise ParameterError(f'views of {size} px; allowed: {view_px}, those of the model')
    side = layout.grid * layout.cell_px
    for panels, count, where in (
        (query.pre, layout.pre_panels, 'before'),
        (query.between, layout.between_panels, 'between'),
    ):
        wanted = (count, side, side, 3)
        if panels.images.shape != wanted:
            raise ParameterError(
                f'panels {where} of shape {panels.images.shape}; allowed: {wanted}, those of the '
                'model'
            )


def hops_of(answers: Float64) -> Float64:
    """Return the normalised hops that answers say (Robo-Dopamine 2.0, Eq. 12), shape (B,).

    Args:
        answers: 100 x hop of each query, shape (B,).

    Returns:
        Hops in [-1, 1]; NaN where an answer is no finite number: no prediction, and never 0.
    """
    hops: Float64 = np.clip(np.asarray(answers, dtype=np.float64) / LABEL_SCALE, -1.0, 1.0)
    hops[~np.isfinite(answers)] = np.nan
    return hops
