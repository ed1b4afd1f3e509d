"""What a full /dev/shm does to ROS, told in a line before it happens."""

from __future__ import annotations

import shutil
from pathlib import Path

import typer

from structrl_ros.errors import ParameterError

#: Commands that load ROS in this process.
WITH_ROS = ('up', 'run', 'reset', 'demo', 'replay', 'console', 'overlay')
SHARED_MEMORY = Path('/dev/shm')
#: Bytes without which the tracing library of ROS gets SIGBUS while it is loaded.
LEAST_BYTES = 64 * 1024


def refuse_full_shared_memory(context: typer.Context) -> None:
    """Refuse a command that would be killed without a word.

    Between this and the 32 MiB a node that Fast DDS asks for, messages go over UDP.

    Raises:
        ParameterError: If /dev/shm has no room left.
    """
    if context.invoked_subcommand not in WITH_ROS or not SHARED_MEMORY.is_dir():
        return
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free < LEAST_BYTES:
        raise ParameterError(
            f'{SHARED_MEMORY} is full ({free // 1024} KiB left): ROS would be killed by SIGBUS; '
            'remove what lies there, or enlarge it: mount -o remount,size=1G /dev/shm'
        )
