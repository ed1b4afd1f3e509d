"""Cells of the frames that were seen, each made once, and the panels drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.progress.panels import PADDING
from structrl_ros.progress.panels import panel_indices
from structrl_ros.progress.views import PADDING_LEVEL
from structrl_ros.progress.views import Views
from structrl_ros.progress.views import resize_area
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Panels of a query; 0 and 0 panels is the static layout of Eq. 3.

    Attributes:
        pre_panels: K, panels before the pair.
        between_panels: L, panels between the endpoints.
        grid: Cells along a side of a panel.
        cell_px: Side of a cell, pixels; the frame's head view is shown in it, or the first view
            that there is.
    """

    pre_panels: int = 1
    between_panels: int = 1
    grid: int = 3
    cell_px: int = 42


@dataclass(frozen=True, slots=True)
class Panels:
    """Panels of one window.

    Attributes:
        images: RGB, shape (K, grid * cell, grid * cell, 3).
        filled: Which cells show a frame, shape (K, grid^2).
    """

    images: UInt8
    filled: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """Panels with at least one frame: what the prompt says."""
        return int(self.filled.any(axis=1).sum())


class Strip:
    """Cells of frames in order; one more frame costs one cell, panels only copy cells."""

    def __init__(self, layout: Layout) -> None:
        """Begin without frames."""
        self._layout = layout
        self._cells = np.full((16, layout.cell_px, layout.cell_px, 3), PADDING_LEVEL, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        """Return the number of frames."""
        return self._count

    def add(self, views: Views) -> None:
        """Append a frame."""
        if self._count + 1 >= len(self._cells):  # the last cell stays the padding
            self._cells = np.concatenate([self._cells, np.full_like(self._cells, PADDING_LEVEL)])
        view = views.images[int(np.argmax(views.available))]
        px = self._layout.cell_px
        self._cells[self._count] = resize_area(view, px, px)
        self._count += 1

    def panels(self, t_before: int, t_after: int) -> tuple[Panels, Panels]:
        """Return the panels before the pair and between its endpoints (Eq. 2)."""
        layout = self._layout
        found = panel_indices(
            t_before,
            t_after,
            pre_panels=layout.pre_panels,
            between_panels=layout.between_panels,
            grid=layout.grid,
        )
        return self._draw(found.before), self._draw(found.between)

    def empty(self) -> tuple[Panels, Panels]:
        """Return panels without a frame, for a query without temporal context."""
        layout = self._layout
        cells = layout.grid**2
        counts = (layout.pre_panels, layout.between_panels)
        pre, between = (self._draw(np.full((n, cells), PADDING, np.intp)) for n in counts)
        return pre, between

    def _draw(self, indices: NDArray[np.intp]) -> Panels:
        grid, px = self._layout.grid, self._layout.cell_px
        cells = self._cells[indices].reshape(len(indices), grid, grid, px, px, 3)
        images = cells.transpose(0, 1, 3, 2, 4, 5).reshape(len(indices), grid * px, grid * px, 3)
        return Panels(images, indices != PADDING)
