"""What passes between a camera and its users: a frame, and the intrinsics it was taken with."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

UInt16 = NDArray[np.uint16]

#: Distortion models by their ROS names, and how many coefficients each may have.
DISTORTION_MODELS = {
    'plumb_bob': (0, 4, 5),
    'rational_polynomial': (8,),
    'equidistant': (4,),
}


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """A pinhole camera with lens distortion.

    The centre of the first pixel is (0, 0), so the picture covers [-0.5, width - 0.5] and
    [-0.5, height - 0.5]. Focal lengths and principal point are in pixels. `distortion` holds
    k1, k2, p1, p2, k3 (`plumb_bob`), and k4, k5, k6 (`rational_polynomial`), or the four
    coefficients of a fisheye lens (`equidistant`); empty means none.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...] = ()
    model: str = 'plumb_bob'

    def __post_init__(self) -> None:
        """Refuse what is no camera.

        Raises:
            ParameterError: If a size or focal length is not positive, a number is not finite, or
                the distortion does not fit its model.
        """
        numbers = (self.fx, self.fy, self.cx, self.cy, *self.distortion)
        if min(self.width, self.height, self.fx, self.fy) <= 0 or not np.isfinite(numbers).all():
            raise ParameterError(
                f'intrinsics {self.width} x {self.height}, fx {self.fx}, fy {self.fy}, '
                f'cx {self.cx}, cy {self.cy}; allowed: finite, sizes and focal lengths positive'
            )
        counts = DISTORTION_MODELS.get(self.model)
        if counts is None:
            known = ', '.join(DISTORTION_MODELS)
            raise ParameterError(f'distortion model is {self.model!r}; allowed: {known}')
        if len(self.distortion) not in counts:
            allowed = ' or '.join(str(count) for count in counts)
            raise ParameterError(
                f'{self.model} has {len(self.distortion)} coefficients; allowed: {allowed}'
            )

    @property
    def matrix(self) -> Float64:
        """The camera matrix K, shape (3, 3)."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def cropped(self, x: int, y: int, width: int, height: int) -> Intrinsics:
        """Return the intrinsics of the part of the picture that begins at pixel (x, y).

        Raises:
            ParameterError: If the part does not lie within the picture.
        """
        right, bottom = self.width - x, self.height - y
        if min(x, y) < 0 or not (0 < width <= right and 0 < height <= bottom):
            raise ParameterError(
                f'crop is {width} x {height} at ({x}, {y}); '
                f'allowed: within {self.width} x {self.height}'
            )
        return replace(self, width=width, height=height, cx=self.cx - x, cy=self.cy - y)

    def resized(self, width: int, height: int) -> Intrinsics:
        """Return the intrinsics of the picture scaled to another size."""
        sx, sy = width / self.width, height / self.height
        return replace(
            self,
            width=width,
            height=height,
            fx=self.fx * sx,
            fy=self.fy * sy,
            cx=(self.cx + 0.5) * sx - 0.5,
            cy=(self.cy + 0.5) * sy - 0.5,
        )


@dataclass(frozen=True, slots=True)
class CameraFrame:
    """One picture of a camera.

    `stamp_ns` is the sensor's time (of exposure, where the device tells it): on this machine's
    clock if `host_clock` is set, else on the device's own, whose zero means nothing. `received_ns`
    is when the frame reached this machine, on the clock that the camera was given. `image` is
    upright RGB (H, W, 3); `depth`, in millimetres, (H, W), has the same pixels, 0 where unknown.
    `number` counts the device's frames, so that a gap is a loss; None where the device does not
    count. `intrinsics` are None where nobody knows them.
    """

    stamp_ns: int
    received_ns: int
    image: UInt8
    intrinsics: Intrinsics | None = None
    depth: UInt16 | None = None
    number: int | None = None
    host_clock: bool = True


def project(intrinsics: Intrinsics, points: Float64) -> Float64:
    """Return the pixels, shape (..., 2), of points in the camera's optical frame.

    Args:
        intrinsics: Of the camera; `plumb_bob` or `rational_polynomial`.
        points: Metres, x right, y down, z forward, shape (..., 3). Points that do not lie in
            front of the camera have no pixel and give NaN.

    Raises:
        ParameterError: If the camera is a fisheye.
    """
    if intrinsics.model == 'equidistant':
        raise ParameterError('pictures of a fisheye camera must be rectified first')
    depth = np.where(points[..., 2] > 1e-9, points[..., 2], np.nan)
    x, y = points[..., 0] / depth, points[..., 1] / depth
    k1, k2, p1, p2, k3, k4, k5, k6 = np.pad(
        np.asarray(intrinsics.distortion, np.float64), (0, 8 - len(intrinsics.distortion))
    )
    r2 = x * x + y * y
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    u = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
    v = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
    return np.stack(
        [intrinsics.fx * u + intrinsics.cx, intrinsics.fy * v + intrinsics.cy], axis=-1
    )
