"""The thread that owns a real arm's episode: ticked by the arm, and by itself if the arm stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.control.chunk_skew import ChunkSkew
from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.drivers.arm_body import ArmBody
from structrl_ros.errors import ArmError
from structrl_ros.nodes.body_inbox import BodyInbox
from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.nodes.body_thread import IDLE_LOOK_S
from structrl_ros.nodes.body_thread import BodyThread
from structrl_ros.ports import Arm
from structrl_ros.types import SafetyState

#: An arm that asks for no waypoint within so many control periods is ticked all the same, if it
#: is not to be moved: somebody must see what it is like.
OVERDUE_PERIODS = 1.5
#: And one that is to be moved, and late, within so many: a waypoint that it did not ask for would
#: put the clock ahead of the time.
SILENT_PERIODS = 4.0


class ArmThread(BodyThread):
    """Like that of a simulated body, but it is the arm that says when a period has passed."""

    def __init__(
        self,
        arm: Arm,
        body: ArmBody,
        runner: EpisodeRunner,
        loop: ArmLoop,
        publisher: BodyPublisher,
        inbox: BodyInbox,
        *,
        max_state_age_s: float,
        on_death: Callable[[str], None],
        every_second: Callable[[], None],
    ) -> None:
        """Prepare; `start` begins.

        Args:
            arm: The driver; its states are published while they are young.
            body: The arm behind the Body port.
            runner: Its episode.
            loop: Its contract.
            publisher: Where everything goes.
            inbox: Where chunks and requests come from.
            max_state_age_s: Oldest state that is still published, seconds.
            on_death: Called from the thread if it cannot go on, with the reason.
            every_second: Called from the thread once a second.
        """
        super().__init__(
            body,
            runner,
            loop,
            publisher,
            inbox,
            lockstep=False,
            camera_rate_hz=0.0,
            on_death=on_death,
            every_second=every_second,
        )
        self._arm = arm
        self._arm_loop = loop
        self._max_state_age_s = max_state_age_s
        self._period_s = 1.0 / body.spec.control_rate_hz
        self._due = threading.Event()
        self._ticked_s = time.monotonic()
        self.overdue = 0
        self.skew = ChunkSkew()
        self.held_at = 0
        self._was_ok = False

    def tick(self) -> None:
        """Note that the arm asks for a waypoint; from any thread."""
        self._due.set()
        self._inbox.put(None)

    def _turn(self) -> None:
        """Serve requests until the arm ticks or is overdue, then let a control period pass."""
        now_s = time.monotonic()
        if now_s >= self._second_s:
            self._second_s = now_s + 1.0
            self._every_second()
        if self._runner.episode is None:
            self._serve(IDLE_LOOK_S)
            return
        left_s = self._left_s(now_s)
        if not self._due.is_set() and left_s > 0.0:
            self._serve(left_s)
            return
        self.overdue += not self._due.is_set()
        self._due.clear()
        self._ticked_s = now_s
        self._advance()

    def _left_s(self, now_s: float) -> float:
        """Return how long to wait for the arm, or until the next look at it, seconds."""
        periods = (now_s - self._ticked_s) / self._period_s
        if periods < OVERDUE_PERIODS:
            return (OVERDUE_PERIODS - periods) * self._period_s
        is_moved = self._loop.safety.state is SafetyState.OK
        if periods >= SILENT_PERIODS or not is_moved or self._arm_loop.objection() is not None:
            return 0.0
        return 0.25 * self._period_s

    def _advance(self) -> None:
        try:
            closed = self._loop.advance()
        except ArmError as error:
            closed = self._arm_loop.halt(str(error))
        self.counters.steps += 1
        self._publisher.clock(self._runner.now_ns)
        self._observe()
        self.publish_results(closed)
        self._greet()
        self._say_safety()

    def publish_results(self, results: list[ChunkResult]) -> None:
        """Publish chunks that ended, and note when."""
        for result in results:
            self.skew.note_own(result.done.chunk, result.done.stamp_ns)
        super().publish_results(results)

    def _observe(self) -> None:
        """Publish the arm's state while it is young: an old one must not look new."""
        if self._arm.age_s <= self._max_state_age_s:
            super()._observe()

    def _say_safety(self) -> None:
        is_ok = self._loop.safety.state is SafetyState.OK
        if self._was_ok and not is_ok:
            self.held_at = self.counters.steps
        self._was_ok = is_ok
        super()._say_safety()
