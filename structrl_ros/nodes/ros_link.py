"""The trainer's place in a ROS graph: its node, and a lane for each sim_node that it drives."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial

import rclpy

from structrl_ros.nodes.contexts import open_context
from structrl_ros.nodes.message_pump import MessagePump
from structrl_ros.nodes.ros_lane import RosLane

#: Wall seconds for nodes that see each other to be connected.
SETTLE_S = 1.0


class RosLink:
    """Use `meet` first; `close` leaves the graph."""

    def __init__(
        self,
        namespaces: Sequence[str],
        *,
        tracked: bool,
        wants_state: bool,
        domain_id: int | None = None,
    ) -> None:
        """Join the graph, with one lane a namespace ('' is the root)."""
        self._tracked = tracked
        self._context = open_context(domain_id)
        self._node = rclpy.create_node(
            'trainer',
            context=self._context,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._pump = MessagePump(self._node)
        self.lanes = tuple(
            RosLane(self._node, self._pump, name, tracked=tracked, wants_state=wants_state)
            for name in namespaces
        )

    def meet(self, limit_s: float) -> None:
        """Wait until every body, and where asked for a tracker beside it, is connected.

        Raises:
            SimulationError: If one is not, or somebody else drives it, after the wall seconds.
        """
        for lane in self.lanes:
            self._pump.wait_until(lane.is_up, limit_s, lane.complaint)
            self._pump.wait_until(lane.is_alone, limit_s, lane.rivals)
            if self._tracked:
                line = f'{lane.label}: no tracker_node beside it came up'
                self._pump.wait_until(lane.has_tracker, limit_s, partial(str, line))
        if self._tracked:
            time.sleep(SETTLE_S)

    def wait(
        self,
        lane: RosLane,
        happened: Callable[[], bool],
        limit_s: float,
        complaint: Callable[[], str] | None = None,
    ) -> None:
        """Take messages until something of a lane happened.

        Raises:
            SimulationError: If it does not within the wall seconds, or the body is gone.
        """
        self._pump.wait_until(happened, limit_s, complaint or lane.complaint, lane.look)

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        if self._context.ok():
            self._pump.close()
            self._node.destroy_node()
            self._context.try_shutdown()
