"""`ArmMirror`: a tabletop scene that follows the measured joints of an arm somewhere else.

It shows what an arm without anything around it, such as the simulated controller, would do at a
table. It is kinematic: nothing pushes the arm back, hands and things pass through each other. A
thing is attached to the hand when the fingers close around it, moves with the hand while they stay
closed, and falls on what is below it when they open. Nothing of that is evidence about grasping.
"""

from __future__ import annotations

import numpy as np

from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.errors import SimulationError
from structrl_ros.sim.arm_mirror.picture import MirrorPicture
from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.pick_and_place import CLOSING
from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.twin.publishing import Published
from structrl_ros.sim.twin.publishing import publish
from structrl_ros.sim.twin.state import NOTHING
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.state import begin
from structrl_ros.sim.twin.things import WIDTH
from structrl_ros.sim.twin.things import can_hold
from structrl_ros.sim.twin.things import centre_in_hand
from structrl_ros.sim.twin.things import fall
from structrl_ros.sim.twin.things import in_hand_frame
from structrl_ros.types import Float64
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8

#: Fingers this much farther apart than a thing is wide do not hold it, metres.
PLAY = 0.004
#: A hand slower than this rests, m/s. Nothing pushes a thing out of closed fingers here, so what
#: is between them is then held.
REST = 0.01
#: What stands in a scene that can be mirrored: nothing that a joint has to be moved of.
FIXTURES = ('bowl', 'basket')


def mirrored_tasks() -> tuple[str, ...]:
    """Return the tabletop tasks that an arm can be mirrored in: to pick and to place."""
    return tuple(name for name, task in tasks().items() if _can_be_mirrored(task))


def object_width(task: str) -> float:
    """Return the width at which fingers have closed around any object of a task, metres.

    Raises:
        SimulationError: If the task is unknown.
    """
    return min(thing.size[0] for thing in find_task(task).objects)


class ArmMirror:
    """One arm with its hand in the scene of one task; `follow` is given what the arm measures."""

    def __init__(self, *, robot: str = 'fr3', image_size: int = 224) -> None:
        """Prepare a mirror without a scene.

        Args:
            robot: Name of the arm's description; its tool is the hand.
            image_size: Width and height of pictures in pixels.

        Raises:
            ParameterError: If there is no such arm.
        """
        self._kinematics = Kinematics(load_robot(robot), 'hand')
        self._image_size = image_size
        self._scene: tuple[Published, TwinState] | None = None
        self._picture: MirrorPicture | None = None
        self._joints = np.zeros(len(self._kinematics.robot.joint_names))
        self._grip = (np.zeros(3), 0.0)

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene; the arm is where it was.

        Raises:
            SimulationError: If the task is unknown or cannot be mirrored, or a number is negative.
        """
        found = find_task(task)
        if not _can_be_mirrored(found):
            raise SimulationError(
                f'task {task!r} cannot be mirrored; allowed: {", ".join(mirrored_tasks())}'
            )
        if self._picture is None or self._picture.task is not found:
            self.close()
            self._picture = MirrorPicture(found, self._image_size)
        shown = publish(found, (), None)
        self._scene = shown, begin(draw_layout(found, [(seed, initial_state)]))
        return shown.info

    def follow(self, position: Float64, velocity: Float64, opening: float) -> None:
        """Take the arm's measured state.

        Args:
            position: Of the joints, rad, shape (7,).
            velocity: Of the joints, rad/s, shape (7,).
            opening: Distance between the fingers, metres.
        """
        shown, state = self._placed()
        end, jacobian = self._kinematics.forward_and_jacobian(position)
        was = float(state.opening[0]) * WIDTH
        self._joints = np.array(position)
        state.tcp[0], state.velocity[0] = end[:3, 3], jacobian[:3] @ velocity
        state.yaw[0] = np.arctan2(end[1, 1], end[0, 1])
        if state.in_hand[0] == NOTHING:
            self._take(state, shown.task, was, opening)
        held = int(state.in_hand[0])
        if held != NOTHING:
            width = shown.task.objects[held].size[0]
            self._carry(state, held)
            if opening > width + PLAY:
                state.in_hand[0] = NOTHING
            opening = max(opening, width)
        state.opening[0] = np.clip(opening / WIDTH, 0.0, 1.0)
        state.command[0] = CLOSE if state.opening[0] < CLOSING else OPEN
        # Two fingers grip the same after half a turn, and the experts keep within one and a half.
        state.yaw[0] = wrap(state.yaw[0], np.pi)
        fall(state, shown.task)
        state.step += 1

    def judge(self) -> tuple[tuple[bool, ...], bool]:
        """Return what is true now, in the order of `TaskInfo.predicate_names`, and success."""
        shown, state = self._placed()
        truth, success = shown.judge(state)
        return tuple(truth[0].tolist()), bool(success[0])

    def simulator_state(self) -> Float64:
        """Return the state as the kinematic twin packs it (`sim.twin.state`)."""
        return self._placed()[1].pack(0)

    def render(self, role: str) -> UInt8:
        """Return the picture of a camera role, uint8 RGB (size, size, 3); always from one thread.

        Raises:
            SimulationError: If OpenGL does not work here.
        """
        _, state = self._placed()
        assert self._picture is not None
        return self._picture.draw(state, self._joints, role)

    def vertical_fov(self, role: str) -> float:
        """Return the vertical field of view of a camera role, radians."""
        self._placed()
        assert self._picture is not None
        return self._picture.vertical_fov(role)

    def close(self) -> None:
        """Free the scene; a second call does nothing."""
        if self._picture is not None:
            self._picture.close()
        self._picture = self._scene = None

    def _take(self, state: TwinState, task: Task, was: float, now: float) -> None:
        """Attach the object that the fingers have closed around, or rest closed around."""
        state.opening[0] = 1.0  # `can_hold` asks what is between wide open fingers
        rests = float(np.linalg.norm(state.velocity[0])) < REST
        for slot, thing in enumerate(task.objects):
            width = thing.size[0]
            closes = now <= width + PLAY and (rests or was > width + PLAY)
            if closes and can_hold(state, thing, slot)[0]:
                shut = np.array([min(now, width) / WIDTH])
                centre_in_hand(state, thing, slot, np.array([True]), shut)
                along, across, up = (float(v[0]) for v in in_hand_frame(state, slot))
                turn = float(state.object_yaws[0, slot] - state.yaw[0])
                self._grip = np.array([along, across, up]), turn
                return

    def _carry(self, state: TwinState, slot: int) -> None:
        (along, across, up), turn = self._grip[0].tolist(), self._grip[1]
        cos, sin = np.cos(state.yaw[0]), np.sin(state.yaw[0])
        off = np.array([cos * along - sin * across, sin * along + cos * across, up])
        state.objects[0, slot] = state.tcp[0] + off
        state.object_yaws[0, slot] = state.yaw[0] + turn

    def _placed(self) -> tuple[Published, TwinState]:
        if self._scene is None:
            raise SimulationError('no scene; allowed: reset(task, seed, initial_state) first')
        return self._scene


def _can_be_mirrored(task: Task) -> bool:
    return all(fixture.kind in FIXTURES for fixture in task.fixtures)
