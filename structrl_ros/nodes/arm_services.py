"""Services of a real arm: reset of the episode, emergency stop, resume by an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import Bool

from structrl_ros.control.arm_loop import ArmLoop
from structrl_ros.nodes.arm_thread import ArmThread
from structrl_ros.nodes.sim_services import SimServices
from structrl_ros.wire import topics
from structrl_ros.wire.qos import subscriber_qos


class ArmServices(SimServices):
    """An emergency stop reaches the arm at once, whatever its thread does; a resume is awaited."""

    def __init__(
        self,
        node: Node,
        world: ArmThread,
        loop: ArmLoop,
        task: str,
        *,
        stop: Callable[[], None],
        resume: Callable[[], None],
    ) -> None:
        """Offer the services.

        Args:
            node: Whose services they are.
            world: The arm's thread.
            loop: Its contract.
            task: Task that an empty name keeps.
            stop: Stops the arm from any thread.
            resume: In the arm's thread: clears what stopped the arm, or raises.
        """
        super().__init__(node, world, loop, task)
        self._stop, self._resume = stop, resume
        topic = topics.EMERGENCY_STOP_SIGNAL
        node.create_subscription(Bool, topic, self._on_signal, subscriber_qos(topic))

    def _on_signal(self, message: Any) -> None:
        if message.data:
            self._stop()
            self._node.get_logger().fatal('emergency stop by topic: the arm is stopped')
            why = 'topic emergency_stop_signal'
            self._world.ask(lambda: self._world.publish_results(self._loop.emergency(why)))

    def _on_emergency_stop(self, request: Any, response: Any) -> Any:
        if request.data:
            self._stop()
            return super()._on_emergency_stop(request, response)
        response.message = 'an emergency stop is reset by reset_safety alone'
        return response

    async def _on_reset_safety(self, _: Any, response: Any) -> Any:
        self._node.get_logger().warning('resume by an operator')
        over: Future = Future()

        def tell() -> None:
            over.set_result(None)
            if self._node.executor is not None:
                self._node.executor.wake()

        def resume() -> None:
            self._resume()
            self._loop.operator_reset()

        reply = self._world.ask(resume, tell)
        await over
        response.success = not reply.error
        response.message = reply.error or 'resumed, holding until the next chunk'
        return response
