"""How a person steers a bag that is played: services to pause and step, parameters to seek."""

from __future__ import annotations

import time
from collections.abc import Collection

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool
from std_srvs.srv import Trigger

from structrl_ros.nodes.replay_outlets import ReplayOutlets
from structrl_ros.recording.playback import Playback


class ReplayControls:
    """Services `~/pause` and `~/step`; live parameters `rate` and `position_s`."""

    def __init__(
        self, node: Node, playback: Playback, outlets: ReplayOutlets, steps: Collection[str]
    ) -> None:
        """Offer them.

        Args:
            node: Whose they are.
            playback: What is steered.
            outlets: Where the messages of a step go.
            steps: Names in the bag of the topics whose messages end a step.
        """
        self._playback, self._outlets, self._steps = playback, outlets, steps
        node.add_on_set_parameters_callback(self._steer)
        node.create_service(SetBool, '~/pause', self._pause)
        node.create_service(Trigger, '~/step', self._step)

    def summary(self) -> str:
        """Return where the bag stands, in a line."""
        at_s = (self._playback.now_ns(time.monotonic_ns()) - self._playback.start_ns) / 1e9
        state = 'paused' if self._playback.is_paused else f'rate {self._playback.rate:g}'
        return f'{state}, {at_s:.2f} s, {self._outlets.played} messages'

    def _steer(self, changes: list[Parameter]) -> SetParametersResult:
        now_ns = time.monotonic_ns()
        for change in changes:
            if change.name == 'rate':
                self._playback.change_rate(float(change.value), now_ns)
            elif change.name == 'position_s':
                place_s = float(change.value)
                if not 0.0 <= place_s < float('inf'):
                    reason = f'position_s is {place_s}; allowed: 0 and more'
                    return SetParametersResult(successful=False, reason=reason)
                self._playback.seek(place_s, now_ns)
        return SetParametersResult(successful=True)

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        change = self._playback.pause if request.data else self._playback.resume
        change(time.monotonic_ns())
        response.success, response.message = True, self.summary()
        return response

    def _step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        count = self._outlets.publish(self._playback.step(self._steps, time.monotonic_ns()))
        response.success, response.message = count > 0, f'{count} messages; {self.summary()}'
        return response
