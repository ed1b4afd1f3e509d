"""grm_node: asks the GRM how far the episode is and publishes `progress` (lifecycle, autostart).

Nobody waits for it but a planner with monitor grm: in lock-step it answers every chunk, by the
pictures of its end, however late; in real time the latest frame wins.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.clock import Clock
from rclpy.clock import ClockType
from rclpy.lifecycle import LifecycleNode
from rclpy.lifecycle import TransitionCallbackReturn

from structrl_ros.errors import StructRLError
from structrl_ros.nodes.grm_driver import GrmDriver
from structrl_ros.nodes.grm_models import ModelOpener
from structrl_ros.nodes.grm_models import open_model
from structrl_ros.nodes.health import Health
from structrl_ros.nodes.hearing import Ears
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.progress_publisher import ProgressPublisher
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.grm import GrmParameters
from structrl_ros.types import UInt8
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.plan_codecs import plan_from_message
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.qos import subscriber_qos
from structrl_ros.wire.task_codecs import HealthLevel

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class GrmNode(LifecycleNode):
    """Subscribes, publishes, reports; `GrmDriver` decides. `close` ends its thread."""

    def __init__(self, *, opener: ModelOpener = open_model, **options: Any) -> None:
        """Declare parameters; with `autostart`, configure and activate.

        Args:
            opener: Loads model and goal; tests give their own.
            **options: Of rclpy's Node.

        Raises:
            StructRLError: If a parameter is not allowed.
        """
        super().__init__('grm_node', **options)
        self._settings, self._opener = declare(self, GrmParameters), opener
        self._driver: GrmDriver | None = None
        self._owned: list[Callable[[], Any]] = []
        self._wall_timers: list[Any] = []
        if self._settings.autostart and self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: Any) -> TransitionCallbackReturn:
        """Load model and goal, then subscribe; the publisher of progress says that it is ready."""
        try:
            opened = self._opener(self._settings)
        except StructRLError as error:
            self.get_logger().error(str(error))
            return FAILURE
        self._driver = driver = GrmDriver(
            *(opened, self._settings), lambda *step: self._progress.publish(*step)
        )
        is_deep = self._settings.lockstep  # a body that waits for others may be chunks ahead
        ears = Ears(self, recorder_qos if is_deep else subscriber_qos)
        ears.hear(topics.EPISODE, episode_from_message, driver.see_episode)
        ears.hear(topics.PLAN, plan_from_message, driver.see_plan)
        ears.hear(topics.CHUNK_DONE, chunk_done_from_message, driver.see_done)
        for role in self._settings.roles:
            take = partial(_take_image, driver, role)
            ears.hear(topics.image_topic(role), image_from_message, take)
        self._health = Health(self, 'model')
        self._progress = ProgressPublisher(self, opened.ran_with)
        self._owned += [ears.close, self._health.close, self._progress.close]
        return super().on_configure(state)

    def on_activate(self, state: Any) -> TransitionCallbackReturn:
        """Begin to ask."""
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        result = super().on_activate(state)
        if self._driver is not None:
            self._driver.activate(True)
            self._wall_timers = [
                self.create_timer(0.1, self._driver.consider, clock=wall),
                self.create_timer(1.0, self._report, clock=wall),
            ]
        return result

    def on_deactivate(self, state: Any) -> TransitionCallbackReturn:
        """Stop asking; the answer that is under way is dropped."""
        if self._driver is not None:
            self._driver.activate(False)
        for timer in self._wall_timers:
            self.destroy_timer(timer)
        return super().on_deactivate(state)

    def on_cleanup(self, state: Any) -> TransitionCallbackReturn:
        """Free the model and everything that was subscribed to."""
        self.close()
        for free in self._owned:
            free()
        self._owned = []
        return super().on_cleanup(state)

    def close(self) -> None:
        """End the thread; a second call does nothing."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _report(self) -> None:
        if self._driver is None:
            return
        problem, numbers = self._driver.health()
        text = problem or f'potential {numbers["potential"]}, latency {numbers["latency_s"]} s'
        if problem:
            self.get_logger().warning(problem, throttle_duration_sec=5.0)
        level = HealthLevel.WARN if problem else HealthLevel.OK
        self._health.tell(level, text, numbers)


def _take_image(driver: GrmDriver, role: str, stamped: tuple[int, UInt8]) -> None:
    driver.take_image(role, *stamped)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('grm_node', lambda _: GrmNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
