"""Where ROS keeps its own log files, also where the home of the user cannot be written."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def ensure_log_directory() -> None:
    """Have ROS log to a temporary folder, and say so in one line, if it could not start else.

    To be called before `rclpy.init`: that ends in an error where `~/.ros/log` cannot be made, as
    for a user of a container without a home. `ROS_LOG_DIR` and `ROS_HOME` are left alone.
    """
    if os.environ.get('ROS_LOG_DIR') or os.environ.get('ROS_HOME'):
        return
    with suppress(OSError, RuntimeError):
        place = Path.home() / '.ros' / 'log'
        place.mkdir(parents=True, exist_ok=True)
        if os.access(place, os.W_OK):
            return
    place = Path(tempfile.mkdtemp(prefix='structrl-ros-log-'))
    os.environ['ROS_LOG_DIR'] = str(place)
    sys.stderr.write(f'~/.ros/log cannot be written: the logs of ROS are in {place}\n')
