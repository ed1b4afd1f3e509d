"""What every test process gets: its own ROS domain on this machine, and one thread a library.

A test that is marked `ros`, `sim` or `torch` is skipped with a reason where that is not installed.
"""

from __future__ import annotations

import importlib.util
import os

import pytest
from hypothesis import settings

# Hypothesis repeats the same examples, and has no deadline: that would fail on a busy machine.
settings.register_profile('repeatable', deadline=None, derandomize=True, database=None)
settings.load_profile('repeatable')

_NEEDS = {
    'ros': (('rclpy', 'structrl_msgs'), 'ROS 2 wheels or installation, and structrl_msgs'),
    'sim': (('mujoco', 'robosuite', 'libero'), 'MuJoCo and LIBERO'),
    'torch': (('torch',), 'torch'),
}


def _domain() -> int:
    """Return a domain from 1 to 100 of this test process's own.

    Domains above 100 would collide with the ports that Linux hands out itself.
    """
    worker = os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw')
    run = os.getppid() if 'PYTEST_XDIST_WORKER' in os.environ else os.getpid()
    return 1 + (run * 7 + int(worker)) % 100


os.environ['ROS_DOMAIN_ID'] = str(_domain())
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
for _name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')


def _missing(modules: tuple[str, ...]) -> list[str]:
    return [name for name in modules if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, (modules, words) in _NEEDS.items():
        missing = _missing(modules)
        if not missing:
            continue
        reason = f'needs {words} (not installed: {", ".join(missing)}): make install'
        for item in items:
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))
