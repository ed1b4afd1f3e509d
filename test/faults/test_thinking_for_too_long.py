"""A policy that thinks for longer than its chunk lasts, or never answers."""

import threading
import time

import numpy as np
import pytest

from structrl_ros.nodes.policy_driver import DriverPorts
from structrl_ros.nodes.policy_driver import PolicyDriver
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import PolicySpec
from structrl_ros.types import Proprioception
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

SECOND = 1_000_000_000
GRASP = Subtask('grasp(cup)', 'grasp the cup', 'grasp', ('cup',), 0)


class Thinker:
    """A policy of chunks of 50 ms that answers when it is let."""

    spec = PolicySpec('thinker', 'ee_delta_pose', 7, 1, (), {})

    def __init__(self):
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def reset(self, episode):
        pass

    def act(self, observation, subtask, instruction):
        self.asked.set()
        assert self.may_answer.wait(60.0)
        return np.zeros((1, 7), np.float32)

    def close(self):
        pass


class Standing:
    def now_ns(self):
        return SECOND


def wait(true, what):
    end = time.monotonic() + 60.0
    while not (value := true()):
        assert time.monotonic() < end, f'no {what} within 60 s'
        time.sleep(0.005)
    return value


@pytest.fixture
def driven():
    """Return a function that starts a driver in real time or lock-step with a thinker."""
    drivers = []

    def start(lockstep):
        policy, sent = Thinker(), []
        ports = DriverPorts(
            make_policy=lambda body: policy,
            on_policy=lambda spec, store: None,
            publish=sent.append,
            complain=lambda text: None,
            clock=Standing(),
        )
        driver = PolicyDriver(ports, lockstep=lockstep, replan_steps=1)
        drivers.append((driver, policy))
        driver.activate(True)
        driver.see(Plan(SECOND, 1, 'grasp the cup', (GRASP,)))
        driver.see(Episode(SECOND, 1, False, 'b', 't', '', 0, 0))
        pose = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        arm = Proprioception(SECOND, (), np.zeros(0), np.zeros(0), pose, np.zeros(2))
        with driver.lock:
            driver._requester.store.take_proprioception(arm)
        driver.see(SubtaskStatus(SECOND, 1, 0, 1, GRASP.id, (), (), ()))
        return driver, policy, sent

    yield start
    for driver, policy in drivers:
        policy.may_answer.set()
        driver.close()


def test_a_policy_that_never_answers_is_told_while_it_thinks_and_after(driven):
    driver, policy, sent = driven(lockstep=False)
    assert policy.asked.wait(60.0)
    line = wait(driver.slowness, 'word of the slow policy')
    assert line.startswith('policy thinks for ')
    assert line.endswith(' s already, its chunk lasts 0.05 s: the body holds')
    assert sent == []
    policy.may_answer.set()
    wait(lambda: sent, 'chunk')
    after = wait(lambda: 'already' not in driver.slowness() and driver.slowness(), 'last word')
    assert after.endswith(' s, its chunk lasts 0.05 s: the body holds')


def test_in_lockstep_no_policy_is_too_slow(driven):
    driver, policy, _ = driven(lockstep=True)
    assert policy.asked.wait(60.0)
    time.sleep(0.06)
    assert driver.slowness() == ''


def test_a_policy_that_cannot_be_made_is_one_line_and_the_node_goes_on():
    """A graphics card that is full, or whatever a library raises."""
    told, tries = [], []

    def make(body):
        tries.append(body)
        if len(tries) == 1:
            raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB.\nSee docs')
        return Thinker()

    driver = PolicyDriver(
        DriverPorts(
            make_policy=make,
            on_policy=lambda spec, store: None,
            publish=lambda chunk: None,
            complain=told.append,
            clock=Standing(),
        ),
        lockstep=False,
        replan_steps=1,
    )
    try:
        driver.see(Episode(SECOND, 1, False, 'b', 't', '', 0, 0))
        (line,) = told
        assert 'CUDA out of memory' in line
        assert '\n' not in line
        driver.see(Episode(2 * SECOND, 2, False, 'b', 't', '', 0, 0))
        assert tries == ['b', 'b'], 'tried again with the next episode'
        assert len(told) == 1
    finally:
        driver.close()
