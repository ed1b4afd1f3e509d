"""A video does not change who goes first on the machine."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('av')

from structrl_ros.recording.lerobot.scheduling import no_real_time
from structrl_ros.recording.lerobot.videos import VideoWriter


def real_time():
    """Return the threads of this process that are not scheduled as usual."""
    found = set()
    for task in Path('/proc/self/task').iterdir():
        with suppress(OSError):  # a thread that has ended since
            if os.sched_getscheduler(int(task.name)) != os.SCHED_OTHER:
                found.add(int(task.name))
    return found


@pytest.fixture
def watched():
    """The real-time threads that a second thread saw while the test ran."""
    seen, is_over = set(), threading.Event()

    def watch():
        while not is_over.is_set():
            seen.update(real_time())

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield seen
    is_over.set()
    watcher.join()


@pytest.mark.parametrize('codec', ['av1', 'h264'])
def test_no_thread_is_real_time_while_a_video_is_written_or_after(tmp_path, codec, watched):
    before = real_time()
    for number in range(3):
        writer = VideoWriter(tmp_path / str(number), 'observation.images.head', 10, codec)
        for level in range(8):
            writer.add(np.full((64, 64, 3), 30 * level, np.uint8))
        writer.end_episode()
        writer.close()
    assert real_time() == before
    assert watched <= before


def may_be_real_time():
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def test_the_right_is_gone_in_the_block_and_back_after_it():
    if not may_be_real_time():
        pytest.skip('this user may not make a process real-time anyhow')
    with no_real_time():
        assert not may_be_real_time()
        told = []
        thread = threading.Thread(target=lambda: told.append(may_be_real_time()))
        thread.start()
        thread.join()
        assert told == [False]
    with pytest.raises(ZeroDivisionError), no_real_time():
        _ = 1 / 0
    assert may_be_real_time()
