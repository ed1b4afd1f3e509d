"""The thread that owns a simulated body: everything that touches the world happens in it.

Other threads put requests into its inbox, so the executor stays responsive whatever the world
does, and a renderer is only ever used from the thread that made it. Chunks it takes itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.pacer import Pacer
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.body_camera import BodyCamera
from structrl_ros.nodes.body_inbox import BodyInbox
from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.ports import Body
from structrl_ros.types import Predicates

#: Wall seconds between two looks for late subscribers while the world stands still.
IDLE_LOOK_S = 0.1
#: A late subscriber gets the last observation again after these wall seconds, once its discovery
#: is done on both sides.
AGAIN_S = 0.5


@dataclass
class Reply:
    """What a request came to; `done` is set last."""

    done: threading.Event = field(default_factory=threading.Event)
    error: str = ''
    value: int = 0


@dataclass
class Counters:
    """Numbers for `/diagnostics`."""

    steps: int = 0
    rejected: int = 0


class BodyThread:
    """Steps a body in lock-step or real time and publishes what it sees."""

    def __init__(
        self,
        body: Body,
        runner: EpisodeRunner,
        loop: BodyLoop,
        publisher: BodyPublisher,
        inbox: BodyInbox,
        *,
        lockstep: bool,
        camera_rate_hz: float,
        on_death: Callable[[str], None],
        every_second: Callable[[], None],
    ) -> None:
        """Prepare; `start` begins.

        Args:
            body: The world.
            runner: Its episode.
            loop: Its contract.
            publisher: Where everything goes.
            inbox: Where chunks and requests come from.
            lockstep: The world stands still between chunks.
            camera_rate_hz: Pictures a second of the body's time (real time); 0 makes none.
            on_death: Called from the thread if it cannot go on, with the reason.
            every_second: Called from the thread once a second (wall clock); timers of the
                executor would cost more than the whole bridge.
        """
        self._body = body
        self._runner = runner
        self._loop = loop
        self._publisher = publisher
        self._lockstep = lockstep
        self._on_death = on_death
        self._every_second = every_second
        self._second_s = 0.0
        self._inbox = inbox
        self._thread = threading.Thread(target=self._run, name='body', daemon=True)
        self._stopping = False
        self._readers: dict[str, int] = {}
        self._look_s = 0.0
        self._again_s: float | None = None
        self._first: Predicates | None = None
        self._said: tuple[Any, str] | None = None
        self.pacer = Pacer(period_s=1.0 / body.spec.control_rate_hz)
        self.camera = BodyCamera(body, publisher, lockstep=lockstep, rate_hz=camera_rate_hz)
        self.counters = Counters()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float = 3.0) -> None:
        """End the thread and free the body; returns after `timeout_s` even if the world hangs."""
        self._stopping = True
        if self._thread.is_alive():
            self._inbox.put(None)
            self._thread.join(timeout_s)

    def ask(
        self, action: Callable[[], int | None], then: Callable[[], None] | None = None
    ) -> Reply:
        """Have something done in the thread, between two control periods, and `then` told."""
        reply = Reply()

        def run() -> None:
            try:
                reply.value = action() or 0
            except StructRLError as error:
                reply.error = str(error)
            finally:
                reply.done.set()
                self._say_safety()
                if then is not None:
                    then()

        self._inbox.put(run)
        return reply

    def reset(self, task: str, seed: int, initial_state: int) -> int:
        """Begin an episode (in the thread, by `ask`) and return its number.

        Raises:
            SimulationError: If the task or initial state is unknown.
        """
        result = self._loop.reset(task, seed, initial_state)
        self.pacer.restart()
        self._publisher.result(result.open_chunk)
        self._publisher.episode(result.end_before)
        self._publisher.clock(self._runner.now_ns)
        self._publisher.episode(result.episode)
        self._say_safety()
        self.camera.restart()
        self._observe()
        self._first = result.predicates
        self._publisher.predicates(result.predicates)
        return result.episode.episode

    def publish_results(self, results: list[ChunkResult]) -> None:
        """Publish chunks that were cut between two control periods (in the thread)."""
        for result in results:
            self._publisher.result(result)

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
        except Exception as error:  # the thread's last line: report, never die in silence
            self._on_death(f'{type(error).__name__}: {error}')
        finally:
            self._body.close()

    def _turn(self) -> None:
        """Serve requests until a control period is due, then let it pass."""
        if time.monotonic() >= self._second_s:
            self._second_s = time.monotonic() + 1.0
            self._publisher.clock(self._runner.now_ns)
            self._every_second()
        if self._runner.episode is None or (self._lockstep and not self._loop.has_rows):
            self._serve(IDLE_LOOK_S)
            self._greet()
            return
        wait_s = 0.0 if self._lockstep else self.pacer.wait_s(time.monotonic())
        if self._serve(wait_s, with_chunks=not self._lockstep):
            return
        if not self._lockstep:
            self.pacer.ticked(time.monotonic())
        self._advance()

    def _serve(self, wait_s: float, *, with_chunks: bool = True) -> bool:
        """Do one request of the inbox, waiting for it; return whether there was one.

        In lock-step a chunk that comes while another one runs waits for its end.
        """
        action = self._inbox.get(wait_s, with_chunks=with_chunks)
        if action is None:
            return False
        action()
        self._say_safety()
        return True

    def _advance(self) -> None:
        try:
            closed = self._loop.advance()
        except StructRLError as error:
            self._publisher.episode(self._loop.fail(f'simulation failed: {error}'))
            self._say_safety()
            return
        self.counters.steps += 1
        if not self._lockstep or closed:
            self._publisher.clock(self._runner.now_ns)
            self._observe()
            self.publish_results(closed)
            self._first = None if closed else self._first
            self._greet()
        self._say_safety()

    def _observe(self) -> None:
        """Publish of the arm's state, pictures and privileged state what is asked for."""
        now_ns = self._runner.now_ns
        if self._publisher.wants_proprioception:
            self._publisher.proprioception(self._body.proprioception(now_ns))
        self.camera.publish(now_ns)
        if self._publisher.wants_state:
            self._publisher.state(self._runner.simulator_state())

    def _greet(self) -> None:
        """Send late subscribers what they missed while the world stands still.

        In lock-step that is the last observation; in both modes the truth at reset, as long as no
        chunk has run.
        """
        now_s = time.monotonic()
        if self._runner.episode is None or now_s < self._look_s:
            return
        self._look_s = now_s + IDLE_LOOK_S
        readers = self._publisher.readers()
        is_new = any(n > self._readers.get(topic, 0) for topic, n in readers.items())
        self._readers = readers
        is_again = self._again_s is not None and now_s >= self._again_s
        if is_new:
            self._again_s = now_s + AGAIN_S
        elif is_again:
            self._again_s = None
        if not (is_new or is_again):
            return
        if self._lockstep:
            self._publisher.clock(self._runner.now_ns)
            self._observe()
        if self._first is not None:
            self._publisher.predicates(self._first)

    def _say_safety(self) -> None:
        safety = self._loop.safety
        if self._said != (safety.state, safety.reason):
            self._said = (safety.state, safety.reason)
            self._publisher.safety(safety)
