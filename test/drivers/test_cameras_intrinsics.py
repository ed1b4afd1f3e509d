"""Intrinsics: projection as OpenCV has it, and what crop and resize make of them."""

import numpy as np
import pytest

from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.errors import ParameterError

WIDE = Intrinsics(640, 480, 600.0, 610.0, 321.5, 238.25, (0.1, -0.2, 0.001, -0.002, 0.03))
RATIONAL = Intrinsics(
    *(640, 480, 600.0, 610.0, 321.5, 238.25),
    (0.5, -0.2, 0.001, -0.002, 0.03, 0.4, -0.1, 0.02),
    'rational_polynomial',
)
POINTS = np.random.default_rng(3).uniform((-0.4, -0.3, 0.5), (0.4, 0.3, 1.5), (40, 3))


@pytest.mark.parametrize('intrinsics', [WIDE, RATIONAL])
def test_points_project_where_opencv_puts_them(intrinsics):
    cv2 = pytest.importorskip('cv2')
    want, _ = cv2.projectPoints(
        POINTS, np.zeros(3), np.zeros(3), intrinsics.matrix, np.array(intrinsics.distortion)
    )
    assert np.abs(project(intrinsics, POINTS) - want.reshape(-1, 2)).max() < 1e-9


def test_crop_moves_the_pixels_of_points_by_its_corner():
    part = WIDE.cropped(100, 50, 320, 240)
    assert (part.width, part.height) == (320, 240)
    assert np.allclose(project(part, POINTS), project(WIDE, POINTS) - (100, 50), atol=1e-9)


@pytest.mark.parametrize('size', [(320, 240), (224, 224), (1280, 960)])
def test_resize_scales_the_pixels_of_points_about_the_picture_s_corner(size):
    scale = np.array(size) / (640, 480)
    want = (project(WIDE, POINTS) + 0.5) * scale - 0.5
    assert np.allclose(project(WIDE.resized(*size), POINTS), want, atol=1e-9)


def test_points_behind_the_camera_have_no_pixel():
    assert np.isnan(project(WIDE, np.array([0.0, 0.0, -1.0]))).all()


def test_intrinsics_that_are_none_are_refused():
    with pytest.raises(ParameterError, match='focal lengths positive'):
        Intrinsics(640, 480, 0.0, 600.0, 320.0, 240.0)
    with pytest.raises(ParameterError, match='plumb_bob has 3 coefficients; allowed: 0 or 4 or 5'):
        Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0, (0.1, 0.2, 0.3))
    with pytest.raises(ParameterError, match="distortion model is 'kannala'"):
        Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0, (), 'kannala')
    with pytest.raises(ParameterError, match=r'crop is 640 x 480 at \(1, 0\)'):
        WIDE.cropped(1, 0, 640, 480)
    fisheye = Intrinsics(640, 480, 300.0, 300.0, 320.0, 240.0, (0.0,) * 4, 'equidistant')
    with pytest.raises(ParameterError, match='rectified first'):
        project(fisheye, POINTS)
