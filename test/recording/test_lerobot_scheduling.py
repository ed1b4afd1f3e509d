"""A video does not change who goes first on the machine."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('av')

from structrl_ros.recording.lerobot.scheduling import own_priority
from structrl_ros.recording.lerobot.videos import VideoWriter


def policies():
    tasks = [int(task.name) for task in Path('/proc/self/task').iterdir()]
    return {os.sched_getscheduler(task) for task in tasks}


@pytest.mark.parametrize('codec', ['av1', 'h264'])
def test_no_thread_is_real_time_after_a_video(tmp_path, codec):
    before = policies()
    writer = VideoWriter(tmp_path, 'observation.images.head', 10, codec)
    for level in range(4):
        writer.add(np.full((64, 64, 3), 40 * level, np.uint8))
        assert policies() == before
    writer.end_episode()
    writer.close()
    assert policies() == before


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
