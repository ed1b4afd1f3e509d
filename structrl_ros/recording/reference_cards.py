"""The references that a live picture is laid over, as overlays of its size."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.alignment import Overlay
from structrl_ros.recording.references import Reference
from structrl_ros.recording.references import scaled
from structrl_ros.types import UInt8

#: Name of the reference where none was given.
FIRST = 'the first picture that was heard'


class ReferenceCards:
    """References by their number, a card each.

    Attributes:
        references: In the order of their numbers.
    """

    def __init__(self, references: Sequence[Reference] = ()) -> None:
        """Take the references; with none, the first live picture becomes one."""
        self.references = tuple(references)
        self._overlays: dict[tuple[int, int, int], Overlay] = {}

    def see(self, live: UInt8) -> None:
        """Take a live picture, RGB (H, W, 3), as the reference if there is none."""
        if not self.references:
            self.references = (Reference(FIRST, '', live.copy()),)

    def reference(self, card: int) -> Reference:
        """Return a reference.

        Raises:
            ParameterError: If there is no such card.
        """
        if not self.references:
            raise ParameterError('no reference yet: no picture has come')
        if not 0 <= card < len(self.references):
            raise ParameterError(f'card {card}; allowed: 0 to {len(self.references) - 1}')
        return self.references[card]

    def overlay(self, card: int, live: UInt8) -> Overlay:
        """Return the overlay of a reference at the size of a live picture; kept for that size.

        Raises:
            ParameterError: If there is no such card.
        """
        reference = self.reference(card)
        height, width, _ = live.shape
        key = card, width, height
        if key not in self._overlays:
            self._overlays = {k: v for k, v in self._overlays.items() if k[1:] == key[1:]}
            self._overlays[key] = Overlay(scaled(reference.picture, width, height))
        return self._overlays[key]
