"""Pieces of the Franka driver that need no robot: link, settings, cadence, one motion."""

from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

from structrl_ros.control.joint_stream import JointStream
from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.fci_cadence import MOST_PAUSES
from structrl_ros.drivers.fci_cadence import Cadence
from structrl_ros.drivers.fci_link import Ask
from structrl_ros.drivers.fci_link import Report
from structrl_ros.drivers.fci_link import Tell
from structrl_ros.drivers.fci_link import open_link
from structrl_ros.drivers.fci_link import pack_report
from structrl_ros.drivers.fci_link import pack_waypoint
from structrl_ros.drivers.fci_link import receive
from structrl_ros.drivers.fci_link import send
from structrl_ros.drivers.fci_link import unpack_json
from structrl_ros.drivers.fci_link import unpack_report
from structrl_ros.drivers.fci_link import unpack_waypoint
from structrl_ros.drivers.fci_motion import FciMotion
from structrl_ros.drivers.fci_process import FciProcess
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.errors import ArmError
from structrl_ros.errors import LimitError
from structrl_ros.errors import ParameterError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState

STREAM = StreamSettings(waypoint_period_s=0.05)
READY = load_robot('fr3').ready


def test_messages_cross_the_link_whole_and_in_order():
    ours, theirs = open_link()
    waypoint = np.linspace(-1.0, 1.0, 7)
    assert send(ours, Ask.WAYPOINT, pack_waypoint(waypoint))
    assert send(ours, Ask.STOP)
    kind, payload = receive(theirs, wait=False)
    assert kind == Ask.WAYPOINT.value
    assert np.array_equal(unpack_waypoint(payload), waypoint)
    assert receive(theirs, wait=False) == (Ask.STOP.value, b'')
    assert receive(theirs, wait=False) is None
    ours.close()
    with pytest.raises(ArmError, match='gone'):
        receive(theirs, wait=False)
    assert not send(theirs, Tell.DUE)


@pytest.mark.parametrize('errors', [(), ('cartesian_reflex', 'joint_reflex')])
def test_report_survives_the_round_trip(errors):
    state = ArmState(
        time_ns=1_234_000_000,
        mode=ArmMode.REFLEX,
        position=READY,
        velocity=0.1 * READY,
        reference=READY + 0.01,
        is_still=False,
        opening=0.03,
        wrench=np.arange(6.0),
        errors=errors,
    )
    report = unpack_report(pack_report(Report(state, 0.97)), 0.03)
    assert report.success_rate == 0.97
    for name in ('time_ns', 'mode', 'is_still', 'opening', 'errors'):
        assert getattr(report.state, name) == getattr(state, name)
    for name in ('position', 'velocity', 'reference', 'wrench'):
        assert np.array_equal(getattr(report.state, name), getattr(state, name))


def test_settings_survive_the_round_trip():
    settings = FciSettings(address='10.0.0.1', stream=STREAM, stiffness=(600.0,) * 7)
    assert FciSettings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'address': ''}, 'address of the arm is empty'),
        ({'interface': 'torque'}, 'allowed: joint_position, joint_velocity'),
        ({'realtime': 'maybe'}, 'allowed: require, try, ignore'),
        ({'stiffness': (100.0,)}, 'allowed: 7, or none'),
        ({'force_threshold': 0.0}, 'finite and above 0'),
        ({'grip_force': float('nan')}, 'finite and above 0'),
    ],
)
def test_settings_that_are_not_allowed_are_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        FciSettings(**{'address': '10.0.0.1', 'stream': STREAM, **change})


def test_stream_settings_cannot_loosen_the_limits():
    with pytest.raises(LimitError, match='at most 1'):
        StreamSettings(waypoint_period_s=0.05, velocity_share=1.2).limits()
    with pytest.raises(ParameterError, match='below the waypoint period'):
        StreamSettings(waypoint_period_s=0.05, lead_s=0.05)


def test_states_that_had_been_lying_there_are_not_answered():
    cadence = Cadence()
    assert cadence.is_fresh(0.0009)
    assert not cadence.is_fresh(0.00002)
    assert not cadence.is_fresh(0.0017), 'it may have lain there for 0.7 of its 1 ms'
    assert cadence.unanswered == 2


