"""The driver of a Franka against a simulated controller that speaks the real protocol.

Limits and communication constraints are enforced as on the robot: a command beyond them stops the
arm. All durations are of robot time.
"""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chunk_streams import ArmUnderTest
from chunk_streams import stream_chunks
from simulated_controllers import OBJECT_M
from simulated_controllers import PYTHON
from simulated_controllers import Controller
from simulated_controllers import needs_real_time

from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor_robot import examine_robot
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.fci_arm import FciArm
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import SafetyState

pylibfranka = pytest.importorskip('pylibfranka')
if not PYTHON.exists():
    pytest.skip('no simulated controller: make franka-sim', allow_module_level=True)

pytestmark = [pytest.mark.hardware_sim, pytest.mark.timeout(900)]

STREAM = StreamSettings(waypoint_period_s=0.05)
ROBOT = load_robot('fr3')


def settings(controller, **changes):
    return FciSettings(address=controller.address, realtime='try', stream=STREAM, **changes)


@pytest.fixture(scope='module')
def controller(tmp_path_factory):
    controller = Controller(tmp_path_factory.mktemp('controller'))
    yield controller
    controller.close()


@pytest.fixture
def arm(controller):
    arm = FciArm(settings(controller))
    yield arm
    arm.close()


def wait(true, what, limit=30.0):
    end = time.monotonic() + limit
    while not (value := true()):
        assert time.monotonic() < end, f'no {what} within {limit} s'
        time.sleep(0.01)
    return value


def sway(arm, seconds):
    """Move all joints to and fro for seconds of robot time; return ticks and largest error.

    Ticks are counted by the arm's own commands, 50 of its periods each.
    """
    ticks, start, errors = [0], arm.state().reference.copy(), [0.0]
    limits = STREAM.limits()

    def tick():
        ticks[0] += 1
        swing = 0.1 * (1.0 - np.cos(2.0 * np.pi * ticks[0] * 0.05 / 2.0))
        arm.follow(np.clip(start + swing, limits.position_low, limits.position_high))
        state = arm.state()
        errors[0] = max(errors[0], float(np.abs(state.position - state.reference).max()))

    arm.start(tick)
    wait(lambda: ticks[0] * 0.05 >= seconds or arm.complaint, 'robot time', 120)
    moved = float(np.abs(arm.state().reference - start).max())
    assert moved > 0.05 or arm.complaint
    return ticks[0], errors[0]


@needs_real_time
def test_random_chunks_run_without_a_reflex(controller, arm):
    """Late, replaced, missing chunks, turns and takeovers, for 20 s of robot time."""
    under_test = ArmUnderTest(arm, STREAM)
    under_test.start()
    events = stream_chunks(under_test, 20.0)
    assert arm.complaint == ''
    assert arm.state().mode is ArmMode.MOVE
    assert arm.state().errors == ()
    assert all(events[name] > 0 for name in ('sent', 'late', 'replaced', 'pause', 'turn'))
    assert sum(len(result.done.executed) for result in under_test.done) > 100
    assert not [line for line in controller.violations() if 'motion finished' not in line]


@needs_real_time
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_ten_minutes_of_random_chunks_run_without_a_reflex(controller, arm):
    under_test = ArmUnderTest(arm, STREAM)
    under_test.start()
    events = stream_chunks(under_test, 600.0, seed=1, wall_s=3000.0)
    assert arm.complaint == ''
    sys.stdout.write(f'{events}\n')
    assert events['takeover'] > 3
    assert events['late'] > 300
    assert not [line for line in controller.violations() if 'motion finished' not in line]


@needs_real_time
@pytest.mark.parametrize('interface', ['joint_position', 'joint_velocity'])
def test_each_interface_follows_waypoints(controller, interface):
    """With the arm's own joint impedance: the simulated controller has no Cartesian one."""
    arm = FciArm(settings(controller, interface=interface))
    try:
        ticks, error = sway(arm, 3.0)
        assert arm.complaint == ''
        assert ticks >= 50
        assert error < 0.02
    finally:
        arm.close()


