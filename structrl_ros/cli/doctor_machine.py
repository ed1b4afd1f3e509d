"""`structrl doctor`: what this machine has, from shared memory to cameras."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor import is_not_installed
from structrl_ros.cli.doctor import probe
from structrl_ros.naming import counted

#: Where Linux puts devices, and memory that processes share.
DEVICES = Path('/dev')
SHARED_MEMORY = Path('/dev/shm')
#: Commands of the browser that tests of pages look for.
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
#: Free space below which images (MiB) or a run (GiB) do not fit.
LEAST_SHARED_MIB = 128
LEAST_DISK_GIB = 1


def shared_memory() -> Finding:
    """Look at the room for images on their way."""
    if not SHARED_MEMORY.exists():
        return Finding('Shared memory', State.OPTIONAL, 'no /dev/shm: images go over UDP')
    free = shutil.disk_usage(SHARED_MEMORY).free // 2**20
    good = free >= LEAST_SHARED_MIB
    remedy = 'empty /dev/shm or enlarge it: mount -o remount,size=1G /dev/shm (docker: --shm-size)'
    state = State.GOOD if good else State.MISSING
    detail = f'{free} MiB free in /dev/shm'
    return Finding('Shared memory', state, detail, '' if good else remedy)


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


def rendering() -> Finding:
    """Draw a picture, by EGL or else by OSMesa."""
    tried = []
    for backend in ('egl', 'osmesa'):
        surroundings = {'MUJOCO_GL': backend, 'PYOPENGL_PLATFORM': backend}
        good, line = probe(_RENDER, environment=surroundings)
        if good:
            return Finding('Rendering', State.GOOD, f'{backend}: {line}')
        if is_not_installed(line, 'mujoco'):
            detail = 'mujoco is not installed: bodies libero and tabletop need it'
            remedy = '`.venv/bin/pip install -r requirements/libero.txt`'
            return Finding('Rendering', State.OPTIONAL, detail, remedy)
        tried.append(f'{backend}: {line}')
    remedy = '`apt-get install libegl1 libgl1 libosmesa6`'
    return Finding('Rendering', State.MISSING, '; '.join(tried), remedy)


def gpu() -> Finding:
    """Ask for the name of a GPU."""
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
    line = (done.stdout or done.stderr).strip().splitlines()[:1] or ['nvidia-smi says nothing']
    if done.returncode == 0:
        return Finding('GPU', State.GOOD, line[0])
    remedy = 'start this machine anew after an update of the driver, or install it again'
    return Finding('GPU', State.DOUBTFUL, f'networks run on the CPU: {line[0]}', remedy)


def cameras() -> Finding:
    """Count cameras."""
    video = sorted(path.name for path in DEVICES.glob('video*'))
    parts = [counted(len(video), 'video device') if video else f'no {DEVICES}/video*']
    code = 'import pyrealsense2 as r; print(len(r.context().devices), "RealSense cameras")'
    good, line = probe(code)
    missing = is_not_installed(line, 'pyrealsense2')
    parts.append('pyrealsense2 not installed' if missing else line)
    found = bool(video) or (good and not line.startswith('0 '))
    remedy = 'only for real cameras: plug one in, `pip install -r requirements/sensors.txt`'
    state = State.GOOD if found else State.OPTIONAL
    return Finding('Cameras', state, ', '.join(parts), '' if found else remedy)


def disk() -> Finding:
    """Look at the room for recordings."""
    free = shutil.disk_usage('.').free / 2**30
    good = free > LEAST_DISK_GIB
    remedy = '' if good else 'free some space: a run records 10 to 200 MB'
    state = State.GOOD if good else State.MISSING
    return Finding('Disk', state, f'{free:.0f} GiB free here', remedy)


def browser() -> Finding:
    """Look for the browser of the tests; pages open in any."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return Finding('Chromium', State.GOOD, found)
    detail = 'not installed: only tests of pages in a browser need it, and are skipped'
    return Finding('Chromium', State.OPTIONAL, detail, '`apt-get install chromium`')


CHECKS: tuple[Callable[[], Finding], ...] = (shared_memory, rendering, gpu, cameras, disk, browser)
