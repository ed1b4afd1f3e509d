"""The RealSense backend through librealsense's own pipeline, on a recording made here."""

import time
from itertools import pairwise

import numpy as np
import pytest
from software_realsense import CENTRE
from software_realsense import FOCAL
from software_realsense import SERIAL
from software_realsense import picture
from software_realsense import record

try:
    import pyrealsense2 as rs
except ImportError as error:
    pytest.skip(f'needs pyrealsense2 and libusb ({error})', allow_module_level=True)

from structrl_ros.camera_types import project
from structrl_ros.drivers.cameras import realsense
from structrl_ros.drivers.cameras.opening import check_backend
from structrl_ros.drivers.cameras.opening import open_camera
from structrl_ros.drivers.cameras.realsense_lens import intrinsics_of
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.errors import CameraError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Camera


class WallClock:
    def now_ns(self):
        return time.time_ns()


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp('realsense') / 'soft.db3'
    record(path, 12)
    return str(path)


def opened(source, **changes):
    settings = CameraSettings(source, **{'width': 320, 'height': 240, **changes})
    return open_camera('realsense', settings, WallClock())


def all_frames(camera):
    """Return every frame until the recording ends, and the error that ends it."""
    frames = []
    while True:
        try:
            frames.append(camera.read(1.0))
        except StaleDataError:
            continue
        except CameraError as error:
            return frames, str(error)


def test_frames_come_through_the_pipeline_with_their_own_time_and_number(recording):
    camera = opened(recording)
    assert isinstance(camera, Camera)
    assert camera.name == SERIAL
    began_ns = time.time_ns()
    frames, ended = all_frames(camera)
    camera.close()
    assert 'soft.db3 has ended' in ended
    assert len(frames) >= 10  # played in real time: the first may pass before anybody looks
    for frame in frames:
        assert frame.stamp_ns == pytest.approx(1e9 + (frame.number - 1) * 1e9 / 30, abs=2e3)
        assert (frame.image == picture(frame.number)).all()
        assert not frame.host_clock
        assert began_ns < frame.received_ns <= time.time_ns()
        assert frame.depth is None
    assert all(a.number < b.number for a, b in pairwise(frames))
    i = frames[0].intrinsics
    assert (i.width, i.height, i.fx, i.fy, i.cx, i.cy) == (320, 240, *FOCAL, *CENTRE)
    assert i.distortion == ()


def test_depth_comes_in_millimetres_on_the_pixels_of_the_picture(recording):
    camera = opened(recording, depth=True)
    frames = (camera.read(2.0) for _ in range(16))  # the first may come before any depth does
    frame = next(frame for frame in frames if frame.depth is not None)
    camera.close()
    assert frame.depth.dtype == np.uint16
    assert frame.depth.shape == (240, 320)
    middle = frame.depth[20:-20, 20:-20]
    known = middle[middle > 0]
    assert known.size > 0.9 * middle.size
    assert np.abs(known.astype(int) - (800 + frame.number)).max() <= 1


def test_a_recording_in_a_loop_never_ends(recording):
    camera = opened(recording, loop=True)
    numbers = [camera.read(2.0).number for _ in range(16)]
    camera.close()
    assert min(numbers[8:]) < numbers[7]


def test_closing_twice_does_nothing_and_reading_after_it_is_refused(recording):
    camera = opened(recording)
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match='the camera is closed'):
        camera.read(0.1)


@pytest.mark.parametrize(
    ('source', 'changes', 'line'),
    [
        ('', {}, 'which RealSense? give a serial number; plugged in: none'),
        ('42', {}, 'no RealSense 42; plugged in: none'),
        ('no_such.db3', {}, "no_such.db3' does not exist"),
    ],
)
def test_cameras_that_are_not_there_are_named(source, changes, line):
    if realsense.attached():
        pytest.skip('a RealSense is plugged in')
    with pytest.raises(CameraError) as error:
        opened(source, **changes)
    assert line in str(error.value)
    assert '\n' not in str(error.value)


def test_a_size_that_is_not_offered_is_refused(recording):
    with pytest.raises(CameraError, match='it does not offer 640 x 480 at 30 Hz with depth'):
        opened(recording, width=640, height=480, depth=True)


def test_a_machine_without_the_library_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'pyrealsense2', None)
    with pytest.raises(CameraError, match=r'pip install pyrealsense2, apt-get install libusb'):
        check_backend('realsense')


def lens(model, coefficients):
    given = rs.intrinsics()
    given.width, given.height = 640, 480
    given.fx, given.fy, given.ppx, given.ppy = 610.0, 612.0, 325.0, 238.0
    given.model, given.coeffs = model, list(coefficients)
    return given


BENT = (0.16, -0.5, -0.002, 0.0008, 0.44)


def test_the_inverse_lens_is_told_so_that_points_land_on_their_pixels():
    given = lens(rs.distortion.inverse_brown_conrady, BENT)
    found = intrinsics_of(rs, given)
    pixels = np.random.default_rng(1).uniform((0, 0), (639, 479), (50, 2))
    rays = [rs.rs2_deproject_pixel_to_point(given, list(pixel), 0.7) for pixel in pixels]
    assert np.abs(project(found, np.array(rays)) - pixels).max() < 0.1
    straight = type(found)(640, 480, 610.0, 612.0, 325.0, 238.0)
    assert np.abs(project(straight, np.array(rays)) - pixels).max() > 1.0


@pytest.mark.parametrize(
    'model', [rs.distortion.brown_conrady, rs.distortion.modified_brown_conrady]
)
def test_forward_lenses_project_as_librealsense_does(model):
    given = lens(model, (0.05, -0.1, 0.001, -0.0005, 0.02))
    found = intrinsics_of(rs, given)
    points = np.random.default_rng(2).uniform((-0.3, -0.25, 0.6), (0.3, 0.25, 1.2), (50, 3))
    want = np.array([rs.rs2_project_point_to_pixel(given, list(point)) for point in points])
    assert np.abs(project(found, points) - want).max() < 0.1


def test_other_lenses_are_told_by_their_name_or_refused():
    straight = intrinsics_of(rs, lens(rs.distortion.inverse_brown_conrady, (0.0,) * 5))
    assert (straight.model, straight.distortion) == ('plumb_bob', ())
    fisheye = intrinsics_of(rs, lens(rs.distortion.kannala_brandt4, (0.1, 0.01, 0.0, 0.0, 0.0)))
    assert fisheye.model == 'equidistant'
    assert fisheye.distortion == pytest.approx((0.1, 0.01, 0.0, 0.0))
    wild = lens(rs.distortion.ftheta, (2.5, 0.0, 0.0, 0.0, 0.0))
    with pytest.raises(CameraError, match=r'is off by .* px as plumb_bob; allowed: 0\.3 px'):
        intrinsics_of(rs, wild)
