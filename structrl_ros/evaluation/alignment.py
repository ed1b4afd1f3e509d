"""A live picture against a reference of the same scene: overlays, a score and a shift.

For setting up an initial state by hand. All pictures are RGB uint8 (H, W, 3) of one size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: How an overlay may be drawn.
MODES = ('blend', 'edges', 'difference')
#: Colour of the reference's edges, and share of the pixels that are taken for edges.
EDGE_COLOUR = (255, 40, 200)
EDGE_SHARE = 0.06
#: Width in pixels that score and shift are computed at.
COARSE = 96
#: Standard deviation of the blur before the gradients, in those pixels: how near is near.
BLUR = 1.5
#: Tiles down and across that are matched one by one, and the share of the worst that counts.
TILES = (6, 8)
COUNTED = 0.25
#: Least energy of the gradients of a tile, of the mean of all, that makes it a part to match.
STRUCTURE = 0.1
#: What one level of difference is multiplied by, so that small ones are seen.
GAIN = 2

_WEIGHTS = np.array([77, 150, 29], dtype=np.uint16)  # BT.601 in 256ths
Bool = NDArray[np.bool_]


def grey(picture: UInt8) -> Float64:
    """Return the luma of a picture, levels, shape (H, W)."""
    mixed: Float64 = (picture @ _WEIGHTS >> 8).astype(np.float64)
    return mixed


def edges(picture: UInt8) -> Bool:
    """Return which pixels are edges: the `EDGE_SHARE` with the steepest luma, shape (H, W)."""
    across, down = np.gradient(grey(picture))
    steep = np.hypot(across, down)
    limit = max(float(np.quantile(steep, 1.0 - EDGE_SHARE)), 1e-9)
    return np.asarray(steep >= limit)


@dataclass(frozen=True, slots=True)
class Match:
    """How well a live picture matches: see `Overlay.match`.

    Attributes:
        score: [0, 1]; 1: equal but for light.
        worst: Of the worst part, [0, 1].
        worst_at: Middle of that part, shares of width and height from the upper left corner.
    """

    score: float
    worst: float
    worst_at: tuple[float, float]


class Overlay:
    """Draws live pictures over one reference.

    Attributes:
        reference: The picture to match.
    """

    def __init__(self, reference: UInt8) -> None:
        """Keep the reference and its edges.

        Raises:
            ParameterError: If it is no RGB picture of 8 x 8 pixels or more.
        """
        if reference.ndim != 3 or reference.shape[2] != 3 or min(reference.shape[:2]) < 8:
            raise ParameterError(
                f'reference of shape {reference.shape}; allowed: (H, W, 3), 8 pixels and more'
            )
        self.reference = reference
        self._edges = edges(reference)
        self._coarse = _coarse(reference)

    def draw(self, live: UInt8, mode: str, alpha: float) -> UInt8:
        """Return the overlay.

        Args:
            live: Picture of the camera, of the reference's size.
            mode: 'blend' mixes both, 'edges' draws the reference's edges into the live picture,
                'difference' shows grey where both are equal and bright where they are not.
            alpha: Weight of the reference, its edges or the difference, [0, 1].

        Raises:
            ParameterError: If the size, the mode or alpha is not allowed.
        """
        if live.shape != self.reference.shape:
            raise ParameterError(
                f'picture of shape {live.shape}; allowed: {self.reference.shape}, the reference'
            )
        if mode not in MODES or not 0.0 <= alpha <= 1.0:
            raise ParameterError(
                f'overlay {mode!r} with alpha {alpha}; allowed: {", ".join(MODES)}, 0 to 1'
            )
        if mode == 'blend':
            return _mix(live, self.reference, alpha)
        if mode == 'edges':
            drawn = live.copy()
            colour = np.array(EDGE_COLOUR, dtype=np.uint8)
            drawn[self._edges] = _mix(live[self._edges], colour, alpha)
            return drawn
        apart = np.abs(live.astype(np.int16) - self.reference).max(axis=2)
        shown = np.minimum(GAIN * apart, 255).astype(np.uint8)
        return _mix(live, np.repeat(shown[:, :, None], 3, axis=2), alpha)

    def match(self, live: UInt8) -> Match:
        """Return how well the scenes match, part by part.

        The correlation of both pictures' gradients in each of `TILES`, at `COARSE` pixels of
        width, negative ones as 0: a change of brightness or contrast alone leaves it at 1. The
        score is the mean of the worst `COUNTED` of the tiles that show something in either
        picture, so that one small thing out of place counts; 0 where nothing shows anything.
        """
        first, second = self._coarse, _coarse(live)
        height, width = first.shape[1:]
        parts = []
        for row in range(TILES[0]):
            for column in range(TILES[1]):
                rows = slice(row * height // TILES[0], (row + 1) * height // TILES[0])
                columns = slice(column * width // TILES[1], (column + 1) * width // TILES[1])
                tile = first[:, rows, columns], second[:, rows, columns]
                energy = sum(float((t**2).sum()) for t in tile)
                parts.append((_correlation(*tile), energy, row, column))
        least = STRUCTURE * sum(p[1] for p in parts) / len(parts)
        shown = sorted(p for p in parts if p[1] > max(least, 1e-9))
        if not shown:
            return Match(0.0, 0.0, (0.5, 0.5))
        worst = shown[: max(1, round(COUNTED * len(shown)))]
        _, _, row, column = shown[0]
        at = ((column + 0.5) / TILES[1], (row + 0.5) / TILES[0])
        return Match(sum(p[0] for p in worst) / len(worst), shown[0][0], at)

    def shift_px(self, live: UInt8) -> tuple[float, float]:
        """Return how far the live picture lies right of and below the reference, pixels.

        By phase correlation (Kuglin and Hines, 1975) of the luma at `COARSE` pixels of width, so
        in steps of the width over `COARSE`; what moved is the camera, or most of the scene.
        """
        first, second = (_windowed(_reduced(grey(p))) for p in (self.reference, live))
        cross = np.fft.rfft2(second) * np.conj(np.fft.rfft2(first))
        peaks = np.fft.irfft2(cross / np.maximum(np.abs(cross), 1e-9), first.shape)
        row, column = np.unravel_index(int(peaks.argmax()), peaks.shape)
        height, width = peaks.shape
        down = int(row) - height * (int(row) > height // 2)
        right = int(column) - width * (int(column) > width // 2)
        factor = self.reference.shape[1] / width
        return right * factor, down * factor


def _mix(first: UInt8, second: UInt8, weight: float) -> UInt8:
    part = round(256 * weight)
    mixed = first.astype(np.uint16) * (256 - part) + second.astype(np.uint16) * part
    return (mixed >> 8).astype(np.uint8)


def _reduced(values: Float64) -> Float64:
    """Return means of square blocks, about `COARSE` columns."""
    block = max(1, values.shape[1] // COARSE)
    height, width = (side // block for side in values.shape)
    cut = values[: height * block, : width * block]
    found: Float64 = cut.reshape(height, block, width, block).mean(axis=(1, 3))
    return found


def _windowed(values: Float64) -> Float64:
    """Return values without mean that fade out to the borders."""
    window = np.hanning(values.shape[0])[:, None] * np.hanning(values.shape[1])
    faded: Float64 = (values - values.mean()) * window
    return faded


def _coarse(picture: UInt8) -> Float64:
    """Return the gradients of the reduced, blurred luma, shape (2, h, w)."""
    from scipy.ndimage import gaussian_filter

    down, across = np.gradient(gaussian_filter(_reduced(grey(picture)), BLUR))
    return np.stack([down, across])


def _correlation(first: Float64, second: Float64) -> float:
    spread = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return max(0.0, float((first * second).sum()) / spread) if spread > 0.0 else 0.0
