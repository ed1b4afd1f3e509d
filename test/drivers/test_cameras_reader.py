"""The thread that keeps a camera alive: what it passes on, what it drops, and what it says."""

import threading
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

import cv2

from structrl_ros.camera_types import CameraFrame
from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.drivers.cameras.opening import check_backend
from structrl_ros.drivers.cameras.opening import open_camera
from structrl_ros.drivers.cameras.reader import CameraReader
from structrl_ros.drivers.cameras.reader import Condition
from structrl_ros.drivers.cameras.reader import ReaderLimits
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.drivers.cameras.sensor_clock import SensorClock
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.drivers.cameras.settings import fitting
from structrl_ros.drivers.cameras.statistics import FrameStatistics
from structrl_ros.errors import CameraError
from structrl_ros.errors import StaleDataError

PERIOD_NS = 20_000_000
LENS = Intrinsics(64, 48, 60.0, 61.0, 31.0, 24.5)


class WallClock:
    def now_ns(self):
        return time.time_ns()


CLOCK = WallClock()


class ScriptedCamera:
    """A camera that plays a list: frames, seconds of silence, or an error to end with."""

    name = 'scripted'

    def __init__(self, steps):
        self.steps = list(steps)
        self.resets = self.closed = 0

    def read(self, timeout_s):
        if not self.steps:
            time.sleep(timeout_s)
            raise StaleDataError('no frame is left')
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, float):
            time.sleep(min(step, timeout_s))
            if step > timeout_s:
                self.steps.insert(0, step - timeout_s)
            raise StaleDataError('silence')
        time.sleep(0.002)
        return step() if callable(step) else step

    def reset(self):
        self.resets += 1

    def close(self):
        self.closed += 1


def frame(number, **changes):
    """Return a frame of now whose picture is its number."""
    image = np.full((48, 64, 3), number % 256, np.uint8)
    now_ns = time.time_ns()
    made = CameraFrame(now_ns, now_ns, image, LENS, None, number)
    return replace(made, **changes)


def numbered(first, last):
    return [lambda n=n: frame(n) for n in range(first, last)]


class Watched:
    """A reader of cameras that are opened one after the other, and all that it said."""

    def __init__(self, *openings, region=None, **limits):
        self.openings, self.frames, self.told = list(openings), [], []
        self.cameras = []
        given = {'reconnect_s': 0.02, 'frozen_after_s': 0.0, 'reset_after_s': 0.0, **limits}
        self.reader = CameraReader(
            self.open,
            region or Region(),
            ReaderLimits(**given),
            CLOCK,
            self.frames.append,
            lambda condition, reason: self.told.append((condition, reason)),
        )
        self.reader.start()

    def open(self):
        step = self.openings.pop(0) if len(self.openings) > 1 else self.openings[0]
        if isinstance(step, Exception):
            raise step
        if callable(step):
            step = step()
        camera = step if hasattr(step, 'read') else ScriptedCamera(step)
        self.cameras.append(camera)
        return camera

    def wait(self, true, limit_s=10.0):
        end = time.monotonic() + limit_s
        while not true():
            assert time.monotonic() < end, (self.reader.health(), self.told, len(self.frames))
            time.sleep(0.005)

    def conditions(self):
        return [condition for condition, _ in self.told]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.reader.stop()


def test_every_good_frame_is_passed_on_once_in_order():
    with Watched(numbered(0, 20)) as watched:
        watched.wait(lambda: len(watched.frames) == 20)
        condition, line, values = watched.reader.health()
    assert [f.number for f in watched.frames] == list(range(20))
    assert all(a.stamp_ns < b.stamp_ns for a, b in pairwise(watched.frames))
    assert condition is Condition.GOOD
    assert 'Hz, newest frame is' in line
    assert (values['received'], values['kept'], values['lost']) == ('20', '20', '0')
    assert values['serial'] == 'scripted'
    assert watched.told == [(Condition.GOOD, '')]
    assert watched.cameras[0].closed == 1


def test_frames_that_the_device_counted_and_nobody_got_are_lost():
    steps = [*numbered(0, 5), *numbered(9, 12)]
    with Watched(steps) as watched:
        watched.wait(lambda: len(watched.frames) == 8)
    assert watched.reader.statistics.lost == 4


def test_gaps_between_stamps_count_as_losses_where_the_device_does_not_count():
    statistics = FrameStatistics()
    for at in (0, 1, 2, 5, 6):
        statistics.keep(at * PERIOD_NS, at * PERIOD_NS + 3_000_000, None, PERIOD_NS)
    assert statistics.lost == 2
    assert statistics.rate_hz == pytest.approx(4 / (6 * 0.02))
    assert statistics.delay_ms == pytest.approx(3.0)


