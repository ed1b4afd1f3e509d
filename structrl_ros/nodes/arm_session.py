"""All that arm_node holds between configure and cleanup: one arm, its thread, what guards it."""

from __future__ import annotations

import time

from rclpy.node import Node

from structrl_ros.control.arm_clock import ArmClock
from structrl_ros.control.arm_guards import Guard
from structrl_ros.control.arm_guards import RecoveryBudget
from structrl_ros.control.arm_guards import guard_age
from structrl_ros.control.arm_guards import guard_clock
from structrl_ros.control.arm_guards import guard_mode
from structrl_ros.control.arm_guards import guard_state
from structrl_ros.control.arm_guards import guard_word
from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.errors import ArmError
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.arm_services import ArmServices
from structrl_ros.nodes.arm_thread import ArmThread
from structrl_ros.nodes.arms import make_body
from structrl_ros.nodes.body_interruptions import BodyInterruptions
from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.nodes.chunk_intake import ChunkIntake
from structrl_ros.nodes.chunk_intake import chunk_inbox
from structrl_ros.nodes.freshness import Freshness
from structrl_ros.nodes.freshness import picture_freshness
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.hearing import hear
from structrl_ros.params.arm import ArmParameters
from structrl_ros.ports import Arm
from structrl_ros.types import ArmMode
from structrl_ros.types import ChunkDone
from structrl_ros.types import SafetyState
from structrl_ros.wire import topics
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.stamps import RosClock
from structrl_ros.wire.task_codecs import HealthLevel

#: What a real body has nothing to say on.
UNKNOWN = (topics.PREDICATES, topics.PRIVILEGED_STATE)


