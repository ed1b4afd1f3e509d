"""What a wheel of structrl_msgs needs of the chosen ROS 2 distro, to build and to run.

scikit-build-core calls the two functions (dynamic metadata, see pyproject.toml). The distro is
`STRUCTRL_ROS_DISTRO`, jazzy when unset. A wheel is tied to one distro and one Python version.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

__all__ = ['dynamic_metadata', 'get_requires_for_dynamic_metadata']

VARIABLE = 'STRUCTRL_ROS_DISTRO'
GENERATORS = (
    'rosidl-default-generators',
    'rosidl-core-generators',
    'ament-cmake',
    'ament-package',
    'ament-cmake-include-directories',
    'ament-cmake-gtest',
    'ament-cmake-gmock',
    'ament-cmake-pytest',
    'ament-cmake-ros',
)
EXTRA_GENERATORS = {'jazzy': ('python-cmake-module',), 'kilted': ('ament-cmake-ros-core',)}
RUNTIME = ('rclpy', 'common-interfaces', 'rmw-fastrtps-cpp')


def _distro() -> str:
    distro = os.environ.get(VARIABLE, '') or 'jazzy'
    if distro not in EXTRA_GENERATORS:
        allowed = ', '.join(EXTRA_GENERATORS)
        raise SystemExit(f'{VARIABLE} is {distro!r}; allowed: {allowed}')
    return distro


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the run-time requirements of the wheel."""
    distro = _distro()
    return ['numpy', *(f'ros-{distro}-{name}' for name in RUNTIME)]


def get_requires_for_dynamic_metadata(settings: Mapping[str, Any]) -> list[str]:
    """Return what the isolated build needs beside pyproject.toml's list."""
    distro = _distro()
    names = (*GENERATORS, *EXTRA_GENERATORS[distro], *RUNTIME)
    return ['catkin-pkg', *(f'ros-{distro}-{name}' for name in names)]