def test_a_camera_that_was_unplugged_comes_back_and_nothing_old_is_passed_on():
    gone = CameraError('scripted was unplugged')
    absent = CameraError('no scripted camera; plugged in: none')
    with Watched([*numbered(0, 6), gone], absent, absent, numbered(0, 6)) as watched:
        watched.wait(lambda: len(watched.frames) >= 6)
        watched.wait(lambda: Condition.LOST in watched.conditions())
        watched.wait(lambda: len(watched.frames) == 12)
        time.sleep(0.1)
    assert len(watched.frames) == 12
    assert all(a.stamp_ns < b.stamp_ns for a, b in pairwise(watched.frames))
    said = [(Condition.GOOD, ''), (Condition.LOST, str(gone)), (Condition.LOST, str(absent))]
    assert watched.told == [*said, (Condition.GOOD, '')]
    assert watched.reader.statistics.reconnects == 1
    assert watched.reader.statistics.failures == 3
    assert watched.cameras[0].closed == 1


def test_silence_makes_the_camera_stale_and_its_end_good():
    steps = [*numbered(0, 4), 0.4, *numbered(4, 8)]
    with Watched(steps, max_age_s=0.15) as watched:
        watched.wait(lambda: len(watched.frames) == 4)
        watched.wait(lambda: watched.reader.health()[0] is Condition.STALE)
        watched.wait(lambda: len(watched.frames) == 8)
        watched.wait(lambda: watched.conditions()[-1] is Condition.GOOD)
    assert watched.conditions()[:3] == [Condition.GOOD, Condition.STALE, Condition.GOOD]
    assert watched.reader.statistics.timeouts >= 1
    assert watched.reader.statistics.failures == 0


def test_age_alone_makes_the_camera_stale_while_a_read_still_blocks():
    blocked = threading.Event()

    class Blocking(ScriptedCamera):
        def read(self, timeout_s):
            if self.steps:
                return super().read(timeout_s)
            blocked.wait(5)
            raise CameraError('woken')

    with Watched(Blocking(numbered(0, 3)), max_age_s=0.1) as watched:
        watched.wait(lambda: len(watched.frames) == 3)
        watched.wait(lambda: watched.reader.health()[0] is Condition.STALE)
        assert 'old, limit 0.10 s' in watched.reader.health()[1]
        blocked.set()


def test_a_device_that_is_silent_for_too_long_is_restarted_and_opened_again():
    with Watched(numbered(0, 3), numbered(3, 6), max_age_s=0.1, reset_after_s=0.4) as watched:
        watched.wait(lambda: len(watched.frames) == 6)
        first = watched.cameras[0]
    assert (first.resets, first.closed) == (1, 1)
    assert watched.reader.statistics.resets >= 1
    assert any('the device was restarted' in reason for _, reason in watched.told)


def test_a_frozen_picture_is_withheld_until_it_changes():
    still = [lambda: frame(7) for _ in range(60)]
    steps = [*numbered(0, 3), *still, *numbered(8, 11)]
    with Watched(steps, frozen_after_s=0.05) as watched:
        watched.wait(lambda: Condition.FROZEN in watched.conditions())
        watched.wait(lambda: [f.image[0, 0, 0] for f in watched.frames][-3:] == [8, 9, 10])
    withheld = watched.reader.statistics.frozen
    assert withheld >= 10
    assert len(watched.frames) == len(steps) - withheld
    assert watched.conditions() == [Condition.GOOD, Condition.FROZEN, Condition.GOOD]


def test_equal_pictures_are_fine_where_nobody_asked_to_look_for_them():
    with Watched([lambda: frame(7) for _ in range(30)], frozen_after_s=0.0) as watched:
        watched.wait(lambda: len(watched.frames) == 30)
    assert watched.reader.statistics.frozen == 0


def test_frames_of_another_size_are_refused_and_named():
    small = np.zeros((24, 32, 3), np.uint8)
    steps = [*numbered(0, 3), lambda: frame(3, image=small), *numbered(4, 6)]
    with Watched(steps, size=(64, 48)) as watched:
        watched.wait(lambda: len(watched.frames) == 5)
    assert all(f.image.shape == (48, 64, 3) for f in watched.frames)
    assert watched.reader.statistics.wrong_size == 1
    assert (Condition.WRONG_SIZE, 'frame is 32 x 24; allowed: 64 x 48') in watched.told


