"""`TeleopDesk`: what devices and the graph say in; takeovers and an operator's chunks out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from structrl_ros.control.operator_motion import MotionScale
from structrl_ros.control.operator_motion import operator_action
from structrl_ros.control.rotations import matrix_from_quaternion
from structrl_ros.control.takeover import Control
from structrl_ros.control.takeover import Takeover
from structrl_ros.control.takeover import TakeoverRules
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Intervention
from structrl_ros.types import OperatorCommand
from structrl_ros.types import Safety

#: Rows of an operator's chunk in real time: enough for one observation's age and the way, so few
#: that a device that fell silent stops moving the arm before the body's own watchdog does.
ROWS = 4
ACTION_SPACE = 'ee_delta_pose'


class TeleopDesk:
    """Holds the takeover, the newest action and the numbers of chunks.

    Attributes:
        takeover: Who is in control.
        episodes: Episodes that began, and of these those in which a person took over.
    """

    def __init__(
        self, rules: TakeoverRules, control_rate_hz: float, *, lockstep: bool = False
    ) -> None:
        """Begin without an episode.

        Args:
            rules: Of dead-man switches.
            control_rate_hz: Rows of a chunk a second.
            lockstep: The body waits: a chunk has one row and follows the one before.
        """
        self.takeover = Takeover(rules)
        self.episodes: tuple[int, int] = (0, 0)
        self._period_s = 1.0 / control_rate_hz
        self._lockstep = lockstep
        self._episode: Episode | None = None
        self._number = self._sent = 0
        self._pose: tuple[int, Float64] | None = None
        self._action: Float32 | None = None
        self._gripper = -1.0
        self._told = (False, '')

    def see_episode(self, episode: Episode) -> None:
        """Note the start or end of an episode; a takeover ends with either."""
        self.takeover.begin_episode()
        self._action = None
        if episode.ended:
            self._episode = None
            return
        began, taken = self.episodes
        self.episodes = (began + 1, taken)
        self._episode, self._number, self._sent, self._gripper = episode, 0, 0, -1.0

    def see_pose(self, stamp_ns: int, pose: Float64) -> None:
        """Note where the tool is: position (m) and quaternion xyzw in the base frame, (7,)."""
        self._pose = (stamp_ns, pose)

    def see_chunk(self, chunk: ActionChunk) -> None:
        """Note a chunk that anybody sent: numbers rise over all of them."""
        if self._is_mine(chunk.episode):
            self._number = max(self._number, chunk.chunk)
            if chunk.source != 'teleop' and len(chunk.actions):
                self._gripper = float(chunk.actions[-1, -1])

    def see_done(self, done: ChunkDone) -> None:
        """Note a chunk that the body is done with; what it executed tells the gripper's state."""
        if self._is_mine(done.episode):
            self._number = max(self._number, done.chunk)
            self._sent = 0
            if done.executed.size:
                self._gripper = float(done.executed[-1, -1])

    def see_safety(self, safety: Safety) -> None:
        """Note a stop that is latched, or that it was reset."""
        self.takeover.stop(safety.state.is_latched)

    def see_release(self, intervention: Intervention) -> None:
        """Note that somebody else, as the console, ended the takeover."""
        if not intervention.active and intervention.device != self._told[1]:
            self.takeover.let_go()
            self._told = (False, '')

    def take(
        self, command: OperatorCommand, scale: MotionScale, now_ns: int, *, tool: bool = False
    ) -> None:
        """Take a device's reading.

        Args:
            command: The reading.
            scale: What its motion means.
            now_ns: Now, on a steady clock.
            tool: Whether it is meant in the tool's frame whatever the scale says.
        """
        if not self.takeover.command(command.device, command.engaged, now_ns):
            return
        rotation = np.eye(3) if self._pose is None else matrix_from_quaternion(self._pose[1][3:])
        if tool:
            scale = replace(scale, frame='tool')
        self._action = operator_action(command, scale, rotation, self._gripper)
        self._gripper = float(self._action[-1])

    def tick(self, steady_ns: int, body_ns: int) -> tuple[Intervention | None, ActionChunk | None]:
        """Return what is to be published now.

        Args:
            steady_ns: Now, on the clock of `take`.
            body_ns: Now, on the body's clock: the stamp of a takeover.

        Returns:
            A takeover or release if that is news, and a chunk if a person moves the arm.
        """
        self.takeover.tick(steady_ns)
        if self.takeover.control is not Control.OPERATOR:
            self._action = None
        return self._news(body_ns), self._chunk()

    def _news(self, body_ns: int) -> Intervention | None:
        now = (self.takeover.is_taken, self.takeover.device)
        if now == self._told or self._episode is None:
            return None
        device = now[1] or self._told[1]
        if now[0] and not self._told[0]:
            self.episodes = (self.episodes[0], self.episodes[1] + 1)
        self._told = now
        action = np.zeros(0, np.float32) if self._action is None else self._action
        return Intervention(body_ns, self._episode.episode, now[0], device, action)

    def _chunk(self) -> ActionChunk | None:
        if self._action is None or self._episode is None or self._pose is None:
            return None
        if self._lockstep and self._sent:
            return None
        self._number += 1
        self._sent = self._number
        return ActionChunk(
            stamp_ns=self._pose[0],
            episode=self._episode.episode,
            chunk=self._number,
            source='teleop',
            action_space=ACTION_SPACE,
            step_period=self._period_s,
            actions=np.tile(self._action, (1 if self._lockstep else ROWS, 1)),
        )

    def _is_mine(self, episode: int) -> bool:
        return self._episode is not None and episode == self._episode.episode
