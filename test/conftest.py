"""What every test process gets: its own ROS domain on this machine, and one thread a library.

A test that is marked `ros`, `sim` or `torch` is skipped with a reason where that is not installed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / 'fakes'))

from hypothesis import settings
from ros_domains import claimed_domain

from structrl_ros.sim.tabletop.camera import prepare_graphics

# Hypothesis repeats the same examples, and has no deadline: that would fail on a busy machine.
settings.register_profile('repeatable', deadline=None, derandomize=True, database=None)
settings.load_profile('repeatable')

_NEEDS = {
    'ros': (('rclpy', 'structrl_msgs'), 'ROS 2 wheels or installation, and structrl_msgs'),
    'sim': (('mujoco', 'robosuite', 'libero'), 'MuJoCo and LIBERO'),
    'torch': (('torch',), 'torch'),
}


os.environ['ROS_DOMAIN_ID'] = str(claimed_domain())
os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
for _name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(_name, '1')


prepare_graphics()  # whichever test imports MuJoCo first in this process


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
