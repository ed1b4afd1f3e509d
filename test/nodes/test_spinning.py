"""Executors of nodes: a callback is given to a thread once."""

import threading
import time

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from ros_domains import claimed_domain

from structrl_ros.nodes import spinning
from structrl_ros.nodes.spinning import BEGIN_S
from structrl_ros.nodes.spinning import PromptExecutor
from structrl_ros.nodes.spinning import PromptPool

pytestmark = pytest.mark.ros
TICKS = 20


def test_a_free_thread_has_begun_before_submit_returns(monkeypatch):
    monkeypatch.setattr(spinning, 'BEGIN_S', 30.0)
    with PromptPool(1) as pool:
        for _ in range(50):
            future = pool.submit(time.sleep, 0.0)
            assert future.running() or future.done()
            future.result()


def test_submit_to_busy_threads_returns_and_the_work_is_done_later():
    release, done = threading.Event(), threading.Event()
    with PromptPool(1) as pool:
        pool.submit(release.wait, 30.0)
        start = time.monotonic()
        pool.submit(done.set)
        waited = time.monotonic() - start
        assert not done.is_set()
        release.set()
    assert done.is_set()
    assert BEGIN_S <= waited < 10.0


def test_result_and_error_of_the_work_come_back():
    with PromptPool(1) as pool:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 7, 0).result()


@pytest.fixture
def executor():
    """A prompt executor whose pool counts what it is given, on a domain of its own."""
    rclpy.init(domain_id=claimed_domain('spinning'))
    executor = PromptExecutor(4)
    yield executor
    executor.shutdown(timeout_sec=5.0)
    rclpy.shutdown()


def test_executor_submits_a_callback_once(executor, monkeypatch):
    submitted, called = [], []
    submit = PromptPool.submit

    def count(pool, work, /, *args, **kwargs):
        submitted.append(work)
        return submit(pool, work, *args, **kwargs)

    monkeypatch.setattr(PromptPool, 'submit', count)
    node = rclpy.create_node('ticking')
    node.create_timer(0.02, lambda: called.append(1), callback_group=ReentrantCallbackGroup())
    executor.add_node(node)
    end = time.monotonic() + 60.0
    while len(called) < TICKS and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    assert len(called) >= TICKS
    assert len(submitted) < 2 * len(called)
    executor.remove_node(node)
    node.destroy_node()
