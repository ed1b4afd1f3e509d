"""What the configs of both sizes of GRM share: how a query is made."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.progress.strip import Layout
from structrl_ros.types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig:
    """Sizes of the views and panels of a query.

    Attributes:
        view_px: Side of a view, pixels.
        cell_px: Side of a panel's cell, pixels.
        grid: Cells along a side of a panel.
        pre_panels: Panels before the pair; 0 and 0 is the static layout of Eq. 3.
        between_panels: Panels between the endpoints.
    """

    view_px: int = 128
    cell_px: int = 42
    grid: int = 3
    pre_panels: int = 1
    between_panels: int = 1

    @property
    def layout(self) -> Layout:
        """Panels of its queries."""
        return Layout(
            pre_panels=self.pre_panels,
            between_panels=self.between_panels,
            grid=self.grid,
            cell_px=self.cell_px,
        )


def check_fields(document: JsonObject, config: type[QueryConfig]) -> None:
    """Accept a document all of whose fields a config has.

    Raises:
        ParameterError: If one is unknown.
    """
    names = [field.name for field in dataclasses.fields(config)]
    unknown = sorted(set(document) - set(names))
    if unknown:
        raise ParameterError(f'unknown field {unknown[0]!r}; allowed: {", ".join(names)}')
