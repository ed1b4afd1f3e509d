"""The driver over topics, against a stand-in of a controller that follows its targets."""

import threading
import time

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from ros_domains import claimed_domain  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float32  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from structrl_ros.control.joint_segments import JointMotion  # noqa: E402
from structrl_ros.control.kinematics import Kinematics  # noqa: E402
from structrl_ros.control.robot_description import load_robot  # noqa: E402
from structrl_ros.drivers.crisp_arm import CrispArm  # noqa: E402
from structrl_ros.drivers.crisp_messages import target_maker  # noqa: E402
from structrl_ros.drivers.crisp_settings import CrispSettings  # noqa: E402
from structrl_ros.drivers.fci_settings import StreamSettings  # noqa: E402
from structrl_ros.drivers.franka_ros_recovery import franka_recovery  # noqa: E402
from structrl_ros.drivers.franka_ros_recovery import in_order  # noqa: E402
from structrl_ros.errors import ArmError  # noqa: E402
from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.types import ArmMode  # noqa: E402

pytestmark = pytest.mark.ros

ROBOT = load_robot('fr3')
NAMES = tuple(f'fr3_joint{n}' for n in range(1, 8))
STREAM = StreamSettings(waypoint_period_s=0.05)


def settings(**changes):
    return CrispSettings(stream=STREAM, joint_names=NAMES, **changes)


class Stack:
    """A node with the driver, and one that plays the controller: follows, publishes states."""

    def __init__(self, style='target_joint', kind=JointState, topic='target_joint'):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=claimed_domain())
        self.node = rclpy.create_node('driver', context=self.context)
        self.robot = rclpy.create_node('controller', context=self.context)
        self.is_over = self.is_pushed = False
        self.heard = []
        self.gripper = []
        self.position = ROBOT.ready.copy()
        self.robot.create_subscription(kind, topic, self.follow, 1)
        names = CrispSettings(stream=STREAM, joint_names=NAMES, style=style).gripper
        if names:
            gripper = Float32 if style == 'gello' else Float64MultiArray
            self.robot.create_subscription(gripper, names, self.gripper.append, 1)
        self.states = self.robot.create_publisher(JointState, 'joint_states', 5)
        self.robot.create_timer(0.02, self.publish)
        self.executor = SingleThreadedExecutor(context=self.context)
        for node in (self.node, self.robot):
            self.executor.add_node(node)
        self.arm = CrispArm(self.node, settings(style=style))
        self.thread = threading.Thread(target=self.spin, daemon=True)
        self.thread.start()

    def spin(self):
        while not self.is_over:
            self.executor.spin_once(timeout_sec=0.02)

    def follow(self, message):
        self.heard.append(message)
        if isinstance(message, JointState) and not self.is_pushed:
            self.position = np.array(message.position)

    def publish(self):
        names = [*reversed(NAMES), 'finger_joint1']
        positions = [*self.position[::-1], 0.04]
        message = JointState(name=names, position=positions, velocity=[0.0] * 8)
        message.header.stamp = self.robot.get_clock().now().to_msg()
        self.states.publish(message)

    def wait(self, true, what, limit=20.0):
        end = time.monotonic() + limit
        while not (value := true()):
            assert time.monotonic() < end, f'no {what} within {limit} s'
            time.sleep(0.01)
        return value

    def close(self):
        self.arm.close()
        self.is_over = True
        self.thread.join(5.0)
        self.executor.shutdown()
        for node in (self.node, self.robot):
            node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def stack():
    stack = Stack()
    yield stack
    stack.close()


def ready(stack):
    stack.wait(lambda: stack.arm.age_s < 0.1, 'young state')
    assert np.allclose(stack.arm.state().position, ROBOT.ready), 'by name, whatever the order'


def test_nothing_is_sent_before_control_begins(stack):
    ready(stack)
    time.sleep(0.2)
    assert stack.heard == []
    assert stack.arm.state().mode is ArmMode.IDLE


def test_targets_follow_the_waypoints_within_the_limits(stack):
    ready(stack)
    ticks = []

    def tick():
        ticks.append(time.monotonic())
        stack.arm.follow(ROBOT.ready + 0.2)

    stack.arm.start(tick)
    stack.wait(lambda: np.allclose(stack.position, ROBOT.ready + 0.2, atol=1e-6), 'goal')
    positions = np.array([message.position for message in stack.heard])
    steps = np.abs(np.diff(positions, axis=0))
    assert steps.max() <= STREAM.limits().velocity.max() * 0.01 * 3.0, (
        'at most two lost on the way'
    )
    assert len(ticks) >= 4
    assert tuple(stack.heard[0].name) == NAMES
    assert np.allclose(stack.heard[0].position, ROBOT.ready, atol=1e-3)


def test_second_publisher_refuses_the_start(stack):
    ready(stack)
    other = stack.robot.create_publisher(JointState, 'target_joint', 1)
    stack.wait(lambda: stack.node.count_publishers('target_joint') == 2, 'second publisher')
    with pytest.raises(ArmError, match=r'2 publishers on /target_joint \(/controller, /driver\)'):
        stack.arm.start(lambda: None)
    stack.robot.destroy_publisher(other)
    stack.wait(lambda: stack.node.count_publishers('target_joint') == 1, 'single publisher')
    stack.arm.start(lambda: None)


