"""States of an arm that are no numbers, or no whole states."""

import math

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from ros_domains import claimed_domain  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from structrl_ros.control.arm_guards import guard_state  # noqa: E402
from structrl_ros.control.observation_store import ObservationStore  # noqa: E402
from structrl_ros.drivers.crisp_arm import CrispArm  # noqa: E402
from structrl_ros.drivers.crisp_settings import CrispSettings  # noqa: E402
from structrl_ros.drivers.fci_settings import StreamSettings  # noqa: E402
from structrl_ros.errors import MessageError  # noqa: E402
from structrl_ros.errors import StaleDataError  # noqa: E402
from structrl_ros.types import PolicySpec  # noqa: E402
from structrl_ros.types import Proprioception  # noqa: E402
from structrl_ros.wire.proprioception_codecs import proprioception_from_messages  # noqa: E402
from structrl_ros.wire.proprioception_codecs import proprioception_to_messages  # noqa: E402

pytestmark = pytest.mark.ros

SECOND = 1_000_000_000
NAMES = tuple(f'fr3_joint{n}' for n in range(1, 8))


def messages(stamp_ns):
    pose = np.array([0.4, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
    state = Proprioception(stamp_ns, NAMES, np.ones(7), np.zeros(7), pose, np.zeros(2))
    return proprioception_to_messages(state)


@pytest.mark.parametrize('value', [math.nan, math.inf])
@pytest.mark.parametrize('part', ['position', 'velocity', 'pose'])
def test_an_arm_whose_state_is_no_number_gives_no_chunk_and_its_last_state_grows_old(value, part):
    spec = PolicySpec('net', 'ee_delta_pose', 7, 8, (), {'proprioception': 0.1})
    store = ObservationStore(spec)
    store.clear(1, SECOND)
    good = messages(SECOND)
    store.take_proprioception(proprioception_from_messages(good.joint_states, good.ee_pose))
    bad = messages(2 * SECOND)
    if part == 'pose':
        bad.ee_pose.pose.position.x = value
    else:
        getattr(bad.joint_states, part)[3] = value
    with pytest.raises(MessageError, match=rf'{part}\[.\] is {value}; allowed: finite numbers'):
        store.take_proprioception(proprioception_from_messages(bad.joint_states, bad.ee_pose))
    with pytest.raises(StaleDataError, match=r'proprioception 1\.00 s old, limit 0\.10 s'):
        store.assemble(2 * SECOND)


@pytest.mark.parametrize(
    'fault',
    [
        {'position': [0.1, 0.2, math.nan, 0.4, 0.5, 0.6, 0.7]},
        {'velocity': [math.inf] * 7},
        {'position': [0.1, 0.2]},
        {'velocity': [0.0]},
        {'name': ['other'] * 7},
    ],
    ids=['nan', 'infinite velocity', 'short', 'short velocity', 'other names'],
)
def test_joint_states_that_are_none_are_never_taken_for_the_arms_and_the_arm_stops(fault):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=claimed_domain())
    node = rclpy.create_node('driver', context=context)
    try:
        stream = StreamSettings(waypoint_period_s=0.05)
        arm = CrispArm(node, CrispSettings(stream=stream, joint_names=NAMES))
        whole = {'name': list(NAMES), 'position': [0.0] * 7, 'velocity': [0.0] * 7}
        arm._hear(JointState(**{**whole, **fault}))
        assert arm.state() is None
        assert math.isinf(arm.age_s)
        arm._hear(JointState(**whole))
        before_s = arm._came_s
        arm._hear(JointState(**{**whole, **fault}))
        assert arm._came_s == before_s
        assert np.array_equal(arm.state().position, np.zeros(7))
        objection = guard_state(arm.state, lambda: arm.age_s + 1.0, limit_s=0.1)()
        assert objection.stops
        assert 'state of the arm' in objection.why
    finally:
        node.destroy_node()
        context.try_shutdown()
