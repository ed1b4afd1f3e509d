"""console_node on a body in a process of its own: what it hears, and what its buttons do."""

import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

sys.path.insert(0, str(Path(__file__).parent))

from body_harness import Client
from body_harness import domain
from body_harness import end_node
from body_harness import start_node
from std_srvs.srv import SetBool

from structrl_ros.console.history import Cursor
from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.errors import ParameterError
from structrl_ros.nodes.console_link import ConsoleLink
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.chunk_codecs import intervention_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos

pytestmark = pytest.mark.ros
LIMIT_S = 60.0
DOMAIN = 'console'


class Desk:
    """A console's node with its state and shelf."""

    def __init__(self, domain_id, namespace=''):
        self.state, self.shelf = LiveState(), PictureShelf()
        self.link = ConsoleLink(self.state, self.shelf, namespace=namespace, domain_id=domain_id)
        self.link.__enter__()
        self.node, self.operator = self.link.node, self.link.node.operator

    @property
    def page(self):
        return self.state.document(Cursor())[0]

    def wait(self, true, what):
        end = time.monotonic() + LIMIT_S
        while not (value := true()):
            assert time.monotonic() < end, f'{what}; the page says {self.page}'
            time.sleep(0.01)
        return value

    def wait_for_safety(self, state):
        self.wait(
            lambda: (s := self.state.newest(Safety)) is not None and s.state is state, state.name
        )

    def close(self):
        self.link.__exit__(None, None, None)


@pytest.fixture(scope='module')
def body():
    process = start_node('sim_node', domain(DOMAIN), body='kinematic')
    yield process
    end_node(process)


@pytest.fixture
def desk(body):
    desk = Desk(domain(DOMAIN))
    desk.wait(lambda: desk.state.newest(Episode) is not None, 'an episode')
    desk.wait(lambda: desk.page['reasons'].get('new_episode') == '', 'the services of the body')
    yield desk
    desk.close()


@pytest.fixture
def opened():
    """Desks, clients and processes of a test's own, closed whatever happens."""
    things = []
    yield things
    for thing in reversed(things):
        thing.close()


def answered(future):
    return future.result(timeout=LIMIT_S)


def test_the_page_shows_the_body_its_episode_and_that_it_lives(desk):
    desk.wait(lambda: desk.page['graph']['state'] == 'alive', 'a body that is alive')
    page = desk.page
    assert page['episode']['body'] == 'kinematic'
    assert page['graph']['present']['body']
    assert not page['graph']['present']['planner']
    assert page['roles']


def test_cameras_are_subscribed_to_while_somebody_looks_and_not_longer(desk):
    role = desk.wait(lambda: desk.page['roles'], 'a camera')[0]
    topic = topics.image_topic(role)
    assert desk.node.count_subscribers(topic) == 0
    desk.shelf.look('a browser', [role])
    desk.wait(lambda: desk.shelf.number(role) > 2, 'pictures')
    assert desk.shelf.newest(role).jpeg[:2] == b'\xff\xd8'
    desk.shelf.look('a browser', [])
    desk.wait(lambda: desk.node.count_subscribers(topic) == 0, 'the end of the subscription')


def test_an_emergency_stop_latches_until_it_is_reset(desk):
    assert desk.page['reasons']['reset_safety'] == 'no stop is latched'
    stopped = answered(desk.operator.emergency_stop())
    assert stopped.is_done, stopped.message
    desk.wait_for_safety(SafetyState.EMERGENCY)
    desk.wait(lambda: desk.page['reasons']['reset_safety'] == '', 'a reset that is possible')
    assert 'reset the stop' in desk.page['reasons']['run']
    assert desk.page['control']['who'] == 'nobody'
    assert answered(desk.operator.reset_safety()).is_done
    desk.wait_for_safety(SafetyState.HOLD)


def test_a_new_episode_keeps_task_seed_and_state(desk):
    before = desk.state.newest(Episode)
    answer = answered(desk.operator.new_episode())
    assert answer.is_done, answer.message
    desk.wait(lambda: desk.state.newest(Episode).episode > before.episode, 'a new episode')
    after = desk.state.newest(Episode)
    assert (after.task, after.seed, after.initial_state) == (
        before.task,
        before.seed,
        before.initial_state,
    )


