"""Pictures of two bags, camera by camera: light, contrast, colour, sharpness, noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np
from PIL import Image

from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_entry import compare_distance
from structrl_ros.recording.mismatch_entry import compare_samples
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Weights of red, green and blue in luma (Rec. ITU-R BT.601).
LUMA = np.array([0.299, 0.587, 0.114])
LEVELS = 256

_LIGHT = 'exposure and gain of the camera, light of the room; light of the simulated scene'
_COLOUR = 'white balance of the camera (fix it), colour of the lamps; colours of the simulation'
_DETAIL = (
    'focus, motion blur (shorter exposure), compression and resize; textures of the simulation'
)
_NOISE = 'gain and exposure of the camera; add noise to simulated pictures'


def luma(picture: UInt8) -> Float64:
    """Return the luma of an RGB picture (H, W, 3), levels in [0, 255], shape (H, W)."""
    found: Float64 = picture.astype(np.float64) @ LUMA
    return found


def sharpness(picture: UInt8) -> float:
    """Return the variance of the Laplacian of the luma, levels squared; blur lowers it."""
    y = luma(picture)
    inner = y[1:-1, 1:-1]
    laplacian = y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:] - 4.0 * inner
    return float(laplacian.var()) if laplacian.size else 0.0


def noise(picture: UInt8) -> float:
    """Return the standard deviation of the noise in levels.

    Immerkaer, "Fast Noise Variance Estimation", Computer Vision and Image Understanding 64
    (1996): the mean absolute answer to the difference of two Laplacians. Fine texture counts as
    noise.
    """
    y = luma(picture)
    if min(y.shape) < 3:
        return 0.0
    edge = (y[:-2, 1:-1], y[2:, 1:-1], y[1:-1, :-2], y[1:-1, 2:])
    corner = (y[:-2, :-2], y[:-2, 2:], y[2:, :-2], y[2:, 2:])
    answer = 4.0 * y[1:-1, 1:-1] - 2.0 * sum(edge) + sum(corner)
    return float(math.sqrt(math.pi / 2.0) * np.abs(answer).mean() / 6.0)


def luma_shares(pictures: Sequence[UInt8]) -> Float64:
    """Return the share of pixels at each level of luma, shape (256,)."""
    counts = np.zeros(LEVELS)
    for picture in pictures:
        counts += np.bincount(np.rint(luma(picture)).astype(np.intp).ravel(), minlength=LEVELS)
    return counts / counts.sum()


def histogram_distance(sim: Sequence[UInt8], real: Sequence[UInt8]) -> float:
    """Return the earth mover's distance between the pooled lumas of two sets, in levels."""
    first, second = (np.cumsum(luma_shares(pictures)) for pictures in (sim, real))
    return float(np.abs(first - second).sum())


def compare_pictures(sim: Signals, real: Signals) -> list[Mismatch]:
    """Return the lines of every camera that both bags have.

    Pictures of two sizes are compared at the smaller width and height.
    """
    lines: list[Mismatch] = []
    for role in sim.pictures:
        if role in real.pictures:
            lines += _compare_role(role, *_same_size(sim.pictures[role], real.pictures[role]))
    return lines


def _compare_role(role: str, sim: list[UInt8], real: list[UInt8]) -> list[Mismatch]:
    lines = []
    for name, (measure, unit, tolerance, is_relative, remedy) in _QUANTITIES.items():
        ours = np.array([measure(p) for p in sim])
        theirs = np.array([measure(p) for p in real])
        if is_relative:
            tolerance *= max(1e-9, (np.median(ours) + np.median(theirs)) / 2.0)
        line = f'{name} of {role}'
        lines.append(
            compare_samples('picture', line, unit, ours, theirs, float(tolerance), remedy)
        )
    means = [np.array([luma(p).mean() for p in side]) for side in (sim, real)]
    histogram = compare_samples(
        'picture', f'histogram of {role}', 'levels', means[0], means[1], 10.0, _LIGHT
    )
    return [*lines, compare_distance(histogram, histogram_distance(sim, real))]


def _same_size(sim: list[UInt8], real: list[UInt8]) -> tuple[list[UInt8], list[UInt8]]:
    sizes = {picture.shape[:2] for picture in (*sim, *real)}
    if len(sizes) == 1:
        return sim, real
    height, width = min(h for h, _ in sizes), min(w for _, w in sizes)

    def scaled(picture: UInt8) -> UInt8:
        box = Image.Resampling.BOX
        return np.asarray(Image.fromarray(picture).resize((width, height), box), dtype=np.uint8)

    return [scaled(p) for p in sim], [scaled(p) for p in real]


def _excess(channel: int) -> Callable[[UInt8], float]:
    def measure(picture: UInt8) -> float:
        return float(picture[..., channel].mean() - luma(picture).mean())

    return measure


#: Measure, unit, tolerance (a share of the mean of both medians where relative), remedy.
_QUANTITIES: dict[str, tuple[Callable[[UInt8], float], str, float, bool, str]] = {
    'brightness': (lambda p: float(luma(p).mean()), 'levels', 10.0, False, _LIGHT),
    'contrast': (lambda p: float(luma(p).std()), 'levels', 0.15, True, _LIGHT),
    'red over luma': (_excess(0), 'levels', 5.0, False, _COLOUR),
    'green over luma': (_excess(1), 'levels', 5.0, False, _COLOUR),
    'blue over luma': (_excess(2), 'levels', 5.0, False, _COLOUR),
    'sharpness': (sharpness, 'levels^2', 0.5, True, _DETAIL),
    'noise': (noise, 'levels', 1.0, False, _NOISE),
}
