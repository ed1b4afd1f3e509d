"""Which frames go into the context panels of a query (Robo-Dopamine 2.0, Eq. 2 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError

#: Marks an empty cell, which is drawn with the fixed padding image.
PADDING = -1

Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class PanelIndices:
    """Frame indices of the panels before and between the endpoints.

    Shapes (K, grid^2) and (L, grid^2); cells run left to right, top to bottom, `PADDING` is empty.
    """

    before: Indices
    between: Indices


def panel_indices(
    t_before: int, t_after: int, *, pre_panels: int, between_panels: int, grid: int
) -> PanelIndices:
    """Return the frames of the windows [0, min) and (min, max) (Robo-Dopamine 2.0, Eq. 2, 3).

    Frames are chronological even where the pair is reversed.

    Args:
        t_before: Frame of the first endpoint, >= 0.
        t_after: Frame of the second endpoint, >= 0; may be earlier than `t_before`.
        pre_panels: Number K of panels before the pair, >= 0.
        between_panels: Number L of panels between the endpoints, >= 0.
        grid: Cells along a side of a panel, >= 1.

    Raises:
        ParameterError: If an argument is out of range.
    """
    lowest = {'t_before': 0, 't_after': 0, 'pre_panels': 0, 'between_panels': 0, 'grid': 1}
    values = (t_before, t_after, pre_panels, between_panels, grid)
    for (field, minimum), value in zip(lowest.items(), values, strict=True):
        if value < minimum:
            raise ParameterError(f'{field}: must be >= {minimum}, got {value}')
    first, last = min(t_before, t_after), max(t_before, t_after)
    cells = grid * grid
    return PanelIndices(
        before=sample_window(0, first, pre_panels * cells).reshape(pre_panels, cells),
        between=sample_window(first + 1, last, between_panels * cells).reshape(
            between_panels, cells
        ),
    )


def sample_window(start: int, stop: int, capacity: int) -> Indices:
    """Return `capacity` cells of frames from [start, stop), uniformly spread, padded at the end.

    All frames if they fit; else cell j shows frame floor(j (n - 1) / (c - 1) + 1/2), in integer
    arithmetic, and the middle frame (n - 1) // 2 where there is one cell.
    """
    count = max(stop - start, 0)
    cells = np.full(capacity, PADDING, dtype=np.intp)
    if count <= capacity:
        cells[:count] = np.arange(start, start + count)
    elif capacity == 1:
        cells[0] = start + (count - 1) // 2
    elif capacity > 1:
        steps = np.arange(capacity, dtype=np.intp)
        cells[:] = start + (2 * steps * (count - 1) + capacity - 1) // (2 * (capacity - 1))
    return cells