def test_a_jump_of_the_sensors_clock_costs_one_frame_and_never_turns_time_back():
    hour_ns = 3600 * 10**9

    def late(number, shift_ns):
        made = frame(number, host_clock=False)
        return replace(made, stamp_ns=made.stamp_ns + shift_ns)

    shifts = [5 * hour_ns] * 10 + [9 * hour_ns] * 10 + [2 * hour_ns] * 10
    steps = [lambda n=n, s=s: late(n, s) for n, s in enumerate(shifts)]
    with Watched(steps) as watched:
        watched.wait(lambda: watched.reader.statistics.received == 30)
        watched.wait(lambda: len(watched.frames) == 28)
    assert watched.reader.statistics.clock_jumps == 2
    assert all(a.stamp_ns < b.stamp_ns for a, b in pairwise(watched.frames))
    assert all(abs(f.stamp_ns - f.received_ns) < 50_000_000 for f in watched.frames)


def test_an_unexpected_fault_of_a_driver_is_reported_and_survived():
    with Watched([*numbered(0, 2), ZeroDivisionError('driver')], numbered(2, 4)) as watched:
        watched.wait(lambda: len(watched.frames) == 4)
    assert (Condition.LOST, 'ZeroDivisionError: driver') in watched.told


def test_stamps_of_this_machine_are_kept_and_repeated_ones_dropped():
    clock = SensorClock()
    assert clock.stamp(1_000_000_000, 1_030_000_000, True) == 1_000_000_000
    assert clock.stamp(1_000_000_000, 1_063_000_000, True) is None
    assert clock.stamp(990_000_000, 1_090_000_000, True) is None
    assert clock.stamp(1_066_000_000, 1_100_000_000, True) == 1_066_000_000
    assert clock.jumps == 0


def test_a_device_of_its_own_time_is_moved_by_the_shortest_delay():
    clock = SensorClock()
    delays = [9, 4, 7, 12, 5]
    stamps = [
        clock.stamp(at * 33_000_000, 10**12 + at * 33_000_000 + d * 10**6, False)
        for at, d in enumerate(delays)
    ]
    late = [(s - 10**12 - at * 33_000_000) // 10**6 for at, s in enumerate(stamps)]
    assert late == [9, 4, 4, 4, 4]


def test_a_clock_of_this_machine_that_was_set_back_is_followed():
    clock = SensorClock()
    assert clock.stamp(10 * 10**9, 10 * 10**9 + 1, False) is not None
    assert clock.stamp(10 * 10**9 + 33_000_000, 5 * 10**9, False) is None
    assert clock.jumps == 1
    assert clock.stamp(10 * 10**9 + 66_000_000, 5 * 10**9 + 33_000_000, False) is not None


def test_crop_and_resize_move_picture_points_and_depth_together():
    rows, columns = np.mgrid[0:48, 0:64]
    depth = (1000 + 10 * columns + rows).astype(np.uint16)
    point = np.array([0.11, -0.06, 0.5])
    u, v = project(LENS, point)
    image = np.zeros((48, 64, 3), np.float64)
    image[..., 0] = 250 * np.exp(-((columns - u) ** 2 + (rows - v) ** 2) / 18.0)
    made = replace(frame(0, image=image.round().astype(np.uint8)), depth=depth)
    done = Region((16, 2, 48, 36), (96, 54)).apply(made)
    assert done.image.shape == (54, 96, 3)
    assert done.depth.shape == (54, 96)
    want = project(done.intrinsics, point)
    weights = done.image[..., 0].astype(float)
    ys, xs = np.mgrid[0:54, 0:96]
    blob = np.array([(weights * xs).sum(), (weights * ys).sum()]) / weights.sum()
    assert np.abs(blob - want).max() < 0.15
    x, y = (round(value) for value in want)
    assert done.depth[y, x] == depth[round(v), round(u)]


def test_a_crop_beyond_the_picture_is_refused():
    with pytest.raises(
        CameraError, match=r'crop is 48 x 36 at \(20, 2\); allowed: within 64 x 48'
    ):
        Region((20, 2, 48, 36)).apply(frame(0))


def test_intrinsics_follow_a_scaled_picture_and_no_other():
    assert fitting(LENS, 64, 48) is LENS
    assert fitting(LENS, 128, 96).fx == 120.0
    assert fitting(LENS, 64, 64) is None
    assert fitting(None, 64, 48) is None


def folder_of(path, count=4, size=(64, 48)):
    path.mkdir()
    for number in range(count):
        Image.new('RGB', size, (40 * number, 10, 90)).save(path / f'{number:03d}.png')
    return path


def film_of(path, count=10):
    film = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*'MJPG'), 30, (64, 48))
    for number in range(count):
        film.write(np.full((48, 64, 3), (200, 100, 20 * number), np.uint8))  # blue, green, red
    film.release()
    return path


