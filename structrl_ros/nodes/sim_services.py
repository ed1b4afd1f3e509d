"""Services of a simulated body: reset of the episode, emergency stop, reset of the safety."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger
from structrl_msgs.srv import ResetEpisode

from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.errors import MessageError
from structrl_ros.nodes.body_thread import BodyThread
from structrl_ros.nodes.body_thread import Reply
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import reset_from_request

#: Wall seconds to wait for a stop to take effect before saying that it will.
STOP_WAIT_S = 0.5


class SimServices:
    """Hands requests to the body's thread; a reset, which may take long, is awaited."""

    def __init__(self, node: Node, world: BodyThread, loop: BodyLoop, task: str) -> None:
        """Offer the services; `task` is the one that an empty name keeps."""
        self._node = node
        self._world = world
        self._loop = loop
        self._task = task
        node.create_service(ResetEpisode, topics.RESET_EPISODE, self._on_reset)
        node.create_service(SetBool, topics.EMERGENCY_STOP, self._on_emergency_stop)
        node.create_service(Trigger, topics.RESET_SAFETY, self._on_reset_safety)

    async def _on_reset(self, request: Any, response: Any) -> Any:
        try:
            task, seed, initial_state = reset_from_request(request)
        except MessageError as error:
            response.message = str(error)
            return response
        wanted = task or self._task
        over: Future = Future()

        def tell() -> None:
            over.set_result(None)
            if self._node.executor is not None:
                self._node.executor.wake()

        reply = self._world.ask(lambda: self._world.reset(wanted, seed, initial_state), tell)
        await over
        response.accepted = not reply.error
        response.episode = reply.value
        response.message = reply.error or f'episode {reply.value}: {wanted}'
        if reply.error:
            self._node.get_logger().error(f'reset_episode: {reply.error}')
        else:
            self._task = wanted
        return response

    def _on_emergency_stop(self, request: Any, response: Any) -> Any:
        if not request.data:
            return self._on_reset_safety(request, response)
        self._node.get_logger().fatal('emergency stop by service: the arm is stopped')
        why = 'service emergency_stop'
        reply = self._world.ask(lambda: self._world.publish_results(self._loop.emergency(why)))
        return self._answer(reply, response, 'stopped')

    def _on_reset_safety(self, _: Any, response: Any) -> Any:
        self._node.get_logger().warning('safety reset by an operator')
        reply = self._world.ask(self._loop.operator_reset)
        return self._answer(reply, response, 'reset, holding until the next chunk')

    def _answer(self, reply: Reply, response: Any, done: str) -> Any:
        is_done = reply.done.wait(STOP_WAIT_S)
        response.success = not reply.error
        response.message = reply.error or (
            done if is_done else f'the world is busy; {done} when it is not'
        )
        return response
