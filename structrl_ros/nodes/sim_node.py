"""sim_node: a simulated body under the contract, in lock-step or in real time.

The body's thread takes chunks, steps, renders and publishes; callbacks of the executor decode and
hand over to it. An episode begins at start, and at every call of `reset_episode`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from rclpy.node import Node

from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.body_interruptions import BodyInterruptions
from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.nodes.body_thread import BodyThread
from structrl_ros.nodes.chunk_intake import ChunkIntake
from structrl_ros.nodes.chunk_intake import chunk_inbox
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.sim_services import SimServices
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.sim import SimParameters
from structrl_ros.sim.registry import default_task
from structrl_ros.sim.registry import make_body
from structrl_ros.wire.task_codecs import HealthLevel

#: Below this real-time factor the node says on `/diagnostics` that it is too slow.
SLOW_FACTOR = 0.95


class SimNode(Node):
    """Owns a body; `close` ends its thread."""

    def __init__(self, *, on_death: Callable[[], None], **options: Any) -> None:
        """Create the body's interfaces and ask for the first episode.

        Args:
            on_death: Called when the first episode cannot be set or the world's thread died.
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed.
        """
        super().__init__('sim_node', **options)
        self._settings = p = declare(self, SimParameters)
        self._on_death = on_death
        self._is_alive = True
        self._task = p.task or default_task(p.body)
        body = make_body(p.body, **p.body_options)
        spec = body.spec
        self._runner = simulated_episode(body)
        self._loop = BodyLoop(
            self._runner,
            spec,
            lockstep=p.lockstep,
            max_chunk_age_s=p.max_chunk_age_s,
            blend_steps=p.blend_steps,
        )
        self._publisher = BodyPublisher(self, spec.roles)
        inbox = chunk_inbox(self)
        self._world = BodyThread(
            body,
            self._runner,
            self._loop,
            self._publisher,
            inbox,
            lockstep=p.lockstep,
            camera_rate_hz=p.camera_rate_hz,
            on_death=self._die,
            every_second=self._report,
        )
        chunks = ChunkIntake(self, self._loop.offer, self._loop.refuse, self._world.counters)
        inbox.heard = chunks.take
        self._health = Health(self, 'body')
        self._requests = SimServices(self, self._world, self._loop, self._task)
        BodyInterruptions(self, self._world, self._loop, lockstep=p.lockstep)
        self.add_post_set_parameters_callback(self._on_set)
        self._world.start()
        self._world.ask(self._first_episode)

    def close(self) -> None:
        """End the body's thread and free the world; a second call does nothing."""
        self._world.stop()

    def _first_episode(self) -> None:
        p = self._settings
        try:
            self._world.reset(self._task, p.seed, p.initial_state)
        except StructRLError as error:
            self._die(str(error))

    def _on_set(self, changed: Sequence[Any]) -> None:
        for parameter in changed:
            if parameter.name == 'camera_rate_hz':
                self._world.camera.set_rate(float(parameter.value))

    def _report(self) -> None:
        camera = self._world.camera
        counters, factor = self._world.counters, self._world.pacer.real_time_factor
        is_slow = not self._settings.lockstep and 0.0 < factor < SLOW_FACTOR
        text = f'{counters.steps} steps'
        if not self._settings.lockstep:
            text = f'real-time factor {factor:.2f}'
        values = {
            'real_time_factor': f'{factor:.3f}',
            'steps': counters.steps,
            'renders': camera.renders,
            'render_ms': f'{1e3 * camera.render_s / max(1, camera.renders):.1f}',
            'rejected_chunks': counters.rejected,
            'safety': self._loop.safety.state.name,
        }
        level = HealthLevel.WARN if is_slow else HealthLevel.OK
        self._health.tell(level, text, values, stamp_ns=self._runner.now_ns)

    def _die(self, why: str) -> None:
        if self._is_alive and self.context.ok():  # else it is only a signal that ends the node
            self._is_alive = False
            self.get_logger().fatal(f'{why}: sim_node ends')
            self._on_death()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 1 if it could not start or the world died."""
    deaths: list[int] = []

    def make(ended: threading.Event) -> SimNode:
        def die() -> None:
            deaths.append(1)
            ended.set()

        return SimNode(on_death=die)

    status = run_node('sim_node', make, lambda node, _: node.close(), arguments)
    return 1 if deaths else status


if __name__ == '__main__':
    sys.exit(main())