def test_a_folder_of_pictures_plays_at_its_rate_and_ends(tmp_path):
    settings = CameraSettings(str(folder_of(tmp_path / 'a')), rate_hz=50.0, intrinsics=LENS)
    camera = open_camera('file', settings, CLOCK)
    frames = [camera.read(1.0) for _ in range(4)]
    assert [f.image[0, 0, 0] for f in frames] == [0, 40, 80, 120]
    assert [b.stamp_ns - a.stamp_ns >= 20_000_000 for a, b in pairwise(frames)] == [True] * 3
    assert frames[0].intrinsics is LENS
    with pytest.raises(CameraError, match='has ended'):
        camera.read(1.0)
    camera.close()


def test_a_film_plays_in_rgb_again_and_again(tmp_path):
    path = film_of(tmp_path / 'film.avi')
    camera = open_camera('file', CameraSettings(str(path), rate_hz=500.0, loop=True), CLOCK)
    reds = [int(camera.read(1.0).image[20, 20, 0]) for _ in range(25)]
    camera.close()
    assert np.abs(np.array(reds) - 20 * (np.arange(25) % 10)).max() < 12


def test_a_file_that_is_slower_than_one_waits_is_silent(tmp_path):
    camera = open_camera('file', CameraSettings(str(folder_of(tmp_path / 'a')), rate_hz=2), CLOCK)
    camera.read(1.0)
    with pytest.raises(StaleDataError, match=r'is due within 0\.05 s'):
        camera.read(0.05)


def test_the_opencv_backend_reads_what_opencv_opens(tmp_path):
    path = film_of(tmp_path / 'film.avi', 3)
    camera = open_camera('opencv', CameraSettings(str(path), intrinsics=LENS), CLOCK)
    first = camera.read(1.0)
    assert np.abs(first.image[20, 20].astype(int) - (0, 100, 200)).max() < 12
    assert first.intrinsics is LENS
    assert first.stamp_ns == first.received_ns
    camera.read(1.0), camera.read(1.0)
    with pytest.raises(CameraError, match='gives no frame: unplugged, or at its end'):
        camera.read(1.0)
    camera.reset()
    camera.close()


@pytest.mark.parametrize(
    ('backend', 'source', 'line'),
    [
        ('file', 'no_such_file.avi', 'no film and no folder with pictures (.png, .jpg'),
        ('opencv', 'no_such_device', "camera 'no_such_device' cannot be opened"),
        ('gopro', '', "unknown camera backend 'gopro'; known: realsense, opencv, file"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_one_line(backend, source, line, capfd):
    with pytest.raises(CameraError) as error:
        open_camera(backend, CameraSettings(source), CLOCK)
    assert line in str(error.value)
    assert '\n' not in str(error.value)


def test_a_text_file_is_no_film(tmp_path, capfd):
    path = tmp_path / 'film.avi'
    path.write_text('no film')
    with pytest.raises(CameraError, match='is no film that OpenCV reads'):
        open_camera('file', CameraSettings(str(path)), CLOCK)


def test_a_machine_without_opencv_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'cv2', None)
    with pytest.raises(CameraError, match=r'pip install "opencv-python-headless>=4\.10'):
        check_backend('opencv')


def test_a_folder_that_vanishes_and_comes_back_is_read_again(tmp_path):
    folder, away = folder_of(tmp_path / 'a', 30), tmp_path / 'away'
    settings = CameraSettings(str(folder), rate_hz=50.0, loop=True)
    with Watched(lambda: open_camera('file', settings, CLOCK), reconnect_s=0.05) as watched:
        watched.wait(lambda: len(watched.frames) > 5)
        folder.rename(away)
        watched.wait(lambda: watched.conditions()[-1] is Condition.LOST)
        before = len(watched.frames)
        time.sleep(0.3)
        assert len(watched.frames) == before
        away.rename(folder)
        watched.wait(lambda: len(watched.frames) > before + 5)
    assert watched.conditions()[-1] is Condition.GOOD
    assert all(a.stamp_ns < b.stamp_ns for a, b in pairwise(watched.frames))
