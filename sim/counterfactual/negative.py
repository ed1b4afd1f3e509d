"""The four operators that fail the task (Robo-Dopamine 2.0, Appendix A), on recorded states.

The arm, the fingers and every joint stay as recorded. What an operator draws at random is drawn
once for a trajectory, so that its frames are one coherent counterfactual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.progress.operators import Operator
from structrl_ros.sim.counterfactual.extra_geom import SHAPES
from structrl_ros.sim.counterfactual.extra_geom import ExtraGeom
from structrl_ros.sim.counterfactual.extra_geom import unlike
from structrl_ros.sim.counterfactual.handles import Handles
from structrl_ros.types import Float64

#: Inside this distance of the gripper in x and y a thing is in the grasp corridor, metres.
CORRIDOR_M = 0.10
#: How far things are moved out of it, metres.
ASIDE_M = 0.17
#: Things fit between fingers up to this half width, metres.
FINGER_HALF_M = 0.03


@dataclass(frozen=True, slots=True)
class Moment:
    """One frame of the source, and what its trajectory tells of the target.

    Attributes:
        is_held: Whether the fingers hold the target in this frame.
        was_held: Whether they do, or did in an earlier frame.
        first_pose: The target's pose in the first frame, shape (7,).
        carried_pose: Its pose relative to the tool when it was last held, shape (4, 4); None if
            it never was.
    """

    is_held: bool
    was_held: bool
    first_pose: Float64
    carried_pose: Float64 | None


class NegativeEdit:
    """One negative operator on one trajectory."""

    def __init__(
        self,
        operator: Operator,
        handles: Handles,
        target: str,
        data: Any,
        rng: np.random.Generator,
    ) -> None:
        """Draw what the operator draws.

        Args:
            operator: A negative one.
            handles: The scene.
            target: Name of the movable that the instruction is about at the onset.
            data: MuJoCo's data of the first frame.
            rng: Of the trajectory.
        """
        self._handles = handles
        self._target = target
        geoms = handles.drawn_geoms(target)
        self._half = _half_extents(handles.model, geoms)
        self._colour = unlike(_colour(handles.model, geoms), rng)
        self._shape = str(rng.choice(SHAPES))
        self._aside = ASIDE_M * self._free_direction(data, float(rng.uniform(0.0, 2.0 * np.pi)))
        self._apply: Callable[[Any, Any, Moment], list[ExtraGeom]] = {
            Operator.WRONG_OBJECT: self._wrong_object,
            Operator.EMPTY_GRASP: self._empty_grasp,
            Operator.NON_RELEASE: self._non_release,
            Operator.TARGET_REPLACEMENT: self._target_replacement,
        }[operator]

    def apply(self, model: Any, data: Any, moment: Moment) -> list[ExtraGeom]:
        """Change a scratch model and data to the counterfactual; return what is drawn besides."""
        return self._apply(model, data, moment)

    def _wrong_object(self, model: Any, data: Any, moment: Moment) -> list[ExtraGeom]:
        """Another thing where the target is; the target elsewhere."""
        pose = self._handles.pose(data, self._target)
        stranger = self._stranger(pose)
        self._put(
            data, moment.first_pose if moment.was_held else pose, is_aside=not moment.was_held
        )
        return [stranger]

    def _empty_grasp(self, model: Any, data: Any, moment: Moment) -> list[ExtraGeom]:
        """Nothing between the fingers; the target at its first place or beside the corridor."""
        pose = moment.first_pose if moment.was_held else self._handles.pose(data, self._target)
        self._put(data, pose, is_aside=not moment.was_held)
        return []

    def _non_release(self, model: Any, data: Any, moment: Moment) -> list[ExtraGeom]:
        """The target still in the hand, as it was carried."""
        if moment.is_held or moment.carried_pose is None:
            return []
        tool = np.eye(4)
        tool[:3, :3] = data.site_xmat[self._handles.site].reshape(3, 3)
        tool[:3, 3] = data.site_xpos[self._handles.site]
        self._set(data, pose_of(tool @ moment.carried_pose))
        return []

    def _target_replacement(self, model: Any, data: Any, moment: Moment) -> list[ExtraGeom]:
        """Something of the target's footprint in its place; everything else as it is."""
        pose = self._handles.pose(data, self._target)
        for geom in self._handles.drawn_geoms(self._target):
            hide(model, geom)
        return [self._stranger(pose)]

    def _stranger(self, pose: Float64) -> ExtraGeom:
        x, y, z = self._half
        narrow = min(x, y, FINGER_HALF_M)
        half = {
            'box': (narrow, max(x, y), z),
            'ellipsoid': (narrow, max(x, y), z),
            'cylinder': (narrow, narrow, z),
            'capsule': (narrow, narrow, max(z - narrow, 0.2 * z)),
        }[self._shape]
        matrix = matrix_of(pose)
        return ExtraGeom(self._shape, half, matrix[:3, 3], matrix[:3, :3], self._colour)

    def _put(self, data: Any, pose: Float64, *, is_aside: bool) -> None:
        """Place the target at a pose, beside it if asked for or if the gripper is there."""
        tool = data.site_xpos[self._handles.site]
        is_in_the_way = float(np.linalg.norm(pose[:2] - tool[:2])) < CORRIDOR_M
        moved = np.array(pose)
        if is_aside or is_in_the_way:
            moved[:2] += self._aside
        self._set(data, moved)

    def _free_direction(self, data: Any, turn: float) -> Float64:
        """Return the direction, of eight from `turn` on, with most room to other things."""
        here = self._handles.pose(data, self._target)[:2]
        names = [name for name in self._handles.movable if name != self._target]
        others = [self._handles.pose(data, name)[:2] for name in names]
        angles = turn + np.arange(8) * np.pi / 4.0
        ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        room = [
            min((float(np.linalg.norm(here + ASIDE_M * way - o)) for o in others), default=ASIDE_M)
            for way in ways
        ]
        best: Float64 = ways[int(np.argmax(np.minimum(room, ASIDE_M)))]
        return best

    def _set(self, data: Any, pose: Float64) -> None:
        at = self._handles.movable[self._target].address
        data.qpos[at : at + 7] = pose


