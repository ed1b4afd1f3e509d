"""A video does not change who goes first on the machine."""

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('av')

from structrl_ros.recording.lerobot.scheduling import own_priority
from structrl_ros.recording.lerobot.videos import VideoWriter


def real_time():
    """Return the threads of this process that are not scheduled as usual."""
    found = set()
    for task in Path('/proc/self/task').iterdir():
        with suppress(OSError):  # a thread that has ended since
            if os.sched_getscheduler(int(task.name)) != os.SCHED_OTHER:
                found.add(int(task.name))
    return found


@pytest.mark.parametrize('codec', ['av1', 'h264'])
def test_no_thread_is_real_time_after_a_video(tmp_path, codec):
    before = real_time()
    for number in range(2):
        writer = VideoWriter(tmp_path / str(number), 'observation.images.head', 10, codec)
        for level in range(4):
            writer.add(np.full((64, 64, 3), 40 * level, np.uint8))
            assert real_time() <= before
        writer.end_episode()
        writer.close()
        assert real_time() <= before


def test_what_a_block_changes_is_set_back():
    if os.geteuid() != 0:
        pytest.skip('only root may change it')
    before = os.sched_getscheduler(0)
    try:
        with own_priority():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip('not allowed on this machine')
    assert os.sched_getscheduler(0) == before
