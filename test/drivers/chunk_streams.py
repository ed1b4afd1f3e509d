"""A policy that misbehaves, and a body loop around an arm that it drives."""

import queue
import time

import numpy as np

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_clock import ArmClock
from structrl_ros.control.arm_guards import guard_mode
from structrl_ros.control.arm_guards import guard_state
from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.control.arm_target import ArmTarget
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.limits import Limits
from structrl_ros.control.robot_description import load_robot
from structrl_ros.drivers.arm_body import ArmBody
from structrl_ros.types import ActionChunk
from structrl_ros.types import SafetyState

RATE_HZ = 20.0
PERIOD_S = 1.0 / RATE_HZ
BOX = {'box_low': (0.25, -0.4, 0.10), 'box_high': (0.65, 0.4, 0.70)}
WORKSPACE = Limits(
    **BOX,
    translation_velocity=0.4,
    translation_acceleration=3.0,
    translation_jerk=60.0,
    rotation_velocity=1.2,
    rotation_acceleration=8.0,
    rotation_jerk=160.0,
)


class ArmUnderTest:
    """Arm, body, episode and loop, ticked by the arm; `tick` handles one control period."""

    def __init__(self, arm, settings, *, workspace=WORKSPACE):
        robot = load_robot(settings.robot)
        kinematics = Kinematics(robot)
        limits = settings.limits()
        self.arm = arm
        self.passed = 0
        self.limiter = ActionLimiter(workspace, period_s=PERIOD_S)
        self.target = ArmTarget(kinematics, limits, workspace, period_s=PERIOD_S)
        self.body = ArmBody(arm, kinematics, self.target, self.limiter, control_rate_hz=RATE_HZ)
        clock = ArmClock(
            lambda: arm.state().time_ns, lambda: arm.state().time_ns, period_s=PERIOD_S
        )
        self.runner = EpisodeRunner(
            self.body, limiter=self.limiter, clock=clock, place=self.body.place
        )
        guards = [
            guard_state(arm.state, lambda: arm.age_s, limit_s=1.0),
            guard_mode(arm.state),
        ]
        self.loop = ArmLoop(
            self.runner, self.body.spec, self.body, guards=guards, max_chunk_age_s=1.0
        )
        self.ticks = queue.SimpleQueue()
        self.chunk = 0
        self.done = []
        self.reasons = []

    def start(self):
        self.loop.reset('test', 0, 0)
        self.arm.start(lambda: self.ticks.put(None))

    def tick(self, timeout_s=5.0):
        try:
            self.ticks.get(timeout=timeout_s)
        except queue.Empty:
            raise AssertionError(f'arm asks for no waypoint: {self.arm.complaint}') from None
        self.passed += 1
        while not self.ticks.empty():
            self.ticks.get_nowait()
            self.passed += 1
        self.done += self.loop.advance()
        safety = self.loop.safety
        if not self.reasons or self.reasons[-1] != (safety.state, safety.reason):
            self.reasons.append((safety.state, safety.reason))

    def send(self, actions, *, late_s=0.0, source='policy', **changes):
        """Offer a chunk whose observation is `late_s` old; return why it was refused."""
        self.chunk += 1
        fields = {
            'stamp_ns': self.runner.now_ns - round(1e9 * late_s),
            'episode': self.runner.episode.episode,
            'chunk': self.chunk,
            'source': source,
            'action_space': 'ee_delta_pose',
            'step_period': PERIOD_S,
            'actions': np.asarray(actions, np.float32),
            **changes,
        }
        return self.loop.offer(ActionChunk(**fields))

    def robot_ns(self):
        """Return the robot's time: it asks for a waypoint every 50 of its periods."""
        return 1_000_000_000 + round(1e9 * PERIOD_S) * self.passed

    @property
    def robot_s(self):
        return self.robot_ns() / 1e9


class WildPolicy:
    """Chunks of 16 rows at random moments, late by random times, with turns and takeovers."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.velocity = np.zeros(6)
        self.wait = 0
        self.taken_over = False
        names = ('sent', 'refused', 'late', 'replaced', 'takeover', 'pause', 'turn')
        self.events = dict.fromkeys(names, 0)

    def act(self, under_test):
        """Do what is due before a control period."""
        self.wait -= 1
        if self.wait > 0:
            return
        random = self.random
        roll = random.random()
        if roll < 0.05:
            self.taken_over = not self.taken_over
            self.events['takeover'] += self.taken_over
            under_test.done += under_test.loop.take_over(self.taken_over)
        if roll > 0.95:
            self.events['pause'] += 1
            self.wait = random.integers(5, 40)  # nothing for up to 2 s: the arm holds
            return
        if random.random() < 0.3:
            self.events['turn'] += 1
            self.velocity = random.uniform(-1.0, 1.0, 6)
        self.velocity = 0.8 * self.velocity + 0.2 * random.uniform(-1.0, 1.0, 6)
        late_s = float(random.choice([0.0, 0.05, 0.1, 0.3]))
        self.events['late'] += late_s > 0.0
        self.events['replaced'] += under_test.loop.has_rows
        rows = np.zeros((16, 7), np.float32)
        rows[:, :3] = 0.35 * self.velocity[:3] + 0.05 * random.normal(size=(16, 3))
        rows[:, 3:6] = 0.1 * self.velocity[3:]
        rows[:, 6] = np.sign(self.velocity[0])
        source = 'teleop' if self.taken_over else 'policy'
        refusal = under_test.send(rows, late_s=late_s, source=source)
        assert not refusal or 's old, limit' in refusal, refusal
        self.events['refused' if refusal else 'sent'] += 1  # old: this process was not run
        self.wait = random.integers(1, 20)


def stream_chunks(under_test, seconds, seed=0, wall_s=600.0):
    """Stream random chunks for seconds of robot time, and of the policy's; return what happened.

    On a busy machine the arm asks more often than this process answers.
    """
    policy = WildPolicy(seed)
    end, wall_end = under_test.robot_s + seconds, time.monotonic() + wall_s
    periods = 0
    while under_test.robot_s < end or periods < seconds * RATE_HZ:
        periods += 1
        assert time.monotonic() < wall_end, f'{under_test.robot_s:.1f} s of robot time only'
        policy.act(under_test)
        under_test.tick()
        bad = [
            x for x in under_test.reasons if x[0] in (SafetyState.STOPPED, SafetyState.EMERGENCY)
        ]
        assert not bad, bad
    return policy.events
