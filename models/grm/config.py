"""Architecture of the small GRM, as a checkpoint keeps it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.query_config import QueryConfig
from structrl_ros.models.grm.query_config import check_fields
from structrl_ros.types import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class GrmConfig(QueryConfig):
    """Dimensions; `view_px` is a multiple of 16, the defaults give about 1.1 million parameters.

    Attributes:
        pooled_panels: 1: the head reads both windows as well, summed over their cells; 0: not.
        width: Of a token.
        layers: Of the transformer.
        heads: Of its attention.
        channels: Of the encoders' first convolution, a multiple of 8; the next ones have two,
            three and four times as many.
        vocabulary: Numbers that words of an instruction are hashed to.
        words: Most words of an instruction.
    """

    pooled_panels: int = 0
    width: int = 128
    layers: int = 2
    heads: int = 4
    channels: int = 32
    vocabulary: int = 512
    words: int = 32

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ParameterError: If one is outside its range.
        """
        for field in dataclasses.fields(self):
            lowest = 0 if field.name.endswith('_panels') else 1
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < lowest:
                raise ParameterError(f'{field.name} {value!r}; allowed: whole, from {lowest}')
        if self.view_px % 16 or self.cell_px < 16:
            raise ParameterError(
                f'view_px {self.view_px}, cell_px {self.cell_px}; allowed: a multiple of 16, '
                'and 16 and more'
            )
        if self.channels % 8:
            raise ParameterError(f'channels {self.channels}; allowed: a multiple of 8')
        if self.width % self.heads:
            raise ParameterError(f'width {self.width}; allowed: a multiple of {self.heads} heads')

    @property
    def cells(self) -> int:
        """Cells of a query."""
        return (self.pre_panels + self.between_panels) * self.grid**2

    def to_json(self) -> JsonObject:
        """Return the fields."""
        return dataclasses.asdict(self)


def config_from_json(document: JsonObject) -> GrmConfig:
    """Return the config of a document.

    Raises:
        ParameterError: If a field is unknown or its value not allowed.
    """
    check_fields(document, GrmConfig)
    return GrmConfig(**document)