class ArmSession:
    """One arm under the contract; `close` comes to rest and frees it."""

    def __init__(self, node: Node, parameters: ArmParameters, arm: Arm) -> None:
        """Create the interfaces; nothing moves before `activate`.

        Raises:
            StructRLError: If a limit is not allowed.
        """
        self._node, self._arm, self._settings = node, arm, parameters
        p = parameters
        body, limiter = make_body(p, arm)
        self._clock = self._make_clock()
        is_delta = p.action_space == 'ee_delta_pose'
        self._runner = EpisodeRunner(
            body, limiter=limiter if is_delta else None, clock=self._clock, place=body.place
        )
        self._is_active = False
        self._waiting = 'arm_node is not active'
        self._heartbeat = Freshness(node, topics.HEARTBEAT)
        self._pictures = {role: picture_freshness(node, role) for role in p.roles}
        self._budget = RecoveryBudget(attempts=p.recoveries)
        self.loop = ArmLoop(
            self._runner,
            body.spec,
            body,
            guards=self._guards(),
            max_chunk_age_s=p.max_chunk_age_s,
            blend_steps=p.blend_steps,
        )
        without = UNKNOWN if p.simulated_clock else (*UNKNOWN, topics.CLOCK)
        inbox = chunk_inbox(node)
        self._thread = ArmThread(
            arm,
            body,
            self._runner,
            self.loop,
            BodyPublisher(node, (), without=without),
            inbox,
            max_state_age_s=p.max_state_age_s,
            on_death=self._die,
            every_second=self._each_second,
        )
        counters = self._thread.counters
        inbox.heard = ChunkIntake(node, self.loop.offer, self.loop.distrust, counters).take
        ArmServices(node, self._thread, self.loop, p.task, stop=arm.stop, resume=self._resume)
        self._health = Health(node, p.robot)
        self._hear_partner()
        BodyInterruptions(node, self._thread, self.loop, lockstep=False)
        self._thread.start()

    @property
    def arm(self) -> Arm:
        """The driver."""
        return self._arm

    @property
    def ticks(self) -> int:
        """Control periods that have passed."""
        return self._thread.counters.steps

    @property
    def held_at_tick(self) -> int:
        """Number of the control period in which the arm last ceased to be OK."""
        return self._thread.held_at

    def activate(self) -> None:
        """Let the arm be moved; after a deactivation an operator must resume, too."""
        self._is_active = True
        self._thread.ask(self._begin)

    def deactivate(self) -> None:
        """Stop the arm first, then refuse everything."""
        self._arm.stop()
        self._is_active = False
        self._waiting = 'arm_node is not active'
        self._thread.ask(
            lambda: self._thread.publish_results(self.loop.halt('arm_node was deactivated'))
        )

    def close(self) -> None:
        """Come to rest and free the arm; a second call does nothing."""
        self._arm.stop()
        self._thread.stop(timeout_s=10.0)

    def _guards(self) -> list[Guard]:
        p, arm, beat, clock = self._settings, self._arm, self._heartbeat, self._clock
        return [
            guard_word(lambda: self._waiting, stops=False),
            guard_state(arm.state, lambda: arm.age_s, limit_s=p.max_state_age_s),
            guard_mode(
                arm.state,
                needs_control=arm.is_hardware,
                complaint=lambda: getattr(arm, 'complaint', ''),
            ),
            *([] if clock is None else [guard_clock(lambda: clock.jump_s)]),
            guard_age(
                'heartbeat of who sends chunks',
                lambda: beat.age_s,
                limit_s=p.heartbeat_limit_s,
            ),
            *(self._guard_picture(role) for role in self._pictures),
        ]

    def _guard_picture(self, role: str) -> Guard:
        picture = self._pictures[role]
        limit_s = self._settings.max_image_age_s
        return guard_age(f'picture of {role}', lambda: picture.age_s, limit_s=limit_s)

    def _make_clock(self) -> ArmClock | None:
        """Return the clock that stamps follow; None: time passes by the arm's own ticks."""
        if self._settings.simulated_clock:
            return None
        now_ns = RosClock(self._node).now_ns
        return ArmClock(now_ns, time.monotonic_ns, period_s=self._settings.period_s)

    def _hear_partner(self) -> None:
        partner = self._settings.partner.strip('/')
        if not partner:
            return

        def heard(done: ChunkDone) -> None:
            note = self._thread.skew.note_partner
            self._thread.ask(lambda: note(done.chunk, done.stamp_ns))

        decode, qos = chunk_done_from_message, subscriber_qos(topics.CHUNK_DONE)
        kind = message_type(topics.CHUNK_DONE)
        hear(self._node, f'/{partner}/{topics.CHUNK_DONE}', decode, heard, qos, kind=kind)

    def _begin(self) -> None:
        """Runs in the thread: take control and open the first episode, when the arm is there."""
        if not self._is_active or not self._waiting:
            return
        try:
            if self._runner.episode is None:
                self._thread.reset(self._settings.task, 0, 0)
            self._arm.start(self._thread.tick)
            self._waiting = ''
        except StructRLError as error:
            self._waiting = str(error)
            self._node.get_logger().warning(str(error), throttle_duration_sec=5.0)

    def _resume(self) -> None:
        """Runs in the thread: clear what stopped the arm.

        Raises:
            ArmError: If a person has to do something first, or the arm does not recover.
        """
        if not self._is_active:
            raise ArmError('arm_node is not active; activate it first')
        state = self._arm.state()
        if state is not None and state.mode in (ArmMode.USER_STOPPED, ArmMode.GUIDING):
            raise ArmError(f'arm is {state.mode.name}: release the stop or the arm first')
        is_lost = state is None or self._arm.age_s > self._settings.max_state_age_s
        is_out = state is not None and (
            state.mode is ArmMode.REFLEX or (self._arm.is_hardware and state.mode is ArmMode.IDLE)
        )
        if is_lost or is_out:
            self._budget.spend(time.monotonic())
            self._arm.recover()
        if self._clock is not None:
            self._clock.accept_jump()

    def _each_second(self) -> None:
        """Runs in the thread."""
        self._begin()
        self._report()

    def _report(self) -> None:
        arm, state, safety = self._arm, self._arm.state(), self.loop.safety
        values: dict[str, object] = {
            'arm': arm.name,
            'mode': 'none' if state is None else state.mode.name,
            'errors': '' if state is None else ', '.join(state.errors),
            'state_age_s': f'{arm.age_s:.3f}',
            'heartbeat_age_s': f'{self._heartbeat.age_s:.3f}',
            'safety': safety.state.name,
            'steps': self._thread.counters.steps,
            'overdue': self._thread.overdue,
            'rejected_chunks': self._thread.counters.rejected,
            'complaint': getattr(arm, 'complaint', ''),
        }
        if hasattr(arm, 'success_rate'):
            values['success_rate'] = f'{arm.success_rate:.2f}'
        skew = self._thread.skew
        if skew.last_s is not None:
            values['skew_s'] = f'{skew.last_s:.3f}'
            values['largest_skew_s'] = f'{skew.largest_s:.3f}'
        for role, picture in self._pictures.items():
            values[f'picture_age_s/{role}'] = f'{picture.age_s:.3f}'
        level = {SafetyState.OK: HealthLevel.OK, SafetyState.HOLD: HealthLevel.WARN}.get(
            safety.state, HealthLevel.ERROR
        )
        text = safety.reason or 'moving'
        self._health.tell(level, text, values)

    def _die(self, why: str) -> None:
        self._arm.stop()
        self._is_active = False
        if self._node.context.ok():
            self._node.get_logger().fatal(f'{why}: the arm is stopped and its thread has ended')
