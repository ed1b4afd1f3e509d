"""Versions of what a run was made with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version

from structrl_ros import __version__

#: Distributions whose version can change a run or its record.
PACKAGES = (
    'structrl_msgs',
    'numpy',
    'scipy',
    'ruckig',
    'mujoco',
    'robosuite',
    'libero',
    'torch',
    'rosbags',
    'mcap',
    'ros-jazzy-rclpy',
    'ros-kilted-rclpy',
    'ros-jazzy-rmw-fastrtps-cpp',
    'ros-kilted-rmw-fastrtps-cpp',
)


def package_versions() -> dict[str, str]:
    """Return the versions of Python, the system and the packages that are installed."""
    found = {
        'structrl_ros': __version__,
        'python': platform.python_version(),
        'system': f'{platform.system()} {platform.release()} {platform.machine()}',
    }
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