def test_state_after_a_pause_is_not_answered_but_a_slow_arm_is():
    cadence = Cadence()
    assert not cadence.is_fresh(0.008)
    assert cadence.is_fresh(0.0009)
    assert cadence.is_in_time(0.0001)
    answered = [cadence.is_fresh(0.004) and cadence.is_in_time(0.0001) for _ in range(300)]
    assert sum(answered[:8]) >= 8 // (MOST_PAUSES + 1)
    assert all(answered[-50:]), 'a slow beat becomes the usual one'


def test_late_answer_is_not_sent():
    assert not Cadence().is_in_time(0.002)


class FakeControl:
    """A controller in slow motion: applies what is sent, loses what it is told to lose."""

    def __init__(self, lose=()):
        self.lose = set(lose)
        self.cycle = 0
        self.history = [READY.copy(), READY.copy(), READY.copy()]
        self.sent = True
        self.finished = False

    def readOnce(self):
        a, b, c = self.history[-3:]
        if not self.sent:  # it keeps the acceleration
            velocity = (c - b) / 0.001 + ((c - b) - (b - a)) / 0.001
            self.history.append(c + 0.001 * velocity)
            a, b, c = self.history[-3:]
        self.sent = False
        self.cycle += 1
        state = SimpleNamespace(
            time=SimpleNamespace(to_sec=lambda: 0.001 * self.cycle),
            q_d=c,
            dq_d=(c - b) / 0.001,
            ddq_d=((c - b) - (b - a)) / 0.001**2,
        )
        return state, None

    def writeOnce(self, command):
        if self.cycle not in self.lose:
            self.history.append(np.array(command.q))
            self.sent = True
        self.finished = command.motion_finished


class FakeVelocityControl:
    """A controller that integrates velocities by the mean of two, and loses what it is told to."""

    def __init__(self, lose=(), gain=1.0):
        self.lose, self.gain = set(lose), gain
        self.cycle = 0
        self.position = READY.copy()
        self.velocities = [np.zeros(7), np.zeros(7)]
        self.sent = None

    def readOnce(self):
        before, now = self.velocities[-2:]
        self.velocities.append(2.0 * now - before if self.sent is None else self.sent)
        self.sent = None
        self.position = self.position + self.gain * 0.0005 * (self.velocities[-1] + now)
        self.cycle += 1
        cycle = self.cycle
        state = SimpleNamespace(
            time=SimpleNamespace(to_sec=lambda: 0.001 * cycle),
            q_d=self.position,
            dq_d=self.velocities[-1],
            ddq_d=(self.velocities[-1] - now) / 0.001,
        )
        return state, None

    def writeOnce(self, command):
        if self.cycle not in self.lose:
            self.sent = np.array(command.dq)


LIBRARY = SimpleNamespace(
    JointPositions=lambda q: SimpleNamespace(q=q, motion_finished=False),
    JointVelocities=lambda dq: SimpleNamespace(dq=dq, motion_finished=False),
)


def motion_over(control, monkeypatch, cycles, stream=None, *, velocity=False):
    """Run a motion with a clock in which each state is waited for 0.9 ms."""
    now = [0.0]

    def clock():
        now[0] += 0.0003
        return now[0]

    monkeypatch.setattr('structrl_ros.drivers.fci_motion.time.perf_counter', clock)
    stream = stream or JointStream(STREAM.limits(), waypoint_period_s=0.05)
    motion = FciMotion(control, LIBRARY, stream, velocity=velocity)
    for cycle in range(cycles):
        motion.turn()
        stream.prepare()
        if cycle % 50 == 25:
            stream.follow(READY + 0.1 * np.sin(cycle / 400.0))
    return motion


def test_commands_are_the_stream(monkeypatch):
    control = FakeControl()
    motion = motion_over(control, monkeypatch, 1000)
    jerk = np.diff(np.array(control.history[3:]), 3, axis=0) / 1e-9
    assert motion.resumed == 0
    assert np.abs(jerk).max() <= STREAM.limits().jerk.max() * 1.01
    assert np.abs(control.history[-1] - READY).max() > 0.03


