"""Claims of arm_node on the fake arm, over real topics; faults come from other processes.

Times are control periods of the node, so that a busy machine does not change them.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
sys.path.insert(0, str(Path(__file__).parent))

from arm_harness import FORWARD  # noqa: E402
from arm_harness import PERIOD_S  # noqa: E402
from arm_harness import ArmGraph  # noqa: E402
from arm_harness import ChunkDone  # noqa: E402
from arm_harness import end_policy  # noqa: E402
from arm_harness import start_policy  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import CameraInfo  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from structrl_ros.control.kinematics import Kinematics  # noqa: E402
from structrl_ros.control.robot_description import load_robot  # noqa: E402
from structrl_ros.drivers.dry_arm import DryArm  # noqa: E402
from structrl_ros.drivers.fake_arm import FakeArm  # noqa: E402
from structrl_ros.drivers.fci_settings import StreamSettings  # noqa: E402
from structrl_ros.errors import ArmError  # noqa: E402
from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.nodes.arm_node import DRY_TARGET  # noqa: E402
from structrl_ros.nodes.arm_node import ArmNode  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Intervention  # noqa: E402
from structrl_ros.types import SafetyState  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.chunk_codecs import intervention_to_message  # noqa: E402
from structrl_ros.wire.qos import message_type  # noqa: E402
from structrl_ros.wire.qos import publisher_qos  # noqa: E402

pytestmark = pytest.mark.ros

ROBOT = load_robot('fr3')
#: The claim: from a fault to the hold, in control periods.
MOST_PERIODS = 2


def graph_with(number, **parameters):
    graph = ArmGraph(number, **parameters)
    try:
        graph.ready()
        yield graph
    finally:
        graph.close()


@pytest.fixture
def graph():
    yield from graph_with(0)


@pytest.fixture
def strict():
    """The default: silence of one control period holds the arm."""
    yield from graph_with(1, heartbeat_timeout_s=0.0)


def beats(graph):
    graph.beating.set()
    return graph


def test_brain_sees_an_arm_as_it_sees_a_simulator(graph):
    episode = graph.all(Episode)[0]
    assert (episode.episode, episode.body, episode.task) == (1, 'fr3', 'manual')
    graph.keep_moving()
    done = graph.wait(lambda: graph.all(ChunkDone), 'chunk_done')[-1]
    assert done.chunk >= 1
    assert done.executed.shape[1] == 7
    assert np.abs(done.executed[:, 0]).max() > 0.0
    state = graph.states[-1]
    assert list(state.name[:7]) == [f'fr3_joint{n}' for n in range(1, 8)]
    assert list(state.name[7:]) == ['finger_joint1', 'finger_joint2']
    named = dict(graph.ear.get_topic_names_and_types())
    for topic in (topics.PREDICATES, topics.CLOCK, topics.PRIVILEGED_STATE):
        name = topic if topic.startswith('/') else f'/{topic}'
        assert name not in named or graph.ear.count_publishers(name) == 0


def test_chunk_moves_ee_as_far_as_it_says(graph):
    """What is said is what was executed: a busy machine skips rows, the arm moves less."""
    kinematics = Kinematics(ROBOT)
    start = kinematics.forward(graph.arm.state().reference)[:3, 3]
    graph.send()
    graph.wait(lambda: graph.all(ChunkDone), 'chunk_done')
    graph.come_to_rest()
    asked = sum(0.05 * done.executed[:, :3].sum(axis=0) for done in graph.all(ChunkDone))
    moved = kinematics.forward(graph.arm.state().reference)[:3, 3] - start
    assert asked[0] > 0.005
    assert np.allclose(moved, asked, atol=0.006), 'the limiter brakes after the last row'


def test_nothing_moves_without_a_heartbeat(graph):
    graph.beating.clear()
    # The arm has held for want of a heartbeat since it began: its guard says when that is so anew.
    graph.wait(graph.node.session.loop.objection, 'objection to a missing heartbeat')
    graph.wait_for(SafetyState.HOLD, 'heartbeat of who sends chunks')
    graph.send()
    time.sleep(0.3)
    assert graph.is_still()
    assert not graph.all(ChunkDone)
    graph.beating.set()
    graph.keep_moving()


def test_policy_that_is_killed_holds_the_arm_within_two_control_periods(strict):
    strict.beating.clear()
    policy = start_policy(strict.domain_id)
    try:
        strict.wait_for(SafetyState.OK, limit=60.0)
        for _ in range(3):
            strict.wait_for(SafetyState.OK)
        policy.kill()
        killed_at = strict.node.session.ticks
        strict.wait_for(SafetyState.HOLD)
        assert strict.node.session.held_at_tick - killed_at <= MOST_PERIODS
        assert strict.wait(strict.is_still, 'standstill')
    finally:
        end_policy(policy)


def test_policy_that_is_frozen_holds_the_arm_within_two_control_periods(strict):
    """SIGSTOP: no goodbye, no chunk, no heartbeat, as where a cable is pulled."""
    strict.beating.clear()
    policy = start_policy(strict.domain_id)
    try:
        strict.wait_for(SafetyState.OK, limit=60.0)
        policy.send_signal(signal.SIGSTOP)
        frozen_at = strict.node.session.ticks
        strict.wait_for(SafetyState.HOLD)
        assert strict.node.session.held_at_tick - frozen_at <= MOST_PERIODS
        policy.send_signal(signal.SIGCONT)
        strict.wait_for(SafetyState.OK, limit=60.0)
    finally:
        end_policy(policy)


def test_takeover_that_holds_nan_and_a_subtask_of_nonsense_end_no_node(graph):
    """Somebody holds the device, whatever its numbers are: the policy is refused meanwhile."""
    graph.keep_moving()
    intervention, subtask = (
        graph.ear.create_publisher(message_type(topic), topic, publisher_qos(topic))
        for topic in (topics.INTERVENTION, topics.SUBTASK)
    )
    graph.wait(intervention.get_subscription_count, 'subscription')
    graph.wait(subtask.get_subscription_count, 'subscription')
    nonsense = message_type(topics.SUBTASK)()
    nonsense.header.stamp.sec = -5
    subtask.publish(nonsense)
    taken = intervention_to_message(Intervention(1, 1, True, 'x', FORWARD[0]))
    taken.action[2] = float('nan')
    intervention.publish(taken)
    graph.wait_for(SafetyState.HOLD)
    graph.send()
    graph.wait(
        lambda: "'policy' is not allowed" in graph.node.session.loop.safety.reason, 'refusal'
    )
    taken.active = False
    intervention.publish(taken)
    graph.keep_moving()


def test_chunk_of_nan_holds_the_arm_within_two_control_periods(graph):
    graph.keep_moving()
    message = graph.send()
    message.chunk += 1
    graph.number += 1
    message.data[3] = float('nan')
    sent_at = graph.node.session.ticks
    graph.sender.chunks.publish(message)
    graph.wait_for(SafetyState.HOLD, 'chunk rejected')
    assert graph.node.session.held_at_tick - sent_at <= MOST_PERIODS
    assert 'nan' in graph.safety.reason
    graph.keep_moving()


@pytest.mark.parametrize('fault', ['frozen', 'gone'])
def test_pictures_that_do_not_change_hold_the_arm_until_they_do(fault):
    """Within two control periods after their age limit of four; 'gone' is an unplugged camera."""
    graph = ArmGraph(2, roles=['head'], max_image_age_s=4 * PERIOD_S)
    try:
        graph.wait(lambda: graph.all(Episode), 'episode')
        graph.send()
        graph.wait_for(SafetyState.HOLD, 'picture of head never came')
        assert not graph.all(ChunkDone)
        info = CameraInfo()

        def picture():
            info.header.stamp = graph.ear.get_clock().now().to_msg()
            graph.infos.publish(info)

        def picture_until_it_moves():
            end = time.monotonic() + 60.0
            while not graph.is_in(SafetyState.OK):
                assert time.monotonic() < end, graph.safety
                picture()
                graph.send()
                time.sleep(0.03)

        picture_until_it_moves()
        for _ in range(5):
            picture()
            time.sleep(0.02)
        fault_at = graph.node.session.ticks
        while fault == 'frozen' and not graph.is_in(SafetyState.HOLD):
            graph.infos.publish(info)  # the same picture again and again
            graph.send()
            time.sleep(0.02)
            assert graph.node.session.ticks - fault_at < 40
        graph.wait_for(SafetyState.HOLD, 'picture of head')
        assert graph.node.session.held_at_tick - fault_at <= 4 + MOST_PERIODS
        graph.come_to_rest()
        picture_until_it_moves()
    finally:
        graph.close()


@pytest.mark.parametrize('by', ['service', 'topic'])
def test_emergency_stop_is_latched_until_an_operator_resumes(graph, by):
    graph.keep_moving()
    if by == 'service':
        assert graph.stop().success
    else:
        graph.signal.publish(message_type(topics.EMERGENCY_STOP_SIGNAL)(data=True))
    graph.wait_for(SafetyState.EMERGENCY, by)
    graph.wait(graph.is_still, 'standstill')
    for _ in range(5):
        graph.send()
        time.sleep(0.05)
    graph.signal.publish(message_type(topics.EMERGENCY_STOP_SIGNAL)(data=False))
    assert not graph.stop(on=False).success, 'only an operator resumes'
    assert graph.is_in(SafetyState.EMERGENCY)
    assert graph.is_still()
    assert graph.resume().success
    graph.wait_for(SafetyState.HOLD, 'reset by an operator')
    assert graph.is_still(), 'a resume moves nothing'
    graph.keep_moving()


@pytest.mark.parametrize(
    ('fault', 'words'),
    [('user_stop', 'user stop is pressed'), ('guiding', 'guided by hand')],
)
def test_user_stop_and_guiding_pause_until_released_and_resumed(graph, fault, words):
    graph.keep_moving()
    graph.arm.fail(fault)
    fault_at = graph.node.session.ticks
    graph.wait_for(SafetyState.STOPPED, words)
    assert graph.node.session.held_at_tick - fault_at <= MOST_PERIODS
    response = graph.resume()
    assert not response.success
    assert 'release the stop or the arm first' in response.message
    graph.arm.fail('')
    time.sleep(0.2)
    graph.send()
    assert graph.is_in(SafetyState.STOPPED), 'released is not resumed'
    assert graph.is_still()
    assert graph.resume().success
    graph.keep_moving()


def test_reflex_is_recovered_by_a_resume_but_not_for_ever(graph):
    for _ in range(3):
        graph.keep_moving()
        graph.arm.fail('reflex')
        graph.wait_for(SafetyState.STOPPED, 'stopped by reflex (cartesian_reflex)')
        assert graph.resume().success
    graph.keep_moving()
    graph.arm.fail('reflex')
    graph.wait_for(SafetyState.STOPPED)
    response = graph.resume()
    assert not response.success
    assert '3 recoveries within 60 s: look at the arm' in response.message
    assert graph.is_in(SafetyState.STOPPED)


def test_arm_that_falls_silent_stops_the_policy_and_is_not_published_as_new(graph):
    graph.keep_moving()
    graph.arm.fail('stale')
    graph.wait_for(SafetyState.STOPPED, 'state of the arm')
    before = len(graph.states)
    time.sleep(0.3)
    assert len(graph.states) <= before + 1
    graph.arm.fail('')
    assert graph.resume().success
    graph.keep_moving()


@pytest.mark.parametrize('jump_s', [-3.0, 3.0])
def test_clock_that_jumps_stops_the_arm_until_an_operator_resumes(graph, jump_s):
    graph.keep_moving()
    before_ns = graph.sender.stamp_ns
    clock = graph.node.session._clock
    source = clock._source
    clock._source = lambda: source() + round(1e9 * jump_s)
    jumped_at = graph.node.session.ticks
    graph.wait_for(SafetyState.STOPPED, f'clock jumped by {jump_s:.2f} s')
    assert graph.node.session.held_at_tick - jumped_at <= MOST_PERIODS
    graph.wait(graph.is_still, 'standstill')
    graph.send()
    assert graph.is_in(SafetyState.STOPPED), 'the clock is not trusted by itself'
    assert graph.resume().success
    graph.keep_moving()
    assert graph.sender.stamp_ns > before_ns, 'stamps never go back'
    ahead_s = (graph.node.session.loop.safety.stamp_ns - clock.now_ns()) / 1e9
    assert ahead_s < abs(jump_s) + 0.1


def test_floor_of_the_workspace_is_not_crossed():
    kinematics = Kinematics(ROBOT)
    floor = float(kinematics.forward(ROBOT.ready)[2, 3]) - 0.05
    graph = ArmGraph(3, box_low=[0.2, -0.5, floor])
    try:
        graph.ready()
        down = np.tile(np.array([0, 0, -1.0, 0, 0, 0, -1], np.float32), (16, 1))
        lowest = np.inf
        for _ in range(30):
            graph.send(down)
            time.sleep(0.1)
            lowest = min(lowest, kinematics.forward(graph.arm.state().reference)[2, 3])
        assert lowest < floor + 0.02, 'it went down'
        assert lowest >= floor - 1e-3
    finally:
        graph.close()


def test_gripper_hears_of_crossings_of_its_threshold_alone(graph):
    gripped = []
    wish = graph.arm.grip
    graph.arm.grip = lambda closed: (gripped.append(closed), wish(closed))
    for entry in (-1.0, -0.9, 0.2, 1.0, 0.4, 0.9, -0.3, -1.0):
        rows = FORWARD.copy()
        rows[:, 6] = entry
        before = len(graph.all(ChunkDone))
        graph.send(rows[:3])
        graph.wait(lambda before=before: len(graph.all(ChunkDone)) > before, 'chunk_done')
    assert gripped == [False, True, False], 'it opens with the first chunk, not before'


def test_operator_takes_over_and_releases(graph):
    interventions = graph.ear.create_publisher(
        message_type(topics.INTERVENTION), topics.INTERVENTION, publisher_qos(topics.INTERVENTION)
    )
    graph.wait(interventions.get_subscription_count, 'arm that hears interventions')
    graph.keep_moving()

    def take(active):
        value = Intervention(0, 1, active, 'spacemouse', np.zeros(7, np.float32))
        interventions.publish(intervention_to_message(value))

    take(True)
    graph.wait_for(SafetyState.HOLD)
    graph.send()
    time.sleep(0.2)
    assert graph.is_in(SafetyState.HOLD)
    graph.send(source='teleop')
    graph.wait_for(SafetyState.OK)
    take(False)
    graph.wait_for(SafetyState.HOLD)
    graph.keep_moving()


def test_deactivation_stops_first_and_the_next_activation_needs_an_operator(graph):
    graph.keep_moving()
    graph.node.trigger_deactivate()
    graph.wait_for(SafetyState.STOPPED, 'deactivated')
    graph.wait(graph.is_still, 'standstill')
    assert not graph.resume().success
    graph.node.trigger_activate()
    time.sleep(0.2)
    graph.send()
    assert graph.is_in(SafetyState.STOPPED)
    assert graph.resume().success
    graph.keep_moving()


def test_dry_run_shows_what_it_would_send_and_sends_nothing():
    settings = StreamSettings(waypoint_period_s=PERIOD_S)
    real = FakeArm(ROBOT, settings)
    real.is_hardware = True

    def maker(node, parameters, show):
        assert parameters.dry_run, 'the default'
        return DryArm(real, FakeArm(ROBOT, settings), show=show)

    graph = ArmGraph(4, maker=maker, arm='fci', address='10.0.0.1')
    shown = []
    graph.ear.create_subscription(JointState, DRY_TARGET, shown.append, 10)
    try:
        graph.ready()
        for _ in range(10):
            graph.send()
            time.sleep(0.1)
        graph.wait(lambda: len(shown) > 5, 'targets of the dry run')
        assert np.abs(np.array(shown[-1].position) - ROBOT.ready).max() > 1e-3
        assert list(shown[-1].name) == list(real.joint_names)
        assert np.array_equal(real.state().position, ROBOT.ready)
    finally:
        graph.close()


def test_health_says_mode_ages_and_why(graph):
    graph.arm.fail('reflex')
    graph.wait_for(SafetyState.STOPPED)

    def told():
        for message in reversed(graph.health):
            status = message.status[0]
            values = {value.key: value.value for value in status.values}
            if values.get('mode') == 'REFLEX':
                return status, values
        return None

    status, values = graph.wait(told, 'health of the reflex')
    assert status.level == b'\x02'
    assert values['errors'] == 'cartesian_reflex'
    assert 'heartbeat_age_s' in values
    assert 'stopped by reflex' in status.message


def test_two_arms_run_chunks_of_one_stamp_and_say_how_far_apart():
    """How far that is at most, test_arm_timing.py tells in virtual time."""
    left = ArmGraph(5, namespace='left', partner='right')
    right = ArmGraph(5, namespace='right', partner='left')
    arms = (left, right)
    try:
        for arm in arms:
            arm.ready()
            arm.wait(lambda arm=arm: arm.readers(topics.CHUNK_DONE) >= 2, 'ear and partner')
        refusals = [arm.note_refusals() for arm in arms]
        for count in range(1, 5):
            while any(len(arm.all(ChunkDone)) < count for arm in arms):
                stamp_ns = left.ear.get_clock().now().nanoseconds
                for arm in arms:
                    arm.send(FORWARD[:8], stamp_ns=stamp_ns)
                for arm in arms:
                    arm.come_to_rest()

        def apart():
            stamps = [{d.chunk: d.stamp_ns for d in arm.all(ChunkDone)} for arm in arms]
            both = stamps[0].keys() & stamps[1].keys()
            return max(abs(stamps[0][chunk] - stamps[1][chunk]) for chunk in both) / 1e9

        def is_told(arm):
            values = {v.key: v.value for v in arm.health[-1].status[0].values}
            return abs(float(values.get('largest_skew_s', 'nan')) - apart()) < 0.002

        for arm in arms:
            arm.wait(lambda arm=arm: arm.health and is_told(arm), 'skew')
        assert not [reason for told in refusals for reason in told if 'in the future' in reason]
    finally:
        for arm in arms:
            arm.close()


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'box_low': None}, "'box_low' must be given"),
        ({'translation_velocity': None}, "'translation_velocity' must be given"),
        ({'arm': 'fci'}, "'address' must be given"),
        ({'box_low': [0.9, -0.5, 0.0]}, 'workspace box'),
        ({'velocity_share': 1.5}, 'velocity_share'),
        ({'arm': 'crisp', 'roles': ['head']}, "'calibration' must be given"),
        ({'roles': ['head'], 'calibration': '/nowhere.yaml'}, 'no calibration file /nowhere.yaml'),
    ],
)
def test_arm_that_could_hurt_somebody_is_not_started(changes, words):
    values = {
        'arm': 'fake',
        'box_low': [0.2, -0.5, 0.05],
        'box_high': [0.8, 0.5, 0.9],
        'translation_velocity': 0.3,
        'rotation_velocity': 1.0,
        **changes,
    }
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=0)
    overrides = [Parameter(n, value=v) for n, v in values.items() if v is not None]
    try:
        with pytest.raises((ParameterError, ArmError), match=words):
            ArmNode(context=context, parameter_overrides=overrides)
    finally:
        context.try_shutdown()


def test_node_without_an_arm_ends_with_one_line():
    words = ['arm:=fci', 'address:=127.201.1.1', 'realtime:=ignore', 'box_low:=[0.2,-0.5,0.05]']
    words += ['box_high:=[0.8,0.5,0.9]', 'translation_velocity:=0.3', 'rotation_velocity:=1.0']
    arguments = [x for word in words for x in ('-p', word)]
    command = [sys.executable, '-m', 'structrl_ros.nodes.arm_node', '--ros-args', *arguments]
    told = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ)
    )
    assert told.returncode == 1
    assert 'Traceback' not in told.stderr
    assert 'arm_node: no arm at 127.201.1.1' in told.stderr or 'pylibfranka' in told.stderr
