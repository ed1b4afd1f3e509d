"""The thread that keeps a camera alive: opens, reads, judges, passes on, opens again.

A frame is passed on once, in the order of its stamp, and only if it is new, of the right size and
not the frozen repetition of one before; nothing old is ever passed on to hide that a camera is
silent. Whoever needs fresh pictures looks at their age.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace
from enum import StrEnum

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.drivers.cameras.sensor_clock import SensorClock
from structrl_ros.drivers.cameras.statistics import FrameStatistics
from structrl_ros.errors import CameraError
from structrl_ros.errors import StaleDataError
from structrl_ros.errors import StructRLError
from structrl_ros.ports import Camera
from structrl_ros.ports import Clock

#: Longest wait for one frame, seconds: the longest time until `stop` is noticed.
READ_S = 0.25


class Condition(StrEnum):
    """How a camera is."""

    STARTING = 'starting'
    GOOD = 'good'
    STALE = 'stale'
    LOST = 'lost'
    FROZEN = 'frozen'
    WRONG_SIZE = 'wrong size'


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """When a camera is in trouble; 0 switches a limit off.

    `size` is the width and height that frames must have. `max_age_s` makes it stale,
    `frozen_after_s` of equal pictures frozen, `reset_after_s` of silence restarts the device.
    `reconnect_s` lies between two attempts to open it. `rate_hz` is its nominal rate.
    """

    size: tuple[int, int] | None = None
    max_age_s: float = 0.5
    frozen_after_s: float = 1.0
    reset_after_s: float = 5.0
    reconnect_s: float = 1.0
    rate_hz: float = 0.0


class CameraReader:
    """Reads one camera in a thread of its own."""

    def __init__(
        self,
        open_camera: Callable[[], Camera],
        region: Region,
        limits: ReaderLimits,
        clock: Clock,
        take: Callable[[CameraFrame], None],
        tell: Callable[[Condition, str], None],
    ) -> None:
        """Prepare; `start` begins.

        Args:
            open_camera: Opens the device; raises CameraError if it is not there.
            region: What is kept of its frames.
            limits: When something is wrong.
            clock: This machine's clock, in which stamps are told.
            take: Gets every good frame, in the thread.
            tell: Gets every change of condition with its reason, in the thread.
        """
        self._open, self._region, self._limits = open_camera, region, limits
        self._clock, self._take, self._tell = clock, take, tell
        self._thread = threading.Thread(target=self._run, name='camera', daemon=True)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._sensor_clock = SensorClock()
        self._condition, self._reason = Condition.STARTING, 'not opened yet'
        self._picture: tuple[int, float] | None = None
        self.statistics = FrameStatistics()
        self.name, self._was_open = '', False

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the thread and free the camera; return after a while even if the device hangs."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def health(self) -> tuple[Condition, str, dict[str, str]]:
        """Return condition, a line that says why, and numbers; from any thread."""
        with self._lock:
            values = self.statistics.values()
            newest_ns, rate_hz = self.statistics.newest_ns, self.statistics.rate_hz
            condition, reason = self._condition, self._reason
        age_s = None if newest_ns is None else (self._clock.now_ns() - newest_ns) / 1e9
        values |= {'serial': self.name, 'age_s': 'none' if age_s is None else f'{age_s:.3f}'}
        limit_s = self._limits.max_age_s
        if condition is Condition.GOOD and age_s is not None and 0 < limit_s < age_s:
            condition = Condition.STALE
            reason = f'newest frame is {age_s:.2f} s old, limit {limit_s:.2f} s'
        elif condition is Condition.GOOD and age_s is not None:
            reason = f'{rate_hz:.1f} Hz, newest frame is {age_s:.3f} s old'
        return condition, reason, values

    def _run(self) -> None:
        while not self._stopping.is_set():
            camera = None
            try:
                camera = self._open()
                self._read(camera)
            except CameraError as error:
                self._fail(str(error))
            except Exception as error:  # the thread's last line: report, never die in silence
                self._fail(f'{type(error).__name__}: {error}')
            finally:
                if camera is not None:
                    self._close(camera)
            self._stopping.wait(self._limits.reconnect_s)

    def _read(self, camera: Camera) -> None:
        """Pass on frames until the camera is lost or the reader stopped.

        Another camera in the place of the first is refused: its lens and its pose are others.
        """
        if self._was_open and camera.name != self.name:
            raise CameraError(
                f'camera {camera.name} came in the place of {self.name}; plug that in again, or '
                'start camera_node anew and calibrate'
            )
        with self._lock:
            self.statistics.reconnects += self._was_open
            self.statistics.restart()
        self.name, self._was_open, self._picture = camera.name, True, None
        self._sensor_clock.reopen()
        heard_s = time.monotonic()
        while not self._stopping.is_set():
            try:
                frame = camera.read(READ_S)
            except StaleDataError as error:
                with self._lock:
                    self.statistics.timeouts += 1
                self._look_for_silence(camera, time.monotonic() - heard_s, str(error))
                continue
            heard_s = time.monotonic()
            if (good := self._judged(frame)) is not None:
                self._pass_on(good)

    def _pass_on(self, frame: CameraFrame) -> None:
        done = self._region.apply(frame)
        self._take(done)
        period_ns = round(1e9 / self._limits.rate_hz) if self._limits.rate_hz > 0 else 0
        with self._lock:
            now_ns = self._clock.now_ns()
            self.statistics.keep(frame.stamp_ns, now_ns, frame.number, period_ns)
        self._be(Condition.GOOD, '')

    def _judged(self, frame: CameraFrame) -> CameraFrame | None:
        """Return the frame with its stamp on this machine's clock, or None if it is no good."""
        height, width, _ = frame.image.shape
        with self._lock:
            self.statistics.received += 1
        wanted = self._limits.size
        if wanted is not None and wanted != (width, height):
            reason = f'frame is {width} x {height}; allowed: {wanted[0]} x {wanted[1]}'
            self._drop('wrong_size')
            self._be(Condition.WRONG_SIZE, reason)
            return None
        before = self._sensor_clock.jumps
        stamp_ns = self._sensor_clock.stamp(frame.stamp_ns, frame.received_ns, frame.host_clock)
        if stamp_ns is None:
            self._drop('clock_jumps' if self._sensor_clock.jumps > before else 'repeated')
            return None
        if self._is_frozen(frame):
            return None
        return replace(frame, stamp_ns=stamp_ns)

    def _is_frozen(self, frame: CameraFrame) -> bool:
        """Whether the picture is, to the last bit, the one of some time ago."""
        if not self._limits.frozen_after_s:
            return False
        number, now_s = zlib.crc32(frame.image.data), frame.received_ns / 1e9
        if self._picture is None or self._picture[0] != number:
            self._picture = (number, now_s)
            return False
        equal_s = now_s - self._picture[1]
        if equal_s < self._limits.frozen_after_s:
            return False
        self._drop('frozen')
        self._be(Condition.FROZEN, 'the picture has not changed by one bit for a while')
        return True

    def _look_for_silence(self, camera: Camera, silent_s: float, reason: str) -> None:
        """Report a silent camera, and restart it when it has been silent for too long."""
        if 0 < self._limits.max_age_s < silent_s:
            self._be(Condition.STALE, reason)
        if 0 < self._limits.reset_after_s < silent_s:
            with self._lock:
                self.statistics.resets += 1
            camera.reset()
            raise CameraError(f'no frame for {silent_s:.1f} s: the device was restarted')

    def _fail(self, reason: str) -> None:
        with self._lock:
            self.statistics.failures += 1
        self._be(Condition.LOST, reason)

    def _drop(self, name: str) -> None:
        with self._lock:
            setattr(self.statistics, name, getattr(self.statistics, name) + 1)

    def _be(self, condition: Condition, reason: str) -> None:
        """Remember a condition, and tell of it when it changes or its reason does."""
        with self._lock:
            changed = (condition, reason) != (self._condition, self._reason)
            self._condition, self._reason = condition, reason
        if changed:
            self._tell(condition, reason)

    def _close(self, camera: Camera) -> None:
        try:
            camera.close()
        except StructRLError as error:
            self._tell(Condition.LOST, str(error))
