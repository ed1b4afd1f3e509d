"""`structrl doctor --cameras`: are the cameras of a cell there, and do fresh frames come?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.params.camera import CameraParameters
from structrl_ros.params.graph import NodeSpec
from structrl_ros.params.parameter import parameters_from_values

#: Wall seconds for a camera to be opened and to show some frames.
PROBE_SECONDS = 40.0
#: A camera that gives less than this share of the rate it was asked for is slow.
SLOW = 0.7
#: Where Linux puts video devices, and the group that may use them.
DEVICES = Path('/dev')

_NOTHING = {
    'realsense': 'plug it in (USB 3), and install the udev rules of librealsense once; '
    '`rs-enumerate-devices` lists serial numbers',
    'opencv': 'plug it in, or name another: `v4l2-ctl --list-devices`',
    'file': 'give the path of a video, a folder of pictures or a recording',
    'ros_topic': 'start its driver, and compare `ros2 topic list` and `ros2 topic hz`',
}


def examine_cameras(nodes: list[NodeSpec]) -> list[Finding]:
    """Look at every camera of a graph, one after another; each is opened for a moment."""
    return [_examine(node.parameters) for node in nodes]


def _examine(values: Mapping[str, Any]) -> Finding:
    p = parameters_from_values(CameraParameters, values, 'camera_node')
    subject = f'Camera {p.role}'
    named = f'{p.backend} {p.source or "(the only one)"}'
    refusal = _refused(p)
    if refusal is not None:
        return Finding(subject, State.MISSING, f'{named}: {refusal[0]}', refusal[1])
    told = probe(values)
    if 'error' in told:
        return Finding(subject, State.MISSING, f'{named}: {told["error"]}', _NOTHING[p.backend])
    return _judge(p, subject, named, told)


def probe(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `doctor_probe` says of a camera, in a process of its own."""
    words = [sys.executable, '-m', 'structrl_ros.cli.doctor_probe', json.dumps(dict(values))]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {'error': f'no answer within {PROBE_SECONDS:.0f} s'}
    lines = done.stdout.strip().splitlines()
    try:
        told = json.loads(lines[-1])
    except (IndexError, ValueError):
        last = done.stderr.strip().splitlines()[-1:] or [f'exit status {done.returncode}']
        return {'error': last[0]}
    return dict(told)


def _refused(p: CameraParameters) -> tuple[str, str] | None:
    """Return what is wrong with a device or a path before it is opened, and the remedy."""
    if p.intrinsics and not Path(p.intrinsics).is_file():
        return f'no intrinsics {p.intrinsics}', '`structrl calibrate intrinsics` writes them'
    if p.backend == 'file' and not Path(p.source).expanduser().exists():
        return 'no such file', _NOTHING['file']
    if p.backend != 'opencv':
        return None
    device = DEVICES / f'video{p.source}' if p.source.isdecimal() else Path(p.source)
    if not device.exists():
        found = ', '.join(sorted(str(d) for d in DEVICES.glob('video*'))) or 'none'
        return f'no {device}; there: {found}', _NOTHING['opencv']
    try:
        device.open('rb').close()
    except PermissionError:
        remedy = '`sudo usermod -aG video $USER`, and log in again'
        return f'{device} may not be read by this user', remedy
    except OSError as error:
        return (
            f'{device}: {error.strerror}',
            'end the program that holds it: `fuser -v /dev/video*`',
        )
    return None


def _judge(p: CameraParameters, subject: str, named: str, told: Mapping[str, Any]) -> Finding:
    """Return the finding on a camera that shows something."""
    width, height = told['size']
    rate, age = float(told['rate_hz']), float(told['age_s'])
    detail = f'{named}: {width} x {height}, {rate:.1f} Hz, newest frame {1e3 * age:.0f} ms old'
    if p.width and (width, height) != (p.width, p.height):
        remedy = f'set width and height of camera_{p.role} to what it gives, or another mode'
        return Finding(subject, State.MISSING, f'{detail}, {p.width} x {p.height} asked', remedy)
    if age > p.max_age_s or age < -p.max_age_s:
        remedy = (
            'use this machine for little else, or set the clock of the camera (chrony on both)'
        )
        return Finding(subject, State.DOUBTFUL, f'{detail}, limit {p.max_age_s:g} s', remedy)
    if rate < SLOW * p.rate_hz and p.backend in ('realsense', 'opencv'):
        remedy = 'use a USB 3 port of its own, a smaller picture, or more light (exposure)'
        return Finding(subject, State.DOUBTFUL, f'{detail}, {p.rate_hz:g} asked', remedy)
    if not told['has_lens']:
        remedy = '`structrl calibrate intrinsics`, then intrinsics: FILE in its parameters'
        return Finding(subject, State.DOUBTFUL, f'{detail}, without intrinsics', remedy)
    return Finding(subject, State.GOOD, detail)