def test_lost_commands_are_caught_up_with_without_a_jump(monkeypatch):
    """Up to 12 commands in a row are lost: the arm extrapolates, the motion joins it there."""
    control = FakeControl(lose=[*range(300, 303), *range(500, 512), 700, *range(900, 905)])
    motion_over(control, monkeypatch, 1500)
    positions = np.array(control.history[3:])
    vendor = load_robot('fr3').limits
    assert np.abs(np.diff(positions, 2, axis=0) / 1e-6).max() <= vendor.acceleration.max()
    assert np.abs(np.diff(positions, 3, axis=0) / 1e-9).max() <= vendor.jerk.max()
    assert np.abs(positions[-1] - READY).max() > 0.03


def test_velocities_are_the_stream_although_the_arm_integrates_them_its_own_way(monkeypatch):
    """Its position is off by half of what it moves in a period: no command was lost."""
    control = FakeVelocityControl()
    motion = motion_over(control, monkeypatch, 1500, velocity=True)
    velocities = np.array(control.velocities[2:])
    limits = STREAM.limits()
    assert motion.resumed == 0
    assert np.abs(np.diff(velocities, axis=0) / 0.001).max() <= limits.acceleration.max() * 1.01
    assert np.abs(control.position - READY).max() > 0.03


def test_lost_velocities_are_caught_up_with_without_a_jump(monkeypatch):
    control = FakeVelocityControl(lose=[*range(300, 303), *range(500, 508), 700])
    motion = motion_over(control, monkeypatch, 1500, velocity=True)
    velocities = np.array(control.velocities[2:])
    vendor = load_robot('fr3').limits
    assert motion.resumed <= 6
    assert np.abs(np.diff(velocities, axis=0) / 0.001).max() <= vendor.acceleration.max()
    assert np.abs(np.diff(velocities, 2, axis=0) / 1e-6).max() <= vendor.jerk.max()


def test_arm_that_never_is_where_it_should_be_is_stopped(monkeypatch):
    """To follow it again and again would be to coast, faster and faster."""
    control = FakeVelocityControl(gain=0.8)
    motion = motion_over(control, monkeypatch, 3000, velocity=True)
    assert motion.resumed > 10
    speeds = np.abs(np.array(control.velocities)).max(axis=1)
    assert speeds.max() < 0.5
    assert speeds[speeds.argmax() :].min() < 0.01, 'it came to rest'


def test_motion_ends_only_at_rest(monkeypatch):
    control = FakeControl()
    motion = motion_over(control, monkeypatch, 400)
    motion.stream.stop()
    cycles = 0
    while motion.turn(finish=True):
        motion.stream.prepare()
        cycles += 1
    assert cycles > 10
    assert control.finished
    assert np.allclose(control.history[-1], control.history[-2], atol=1e-7)


class Mode(Enum):
    """Modes of the vendor's library."""

    Idle = 1
    Reflex = 4


class FakeRobot:
    """In reflex until it is recovered, and for some states after."""

    def __init__(self, *_):
        self.left = None

    def automatic_error_recovery(self):
        self.left = 3

    def read_once(self):
        if self.left is not None:
            self.left -= 1
        is_idle = self.left is not None and self.left <= 0
        numbers = dict.fromkeys(('q', 'dq', 'q_d'), READY.tolist())
        return SimpleNamespace(
            time=SimpleNamespace(to_sec=lambda: 1.0),
            robot_mode=Mode.Idle if is_idle else Mode.Reflex,
            current_errors='[]' if is_idle else '["cartesian_reflex"]',
            O_F_ext_hat_K=[0.0] * 6,
            control_command_success_rate=1.0,
            **numbers,
        )


def test_driver_hears_that_the_arm_is_idle_before_that_it_recovered():
    """Else a guard would see the reflex of before, and stop the arm that was just resumed."""
    library = SimpleNamespace(
        Robot=FakeRobot,
        RobotMode=Mode,
        RealtimeConfig=SimpleNamespace(kEnforce=0, kIgnore=1),
        CommandException=RuntimeError,
    )
    ours, theirs = open_link()
    send(ours, Ask.RECOVER)
    send(ours, Ask.QUIT)
    FciProcess(FciSettings(address='10.0.0.1', stream=STREAM), theirs, library).run()
    modes = []
    while (message := receive(ours, wait=False)) is not None:
        kind, payload = message
        if kind == Tell.ANSWER.value:
            assert unpack_json(payload) == {'error': ''}
            break
        modes.append(unpack_report(payload, 0.08).state.mode)
    assert kind == Tell.ANSWER.value
    assert modes[0] is ArmMode.REFLEX
    assert modes[-1] is ArmMode.IDLE