def test_a_takeover_is_shown_and_ended_for_body_and_policy_to_hear(desk, opened):
    assert not answered(desk.operator.release_takeover()).is_done
    client = Client(
        domain(DOMAIN), 'teleop', also={topics.INTERVENTION: intervention_from_message}
    )
    opened.append(client)
    taken = Intervention(1, 1, True, 'spacemouse', np.zeros(7, np.float32))
    publisher = client.publishers[topics.INTERVENTION]
    client.wait(lambda: publisher.get_subscription_count() >= 3, 'body, console, client', LIMIT_S)
    publisher.publish(intervention_to_message(taken))
    desk.wait(lambda: desk.page['control']['takeover'], 'the takeover')
    desk.wait(lambda: desk.page['reasons']['release_takeover'] == '', 'a button that works')
    assert answered(desk.operator.release_takeover()).is_done
    released = client.wait(
        lambda: [h for h in client.all(Intervention) if not h.active], 'the release', LIMIT_S
    )
    assert released[0].device == 'console'
    desk.wait(lambda: not desk.page['control']['takeover'], 'no takeover')


def test_what_has_no_server_says_so_and_changes_nothing(desk):
    reasons = desk.page['reasons']
    assert 'no evaluation' in reasons['mark']
    assert 'no recorder' in reasons['record']
    assert 'no planner' in reasons['run']
    for future in (
        desk.operator.mark(True),
        desk.operator.record(True),
        desk.operator.run('go', 0.0),
        desk.operator.cancel(),
    ):
        assert not answered(future).is_done


def test_a_mark_reaches_whoever_serves_it_with_the_persons_word(desk, opened):
    client = Client(domain(DOMAIN), 'evaluation')
    opened.append(client)
    marks = []

    def mark(request, response):
        marks.append(request.data)
        response.success, response.message = True, 'noted'
        return response

    client.node.create_service(SetBool, topics.MARK_EPISODE, mark)
    desk.wait(lambda: desk.page['reasons']['mark'] == '', 'a button that works')
    assert answered(desk.operator.mark(False)).message == 'noted'
    assert answered(desk.operator.mark(True)).is_done
    assert marks == [False, True]


def test_an_emergency_stop_is_signalled_though_no_service_is_there(opened):
    number = domain('console alone')
    desk = Desk(number)
    client = Client(number, 'arm')
    opened += [desk, client]
    signals = []
    topic = topics.EMERGENCY_STOP_SIGNAL
    client.node.create_subscription(
        message_type(topic), topic, lambda m: signals.append(m.data), subscriber_qos(topic)
    )
    client.wait(lambda: client.node.count_publishers(topic), 'the console', LIMIT_S)
    desk.wait(lambda: desk.operator._signal.get_subscription_count(), 'the arm')
    desk.wait(lambda: desk.page['reasons'].get('emergency_stop') == '', 'a button that works')
    answer = answered(desk.operator.emergency_stop())
    assert not answer.is_done  # the signal has no answer: nobody confirms the stop
    client.wait(lambda: signals, 'the signal', LIMIT_S)
    assert signals == [True]


def test_a_namespace_is_one_arm_and_the_other_is_not_touched(opened):
    number = domain('console namespace')
    process = start_node('sim_node', number, namespace='/right', body='kinematic')
    desk, other = Desk(number, 'right'), Desk(number, 'left')
    opened += [desk, other]
    desk.wait(lambda: desk.state.newest(Episode) is not None, 'an episode')
    desk.wait(lambda: desk.page['reasons'].get('new_episode') == '', 'the services of the body')
    assert not answered(other.operator.emergency_stop()).is_done
    assert answered(desk.operator.emergency_stop()).is_done
    desk.wait_for_safety(SafetyState.EMERGENCY)
    assert other.page['episode'] is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    desk.wait(lambda: desk.page['graph']['state'] != 'alive', 'a body that is dead')


def test_a_namespace_that_is_none_is_refused():
    with pytest.raises(ParameterError, match='no name'):
        Desk(domain('console'), 'no name')
