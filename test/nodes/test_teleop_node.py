"""teleop_node on the kinematic body: processes of their own, real Fast DDS."""

import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import PUBLISHED  # noqa: E402
from body_harness import RIGHT  # noqa: E402
from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402
from geometry_msgs.msg import TwistStamped  # noqa: E402
from sensor_msgs.msg import Joy  # noqa: E402

from structrl_ros.params.graph import load_graph  # noqa: E402
from structrl_ros.sim.registry import BODIES  # noqa: E402
from structrl_ros.sim.registry import make_body  # noqa: E402
from structrl_ros.types import ActionChunk  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Intervention  # noqa: E402
from structrl_ros.types import Safety  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.chunk_codecs import intervention_from_message  # noqa: E402

pytestmark = pytest.mark.ros

SOUP = 'kinematic/soup_in_basket'


@pytest.mark.parametrize('body', BODIES)
def test_the_graph_gives_teleop_the_rate_of_the_body(body):
    pytest.importorskip('mujoco')
    graph = load_graph('deploy', {'body': body, 'teleop': 'true'})
    node = next(node for node in graph.nodes if node.name == 'teleop_node')
    made = make_body(body)
    assert node.parameters['control_rate_hz'] == made.spec.control_rate_hz
    made.close()


class Operator:
    """A hand on a gamepad: says again and again what it holds, as the node `joy` does."""

    def __init__(self, client):
        self.client = client
        self.axes, self.buttons = [0.0] * 8, [0] * 8
        self.release()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._say, daemon=True)
        self._thread.start()

    def press(self, forward=0.0, close=False):
        self.axes[1], self.axes[5], self.buttons[0] = forward, -1.0, int(close)

    def release(self):
        self.axes[1], self.axes[5], self.buttons[0] = 0.0, 1.0, 0

    def unplug(self):
        self._ended.set()
        self._thread.join()

    def _say(self):
        publisher = self.client.publishers[topics.TELEOP_JOY]
        while not self._ended.wait(0.02):
            publisher.publish(Joy(axes=list(self.axes), buttons=list(self.buttons)))


def bring_up(number, *, lockstep):
    client = Client(
        domain(number),
        also={topics.INTERVENTION: intervention_from_message},
        publishes=(*PUBLISHED, topics.TELEOP_JOY, topics.TELEOP_TWIST),
    )
    body = start_node('sim_node', domain(number), body='kinematic', task=SOUP, lockstep=lockstep)
    teleop = start_node(
        *('teleop_node', domain(number)),
        **{
            'control_rate_hz': 20.0,
            'lockstep': lockstep,
            'translation': 1.0,
            'use_sim_time': True,
        },
    )
    try:
        client.ready()
        joy = client.publishers[topics.TELEOP_JOY]
        client.wait(joy.get_subscription_count, 'teleop_node')
        yield client
    finally:
        ends = [end_node(process) for process in (teleop, body)]
        client.close()
    for status, log in ends:
        assert status == 0, log
        assert 'Traceback' not in log


@pytest.fixture(scope='module')
def live():
    yield from bring_up(0, lockstep=False)


@pytest.fixture(scope='module')
def lockstep():
    yield from bring_up(1, lockstep=True)


@pytest.fixture
def hand(live):
    live.reset()
    operator = Operator(live)
    yield operator
    operator.release()
    live.wait(lambda: not taken(live), 'a release')
    operator.unplug()


def taken(client):
    found = client.all(Intervention)
    return bool(found) and found[-1].active


def moved(client, since):
    """Return the displacements that were executed in chunks done after a moment, (N, 7)."""
    rows = [d.executed for d in client.all(ChunkDone)[since:] if d.executed.size]
    return np.concatenate(rows) if rows else np.zeros((0, 7))


def test_a_press_drops_the_policys_chunk_and_the_hand_moves_the_arm(live, hand):
    time.sleep(0.3)  # the switch is seen released
    live.send(1, np.tile(RIGHT[:1], (40, 1)))
    done = len(live.all(ChunkDone))
    hand.press(forward=1.0)
    live.wait(lambda: taken(live), 'a takeover')
    live.wait(lambda: len(live.all(ChunkDone)) > done, 'the chunk that was cut')
    assert live.all(ChunkDone)[done].executed_steps < 40
    mine = len(live.all(ChunkDone))
    live.wait(lambda: len(moved(live, mine)) > 10, 'motion of the hand')
    rows = moved(live, mine)
    assert np.median(rows[:, 0]) > 0.5
    assert np.abs(rows[3:, 1]).max() < 1e-3  # nothing of the policy's is left
    assert live.last(Intervention).device == 'gamepad'
    live.send(900)
    time.sleep(0.3)
    assert all(chunk.chunk < 900 for chunk in live.all(ChunkDone))