def direct_motion(controller, command, seconds):
    """Run a motion without our stream; return the error that ended it, or ''.

    libfranka makes the thread real-time, whatever it is asked; the tests after this one are not.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    robot = pylibfranka.Robot(controller.address, pylibfranka.RealtimeConfig.kIgnore)
    control = robot.start_joint_position_control(pylibfranka.ControllerMode.JointImpedance)
    start, now = None, 0.0
    try:
        while True:
            state, period = control.readOnce()
            start = np.array(state.q_d) if start is None else start
            now += period.to_sec()
            positions = pylibfranka.JointPositions(command(start, now).tolist())
            positions.motion_finished = now >= seconds
            control.writeOnce(positions)
            if positions.motion_finished:
                return ''
    except pylibfranka.ControlException as error:
        return str(error)
    finally:
        os.sched_setscheduler(0, *before)
        robot.automatic_error_recovery()


#: A gentle path at 20 Hz: 0.2 rad to and fro in 2 s, at most 0.32 rad/s.
def row(start, number):
    return start + 0.1 * (1.0 - np.cos(np.pi * number * 0.05))


def test_zero_order_hold_is_refused_by_the_controller(controller):
    """Why there is a stream: the step from one row to the next asks for endless velocity."""

    def held(start, now):
        return row(start, int(now / 0.05))

    assert 'joint_motion_generator_velocity_discontinuity' in direct_motion(controller, held, 2.0)


def test_straight_lines_between_rows_are_refused_by_the_controller(controller):
    """A kink in the velocity asks for endless acceleration, at a tenth of the speed limit."""

    def straight(start, now):
        number, share = divmod(now / 0.05, 1.0)
        first, second = row(start, number), row(start, number + 1.0)
        return first + share * (second - first)

    assert 'joint_motion_generator' in direct_motion(controller, straight, 2.0)


def test_kinematics_are_those_of_the_controller(controller):
    state = pylibfranka.Robot(controller.address, pylibfranka.RealtimeConfig.kIgnore).read_once()
    tool = np.array(state.F_T_EE).reshape(4, 4, order='F')
    pose = np.array(state.O_T_EE).reshape(4, 4, order='F')
    # It counts F_T_EE from the last joint's frame: all seven joints, without the flange.
    measured = Kinematics(ROBOT).frames(np.array(state.q))[6] @ tool
    assert np.allclose(measured, pose, rtol=0, atol=1e-6), measured - pose


@needs_real_time
def test_reflex_in_mid_chunk_stops_the_policy_and_an_operator_resumes(controller, arm):
    """The process of the arm is frozen for 0.3 s: the arm misses 20 commands and stops."""
    under_test = ArmUnderTest(arm, STREAM)
    under_test.start()
    under_test.tick()
    rows = np.tile(np.array([0.3, 0.1, 0.0, 0.0, 0.0, 0.0, -1.0], np.float32), (16, 1))
    assert under_test.send(rows) == ''
    for _ in range(5):
        under_test.tick()
    assert under_test.loop.safety.state is SafetyState.OK
    os.kill(arm.process_ids[0], signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(arm.process_ids[0], signal.SIGCONT)
    wait(lambda: arm.state().mode is ArmMode.REFLEX, 'reflex')
    assert 'communication_constraints_violation' in arm.complaint
    under_test.done += under_test.loop.advance()
    assert under_test.loop.safety.state is SafetyState.STOPPED
    assert 'reflex (communication_constraints_violation)' in under_test.loop.safety.reason
    assert under_test.done[-1].done.executed_steps < 16
    assert 'stopped by reflex' in under_test.send(rows), 'nothing moves before an operator resumes'
    arm.recover()
    wait(lambda: arm.state().mode is ArmMode.MOVE, 'control after the recovery')
    under_test.loop.operator_reset()
    place = arm.state().reference.copy()
    for _ in range(3):
        under_test.tick()
    drift = arm.state().reference - place
    assert np.abs(drift).max() < 1e-6, f'it stands until the next chunk, but moved by {drift}'
    assert under_test.send(rows) == ''
    for _ in range(8):
        under_test.tick()
    assert under_test.loop.safety.state is SafetyState.OK
    assert np.abs(arm.state().reference - place).max() > 0.01


@needs_real_time
def test_driver_that_vanishes_leaves_the_arm_at_rest(controller):
    """The node is killed: the process of the arm brakes, ends the motion and itself."""
    arm = FciArm(settings(controller))
    mover = threading.Thread(target=sway, args=(arm, 60.0), daemon=True)
    mover.start()
    wait(lambda: np.abs(arm.state().velocity).max() > 0.05, 'motion')
    before = len(controller.violations())
    for child in (arm._child, arm._gripper):
        child._link.shutdown(socket.SHUT_RDWR)
        wait(lambda child=child: not child.is_alive, 'the end of the process')
    lines = wait(lambda: controller.violations()[before:], 'the end of the motion')
    assert 'motion finished' in lines[-1]


@needs_real_time
def test_gripper_closes_on_an_object_and_a_blocked_one_does_not_hold_the_arm(controller):
    arm = FciArm(settings(controller, gripper_timeout_s=1.0))
    try:
        wait(lambda: arm.state().opening > 0.07, 'an open gripper')
        arm.grip(True)
        wait(lambda: abs(arm.state().opening - OBJECT_M) < 0.002, 'a grasp of the object')
        gripper = arm.process_ids[1]
        os.kill(gripper, signal.SIGSTOP)
        arm.grip(False)
        ticks, error = sway(arm, 1.5)
        assert ticks >= 20
        assert error < 0.02
        assert arm.state().opening < 0.04, 'the gripper is blocked'
        arm.grip(False)
        wait(lambda: arm.state().opening > 0.07, 'a gripper that opens in a new process')
        assert arm.process_ids[1] != gripper
    finally:
        arm.close()


@needs_real_time
def test_two_arms_at_two_addresses_move_at_once(controller, tmp_path):
    other = Controller(tmp_path, number=1)
    arms = []
    try:
        arms = [FciArm(settings(each)) for each in (controller, other)]
        results = [None, None]

        def run(which):
            results[which] = sway(arms[which], 3.0)

        threads = [threading.Thread(target=run, args=(which,)) for which in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        for arm, (ticks, error) in zip(arms, results, strict=True):
            assert arm.complaint == ''
            assert ticks >= 50
            assert error < 0.02
    finally:
        for arm in arms:
            arm.close()
        other.close()


@needs_real_time
def test_controller_killed_in_mid_motion_is_noticed_and_a_new_one_is_taken(tmp_path):
    first = Controller(tmp_path, number=2)
    arm = FciArm(settings(first))
    under_test = ArmUnderTest(arm, STREAM)
    under_test.start()
    rows = np.tile(np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0], np.float32), (16, 1))
    under_test.tick()
    assert under_test.send(rows) == ''
    for _ in range(4):
        under_test.tick()
    first.kill()
    wait(lambda: arm.complaint, 'complaint of the driver')
    wait(lambda: arm.age_s > 1.0, 'old state')
    under_test.loop.advance()
    assert under_test.loop.safety.state is SafetyState.STOPPED
    assert 'state of the arm' in under_test.loop.safety.reason
    with pytest.raises(ArmError, match='no arm at'):
        arm.recover()
    second = Controller(tmp_path, number=2)
    try:
        arm.recover()
        wait(lambda: arm.state().mode is ArmMode.MOVE, 'control of the new controller')
        under_test.loop.operator_reset()
        under_test.tick()
        under_test.tick()
        assert under_test.loop.safety.state is SafetyState.HOLD
        assert arm.complaint == ''
    finally:
        arm.close()
        second.close()


def test_nobody_at_the_address_is_said_in_one_line():
    nobody = FciSettings(address='127.200.1.1', realtime='try', stream=STREAM)
    with pytest.raises(ArmError, match=r'^no arm at 127\.200\.1\.1: '):
        FciArm(nobody)


def test_doctor_finds_the_controller_and_its_protocol(controller):
    findings = {f.subject: f for f in examine_robot(controller.address)}
    assert 'answers' in findings['Arm reachable'].detail
    assert findings['Arm protocol'].state is State.GOOD, findings['Arm protocol']
    assert findings['Franka library'].state is State.GOOD