def hide(model: Any, geom: int) -> None:
    """Make a geom of a scratch model invisible."""
    model.geom_matid[geom] = -1
    model.geom_rgba[geom, 3] = 0.0


def matrix_of(pose: Float64) -> Float64:
    """Return the transform (4, 4) of a pose: position, quaternion wxyz."""
    import mujoco

    matrix, rotation = np.eye(4), np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.asarray(pose[3:7], dtype=np.float64))
    matrix[:3, :3] = rotation.reshape(3, 3)
    matrix[:3, 3] = pose[:3]
    return matrix


def pose_of(matrix: Float64) -> Float64:
    """Return the pose, position and quaternion wxyz, of a transform (4, 4)."""
    import mujoco

    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, np.ascontiguousarray(matrix[:3, :3]).ravel())
    return np.concatenate([matrix[:3, 3], quat])


def _colour(model: Any, geoms: list[int]) -> Float64:
    """Return the RGB of the first geom, of its material where it has one (textures aside)."""
    if not geoms:
        return np.ones(3)
    material = int(model.geom_matid[geoms[0]])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geoms[0]]
    return np.array(rgba[:3], dtype=np.float64)


def _half_extents(model: Any, geoms: list[int]) -> tuple[float, float, float]:
    """Return the half extents of the box around geoms in their body's frame, metres."""
    corners = np.array([[sx, sy, sz] for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)])
    points = []
    for geom in geoms:
        centre, half = model.geom_aabb[geom].reshape(2, 3)
        matrix = matrix_of(np.concatenate([model.geom_pos[geom], model.geom_quat[geom]]))
        points.append((centre + corners * half) @ matrix[:3, :3].T + matrix[:3, 3])
    if not points:
        return (0.025, 0.025, 0.025)
    both = np.concatenate(points)
    x, y, z = (0.5 * (both.max(axis=0) - both.min(axis=0))).tolist()
    return (x, y, z)