def test_after_the_release_the_policy_is_let_in_again(live, hand):
    time.sleep(0.3)
    hand.press(forward=0.5)
    live.wait(lambda: taken(live), 'a takeover')
    hand.release()
    live.wait(lambda: not taken(live), 'a release')
    live.wait(live.is_holding, 'the arm holds')
    done = len(live.all(ChunkDone))
    number = max(c.chunk for c in live.all(ActionChunk) if c.episode == live.episode.episode)
    live.send(number + 1)
    live.wait(lambda: len(moved(live, done)) == 8, 'the chunk of the policy')
    assert np.abs(moved(live, done)[:, 1]).min() > 0.1


def test_a_device_that_is_unplugged_holds_the_arm_and_does_not_run_on(live):
    live.reset()
    operator = Operator(live)
    time.sleep(0.3)
    before = len(live.all(ChunkDone))
    operator.press(forward=1.0)
    live.wait(lambda: taken(live), 'a takeover')
    live.wait(lambda: len(moved(live, before)) >= 3, 'motion of the hand')
    operator.unplug()
    live.wait(live.is_holding, 'the arm holds')
    time.sleep(0.5)  # longer than silence_s and the rows that were on their way
    done = len(live.all(ChunkDone))
    time.sleep(0.5)
    assert not len(moved(live, done))
    assert live.is_holding()
    assert taken(live)  # the policy stays out until somebody lets go
    other = Operator(live)
    other.release()
    live.wait(lambda: not taken(live), 'a release')
    other.unplug()


def test_a_press_that_is_held_through_a_reset_moves_nothing(live, hand):
    time.sleep(0.3)
    hand.press(forward=1.0)
    live.wait(lambda: taken(live), 'a takeover')
    live.reset()
    live.wait(lambda: not taken(live), 'the takeover ends')
    done = len(live.all(ChunkDone))
    time.sleep(0.5)
    assert not len(moved(live, done))
    assert not taken(live)


def test_buttons_reset_and_stop(live, hand):
    number = live.episode.episode
    hand.buttons[3] = 1
    live.wait(lambda: live.episode.episode == number + 1, 'a reset by the button')
    hand.buttons[3] = 0
    hand.buttons[2] = 1
    live.wait(lambda: live.last(Safety).state.is_latched, 'a stop by the button')
    hand.buttons[2] = 0
    time.sleep(0.1)
    live.stop(False)
    live.reset()
    assert len([e for e in live.all(Episode) if not e.ended]) >= 2


def test_velocities_move_the_arm_until_they_are_zero(live):
    live.reset()
    publisher = live.publishers[topics.TELEOP_TWIST]
    twist = TwistStamped()
    for velocity, count in ((0.0, 5), (0.4, 30), (0.0, 5)):
        twist.twist.linear.y = velocity
        for _ in range(count):
            publisher.publish(twist)
            time.sleep(0.02)
    live.wait(lambda: not taken(live) and live.all(Intervention), 'a release')
    assert live.last(Intervention).device == 'twist'
    rows = moved(live, 0)
    assert rows[:, 1].max() == pytest.approx(0.4 / (0.05 * 20.0), abs=0.02)


def test_in_lockstep_every_row_is_the_hands(lockstep):
    operator = Operator(lockstep)
    time.sleep(0.3)
    operator.press(forward=0.8, close=True)
    lockstep.wait(lambda: len(moved(lockstep, 0)) >= 5, 'five rows')
    operator.release()
    lockstep.wait(lambda: not taken(lockstep), 'a release')
    operator.unplug()
    rows = moved(lockstep, 0)
    assert (rows[1:, 0] > 0.5).all()
    assert rows[-1, 6] == 1.0
    chunks = [c for c in lockstep.all(ActionChunk) if c.source == 'teleop']
    assert {len(c.actions) for c in chunks} == {1}
    assert [c.chunk for c in chunks] == sorted({c.chunk for c in chunks})
