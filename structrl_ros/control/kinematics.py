"""Forward kinematics and Jacobian of an arm's `ee` in its base frame."""

from __future__ import annotations

import numpy as np

from structrl_ros.control.robot_description import RobotDescription
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.types import Float64


class Kinematics:
    """One arm with one tool; positions are of shape (J,), rad."""

    def __init__(self, robot: RobotDescription, tool: Float64 | str = 'hand') -> None:
        """Bind a tool.

        Args:
            robot: The arm.
            tool: Transform of `ee` to the flange, shape (4, 4), or the name of a tool.

        Raises:
            ParameterError: If there is no such tool.
        """
        self.robot = robot
        matrix = robot.tool(tool) if isinstance(tool, str) else np.asarray(tool, dtype=np.float64)
        self._end = robot.flange @ matrix

    def forward(self, position: Float64) -> Float64:
        """Return the transform of `ee` to the base, shape (4, 4)."""
        frame = self._frames(position)[-1] @ self._end
        return np.asarray(frame)

    def pose(self, position: Float64) -> Float64:
        """Return position (m) and quaternion xyzw of `ee` in the base frame, shape (7,)."""
        return pose_from_transform(self.forward(position))

    def frames(self, position: Float64) -> Float64:
        """Return the transforms of each joint's frame and of `ee` to the base, (J + 1, 4, 4)."""
        frames = self._frames(position)
        return np.array([*frames, frames[-1] @ self._end])

    def forward_and_jacobian(self, position: Float64) -> tuple[Float64, Float64]:
        """Return the transform of `ee`, and the geometric Jacobian in the base frame, (6, J).

        Rows: linear velocity of `ee` (m/s), then angular velocity (rad/s), a unit of joint
        velocity.
        """
        frames = self._frames(position)
        end = frames[-1] @ self._end
        axes = np.array([frame[:3, 2] for frame in frames])
        arms = end[:3, 3] - np.array([frame[:3, 3] for frame in frames])
        jacobian = np.empty((6, len(frames)))
        jacobian[:3] = np.cross(axes, arms).T
        jacobian[3:] = axes.T
        return np.asarray(end), jacobian

    def _frames(self, position: Float64) -> list[Float64]:
        frame = np.eye(4)
        frames = []
        cosines, sines = np.cos(position), np.sin(position)
        for origin, c, s in zip(self.robot.origins, cosines, sines, strict=True):
            frame = frame @ origin
            turned = frame.copy()
            turned[:, 0] = c * frame[:, 0] + s * frame[:, 1]
            turned[:, 1] = c * frame[:, 1] - s * frame[:, 0]
            frame = turned
            frames.append(frame)
        return frames