def test_second_publisher_stops_an_arm_that_moves(stack):
    ready(stack)
    refused, sent = [], []

    def tick():
        try:
            stack.arm.follow(ROBOT.ready + 0.004 * len(sent))
            sent.append(1)
        except ArmError as error:
            refused.append(str(error))

    stack.arm.start(tick)
    stack.wait(lambda: len(stack.heard) > 10, 'targets')
    stack.robot.create_publisher(JointState, 'target_joint', 1)
    stack.wait(lambda: stack.arm.complaint, 'complaint')
    assert '2 publishers' in stack.arm.complaint
    stack.wait(lambda: refused, 'refusal of the waypoint')
    stack.wait(lambda: stack.arm.state().is_still, 'standstill')
    place = stack.position.copy()
    time.sleep(0.3)
    assert np.array_equal(stack.position, place)


def test_without_joint_states_there_is_no_start():
    stack = Stack(topic='nothing')
    try:
        stack.executor.remove_node(stack.robot)
        with pytest.raises(ArmError, match='no joint states of fr3_joint1'):
            stack.arm.start(lambda: None)
    finally:
        stack.close()


@pytest.mark.parametrize(
    ('style', 'kind', 'topic', 'closed', 'opened'),
    [
        ('target_pose', PoseStamped, 'target_pose', 0.0, 0.04),
        ('gello', JointState, 'gello/joint_states', 0.0, 1.0),
        ('joint_trajectory', JointTrajectory, 'fr3_arm_controller/joint_trajectory', None, None),
    ],
)
def test_each_style_speaks_the_messages_of_its_controller(style, kind, topic, closed, opened):
    stack = Stack(style, kind, topic)
    try:
        ready(stack)
        stack.arm.start(lambda: stack.arm.follow(ROBOT.ready + 0.05))
        stack.wait(lambda: len(stack.heard) > 60, 'targets')
        last = stack.heard[-1]
        if style == 'target_pose':
            pose = Kinematics(ROBOT).pose(stack.arm.state().reference)
            assert abs(last.pose.position.x - pose[0]) < 0.02
            assert last.header.frame_id == 'base'
        elif style == 'joint_trajectory':
            assert tuple(last.joint_names) == NAMES
            assert np.allclose(last.points[0].positions, ROBOT.ready + 0.05, atol=0.02)
            assert last.points[0].time_from_start.nanosec == 20_000_000
        for is_closed, value in ((True, closed), (False, opened)):
            before = len(stack.gripper)
            stack.arm.grip(is_closed)
            if value is None:
                continue
            stack.wait(lambda before=before: len(stack.gripper) > before, 'gripper command')
            data = stack.gripper[-1].data
            assert (data if style == 'gello' else data[0]) == pytest.approx(value)
    finally:
        stack.close()


def test_trajectory_leads_by_the_time_of_its_point():
    make = target_maker(settings(style='joint_trajectory'), Kinematics(ROBOT))
    motion = JointMotion(ROBOT.ready, np.full(7, 0.5), np.zeros(7))
    point = make(motion, 0).points[0]
    assert np.allclose(point.positions, ROBOT.ready + 0.5 * 0.02)


def test_reflex_is_recovered_in_three_ordered_steps_and_the_target_seeded_anew(stack):
    ready(stack)
    done = []
    stack.arm._recovery = in_order([(name, lambda name=name: done.append(name)) for name in 'abc'])
    stack.arm.start(lambda: None)
    stack.arm.note_mode(ArmMode.REFLEX, ('cartesian_reflex',))
    assert stack.arm.state().mode is ArmMode.REFLEX
    assert stack.arm.state().errors == ('cartesian_reflex',)
    stack.is_pushed, stack.position = True, ROBOT.ready + 0.1
    stack.wait(lambda: np.allclose(stack.arm.state().position, ROBOT.ready + 0.1), 'new state')
    stack.arm.note_mode(ArmMode.IDLE, ())
    stack.arm.recover()
    assert done == ['a', 'b', 'c']
    assert np.allclose(stack.arm.state().reference, ROBOT.ready + 0.1)


def test_recovery_stops_at_the_step_that_fails_and_names_it():
    done = []

    def fail():
        raise ArmError('no answer within 10 s')

    steps = [
        ('first', lambda: done.append(1)),
        ('second', fail),
        ('third', lambda: done.append(3)),
    ]
    with pytest.raises(ArmError, match="failed at 'second': no answer"):
        in_order(steps)()
    assert done == [1]


def test_missing_packages_of_franka_ros2_are_named(stack):
    with pytest.raises(ArmError, match=r'_msgs is not installed: source the ROS 2 workspace'):
        franka_recovery(stack.node, controller='joint_impedance', hardware='Franka')


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'style': 'shouting'}, 'allowed: target_joint, target_pose, gello, joint_trajectory'),
        ({'joint_names': ('a', 'b')}, 'allowed: 7 different ones'),
        ({'command_rate_hz': 5.0}, 'allowed: 20 to 1000'),
    ],
)
def test_settings_that_are_not_allowed_are_refused(changes, words):
    with pytest.raises(ParameterError, match=words):
        CrispSettings(**{'stream': STREAM, 'joint_names': NAMES, **changes})
