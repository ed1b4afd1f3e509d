"""mirror_node: a kinematic scene around an arm that somebody else moves.

It hears the observed joints, and publishes what a table around that arm would show: pictures,
truth for each chunk, and the privileged state for a scripted expert. It never publishes a command.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.node import Node

from structrl_ros.nodes.body_camera import BodyCamera
from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.parameters import declare
from structrl_ros.nodes.spinning import run_node
from structrl_ros.params.mirror import MirrorParameters
from structrl_ros.sim.arm_mirror.mirror import ArmMirror
from structrl_ros.sim.arm_mirror.picture import ROLES
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float64
from structrl_ros.types import Predicates
from structrl_ros.types import SimulatorState
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.chunk_codecs import chunk_done_from_message
from structrl_ros.wire.proprioception_codecs import joints_from_message

#: What the arm itself publishes.
OF_THE_ARM = (
    *(topics.JOINT_STATES, topics.EE_POSE, topics.WRENCH, topics.CHUNK_DONE),
    *(topics.EPISODE, topics.SAFETY, topics.CLOCK),
)
JOINTS, FINGERS = 7, 2


class MirrorNode(Node):
    """Follows the arm's topics; everything happens in the executor's thread."""

    def __init__(self, **options: Any) -> None:
        """Declare parameters, check the scene and subscribe.

        Raises:
            StructRLError: If a parameter is not allowed, or the task cannot be mirrored.
        """
        super().__init__('mirror_node', **options)
        self._settings = p = declare(self, MirrorParameters)
        self._mirror = ArmMirror(robot=p.robot, image_size=p.image_size)
        self._info = self._mirror.reset(p.scene_task, p.seed, p.initial_state)
        self._publisher = BodyPublisher(self, ROLES, without=OF_THE_ARM)
        self._camera = BodyCamera(
            self._mirror, self._publisher, lockstep=False, rate_hz=p.camera_rate_hz
        )
        self._episode = self._chunk = self._step = self._greeted = 0
        self._truth = (False,) * len(self._info.predicate_names)
        self._success = False
        joints_of_the_arm = partial(joints_from_message, count=JOINTS + FINGERS)
        hear(self, topics.EPISODE, episode_from_message, self._on_episode)
        hear(self, topics.JOINT_STATES, joints_of_the_arm, self._on_joints)
        hear(self, topics.CHUNK_DONE, chunk_done_from_message, self._on_done)

    def close(self) -> None:
        """Free OpenGL."""
        self._mirror.close()

    def _on_episode(self, episode: Episode) -> None:
        """Set the scene anew at the start of each episode."""
        if episode.ended or episode.episode == self._episode:
            return
        p = self._settings
        self._mirror.reset(p.scene_task, p.seed, p.initial_state)
        self._camera.restart()
        self._episode, self._chunk, self._step, self._greeted = episode.episode, 0, 0, 0
        self._truth, self._success = (False,) * len(self._truth), False

    def _on_joints(self, joints: tuple[int, Float64, Float64]) -> None:
        if not self._episode:
            return
        stamp_ns, position, velocity = joints
        opening = float(position[JOINTS:].sum())
        self._mirror.follow(position[:JOINTS], velocity[:JOINTS], opening)
        self._step += 1
        now, success = self._mirror.judge()
        self._truth = tuple(a or b for a, b in zip(self._truth, now, strict=True))
        self._success = self._success or success
        self._greet(stamp_ns)
        self._publisher.state(self._state(stamp_ns))
        self._camera.publish(stamp_ns)

    def _on_done(self, done: ChunkDone) -> None:
        """Tell what was true at any time of the chunk, and begin the next one."""
        if done.episode != self._episode:
            return
        self._chunk = done.chunk
        self._publisher.predicates(self._predicates(done.stamp_ns))
        self._truth, self._success = self._mirror.judge()

    def _greet(self, stamp_ns: int) -> None:
        """Tell everybody who comes before the first chunk what is true at the start."""
        if self._chunk == 0:
            readers = self._publisher.readers()[topics.PREDICATES]
            if readers > self._greeted:
                self._publisher.predicates(self._predicates(stamp_ns))
            self._greeted = readers

    def _predicates(self, stamp_ns: int) -> Predicates:
        return Predicates(
            stamp_ns=stamp_ns,
            episode=self._episode,
            chunk=self._chunk,
            step=self._step,
            names=self._info.predicate_names,
            values=self._truth,
            success=self._success,
        )

    def _state(self, stamp_ns: int) -> SimulatorState:
        p = self._settings
        return SimulatorState(
            stamp_ns=stamp_ns,
            episode=self._episode,
            chunk=self._chunk,
            step=self._step,
            task=self._info.task,
            seed=p.seed,
            initial_state=p.initial_state,
            state=self._mirror.simulator_state(),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM."""
    return run_node('mirror_node', lambda _: MirrorNode(), lambda node, _: node.close(), arguments)


if __name__ == '__main__':
    sys.exit(main())
