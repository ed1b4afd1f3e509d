"""Looks at one camera in a process of its own, for the doctor: drivers crash and hang.

Run as `python -m structrl_ros.cli.doctor_probe JSON`, with the parameters of a camera_node; prints
one line of JSON: what was seen, or `error`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from structrl_ros.camera_types import CameraFrame
from structrl_ros.drivers.cameras.opening import open_camera
from structrl_ros.drivers.cameras.settings import CameraSettings
from structrl_ros.errors import StaleDataError
from structrl_ros.errors import StructRLError
from structrl_ros.intrinsics_file import read_intrinsics
from structrl_ros.params.camera import CameraParameters
from structrl_ros.params.parameter import parameters_from_values
from structrl_ros.ports import Camera

#: Frames to wait for, and the wall seconds in which they must have come.
FRAMES = 5
SECONDS = 8.0


class _WallClock:
    def now_ns(self) -> int:
        return time.time_ns()


def look(values: dict[str, Any]) -> dict[str, Any]:
    """Return what a camera shows: `size`, `rate_hz`, `age_s` of the newest frame, `has_lens`.

    Args:
        values: Parameters of a camera_node.

    Raises:
        StructRLError: If it is not there, or no two fresh frames came.
    """
    p = parameters_from_values(CameraParameters, values, 'camera_node')
    with _opened(p) as camera:
        frames = _frames(camera)
    first, last = frames[0], frames[-1]
    seconds = (last.received_ns - first.received_ns) / 1e9
    height, width, _ = last.image.shape
    return {
        'size': [width, height],
        'rate_hz': (len(frames) - 1) / max(seconds, 1e-6),
        'age_s': (last.received_ns - last.stamp_ns) / 1e9,
        'has_lens': last.intrinsics is not None,
        'name': camera.name,
    }


def _frames(camera: Camera) -> list[CameraFrame]:
    """Return frames whose stamps rise.

    Raises:
        StaleDataError: If there were not two in time.
    """
    frames: list[CameraFrame] = []
    end = time.monotonic() + SECONDS
    while len(frames) < FRAMES and time.monotonic() < end:
        try:
            frame = camera.read(1.0)
        except StaleDataError:
            continue
        if not frames or frame.stamp_ns > frames[-1].stamp_ns:
            frames.append(frame)
    if len(frames) < 2:
        raise StaleDataError(f'{len(frames)} fresh frames within {SECONDS:.0f} s')
    return frames


@contextmanager
def _opened(p: CameraParameters) -> Iterator[Camera]:
    intrinsics = read_intrinsics(Path(p.intrinsics)) if p.intrinsics else None
    if p.backend == 'ros_topic':
        from structrl_ros.nodes.subscribed_camera import subscribed_camera

        with subscribed_camera(p, _WallClock()) as camera:
            yield camera
        return
    settings = CameraSettings(p.source, p.width, p.height, p.rate_hz, p.depth, intrinsics, p.loop)
    camera = open_camera(p.backend, settings, _WallClock())
    try:
        yield camera
    finally:
        camera.close()


def main() -> int:
    """Look at the camera of the first argument; 1 if there is nothing to be seen."""
    try:
        told: dict[str, Any] = look(json.loads(sys.argv[1]))
    except StructRLError as error:
        told = {'error': str(error)}
    sys.stdout.write(json.dumps(told) + '\n')
    return 1 if 'error' in told else 0


if __name__ == '__main__':
    sys.exit(main())
