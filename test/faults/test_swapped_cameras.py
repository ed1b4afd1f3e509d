"""Two cameras of a cell whose serial numbers changed places."""

import threading
import time

import numpy as np

from structrl_ros.camera_types import CameraFrame
from structrl_ros.camera_types import Intrinsics
from structrl_ros.drivers.cameras.reader import CameraReader
from structrl_ros.drivers.cameras.reader import Condition
from structrl_ros.drivers.cameras.reader import ReaderLimits
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.errors import CameraError

LENS = Intrinsics(64, 48, 60.0, 61.0, 31.0, 24.5)


class WallClock:
    def now_ns(self):
        return time.time_ns()


class Device:
    """A camera of a serial number: some frames, then it is pulled out; else frames for ever."""

    def __init__(self, name, value, frames=10**9):
        self.name, self.value, self.left = name, value, frames
        self.number, self.closed = 0, threading.Event()

    def read(self, timeout_s):
        if self.number >= self.left:
            raise CameraError(f'{self.name} was unplugged')
        self.number += 1
        time.sleep(0.002)
        now_ns = time.time_ns()
        image = np.full((48, 64, 3), self.value, np.uint8)
        image[0, 0] = self.number % 256
        return CameraFrame(now_ns, now_ns, image, LENS, None, self.number)

    def reset(self):
        pass

    def close(self):
        self.closed.set()


def test_another_serial_number_in_the_place_of_a_lost_camera_is_refused_by_name():
    plugged = [
        Device('8123', 1, frames=3),
        Device('9999', 2),
        Device('9999', 2),
        Device('8123', 3),
    ]
    wrong, back = plugged[1:3], plugged[3]
    frames, told, seen = [], [], threading.Event()

    def take(frame):
        frames.append(int(frame.image[1, 1, 0]))
        if frames[-1] == 3:
            seen.set()

    reader = CameraReader(
        lambda: plugged.pop(0) if len(plugged) > 1 else back,
        Region(),
        ReaderLimits(reconnect_s=0.01, frozen_after_s=0.0, reset_after_s=0.0),
        WallClock(),
        take,
        lambda condition, reason: told.append((condition, reason)),
    )
    reader.start()
    try:
        assert seen.wait(60.0), told
    finally:
        reader.stop()
    assert 2 not in frames
    assert all(device.number == 0 and device.closed.is_set() for device in wrong)
    lost = [reason for condition, reason in told if condition is Condition.LOST]
    assert lost[0] == '8123 was unplugged'
    assert lost[1].startswith('camera 9999 came in the place of 8123; plug that in again')
    assert reader.statistics.failures >= 3
