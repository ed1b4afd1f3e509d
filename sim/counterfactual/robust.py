"""The four operators that keep the task (Robo-Dopamine 2.0, Appendix A), on recorded states.

Arm, target, joints and contacts stay as recorded; what is drawn at random is drawn once for a
trajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structrl_ros.progress.operators import Operator
from structrl_ros.sim.counterfactual.extra_geom import PALETTE
from structrl_ros.sim.counterfactual.extra_geom import SHAPES
from structrl_ros.sim.counterfactual.extra_geom import ExtraGeom
from structrl_ros.sim.counterfactual.handles import Handles
from structrl_ros.sim.counterfactual.negative import hide
from structrl_ros.types import Float64

#: Distractors stand at least this far from movables and from the tool at the start, metres.
ROOM_M = 0.14
#: Where they may stand around the robot's workspace centre, metres.
SPREAD_M = (0.30, 0.40)
#: Part of the way from the camera to the tool at which an occluder stands.
OCCLUDER_AT = 0.35
#: Half its width over half the picture's width there.
OCCLUDER_SHARE = (0.18, 0.30)


class RobustEdit:
    """One robust operator on one trajectory."""

    def __init__(
        self,
        operator: Operator,
        handles: Handles,
        protected: frozenset[str],
        rng: np.random.Generator,
    ) -> None:
        """Draw what the operator draws.

        Args:
            operator: A robust one.
            handles: The scene in its first frame.
            protected: Movables that the task is about; they are neither hidden nor recoloured.
            rng: Of the trajectory.
        """
        self._handles = handles
        self._rng = rng
        self._protected = protected
        prepare: Callable[[], Callable[[Any, Any, str], list[ExtraGeom]]] = {
            Operator.FOREGROUND_OCCLUSION: self._occlusion,
            Operator.BACKGROUND_CHANGE: self._background,
            Operator.DISTRACTOR_CHANGE: self._distractors,
            Operator.NON_TARGET_COLOUR: self._colour,
        }[operator]
        self._apply = prepare()

    def apply(self, model: Any, data: Any, camera: str) -> list[ExtraGeom]:
        """Change a scratch model's looks; return what is drawn besides, for one camera."""
        return self._apply(model, data, camera)

    def _occlusion(self) -> Callable[[Any, Any, str], list[ExtraGeom]]:
        rng = self._rng
        share = float(rng.uniform(*OCCLUDER_SHARE))
        aside = rng.uniform(-0.25, 0.25, 2)
        colour = PALETTE[int(rng.integers(len(PALETTE)))]
        stretch = float(rng.uniform(0.7, 1.6))
        site = self._handles.site

        def apply(model: Any, data: Any, camera: str) -> list[ExtraGeom]:
            number = model.camera(camera).id
            eye = np.array(data.cam_xpos[number])
            axes = data.cam_xmat[number].reshape(3, 3)
            way = data.site_xpos[site] - eye
            depth = OCCLUDER_AT * float(-axes[:, 2] @ way)
            depth = max(depth, 4.0 * float(model.vis.map.znear * model.stat.extent))
            wide = depth * float(np.tan(np.deg2rad(model.cam_fovy[number]) / 2.0))
            centre = eye + depth / max(float(-axes[:, 2] @ way), 1e-6) * way
            centre = centre + wide * (axes[:, :2] @ aside)
            half = (share * wide, share * wide * stretch, 0.005)
            return [ExtraGeom('box', half, centre, axes.copy(), colour)]

        return apply

    def _background(self) -> Callable[[Any, Any, str], list[ExtraGeom]]:
        rng, scenery = self._rng, self._handles.scenery
        count = min(len(scenery), int(rng.integers(1, 3)))
        chosen = rng.choice(scenery, size=count, replace=False) if count else ()
        return self._painter({int(geom): rng.uniform(0.35, 0.9, 3) for geom in chosen})

    def _colour(self) -> Callable[[Any, Any, str], list[ExtraGeom]]:
        rng, handles = self._rng, self._handles
        bodies: dict[int, list[int]] = {}
        spared = {handles.movable[name].body for name in self._protected}
        robot = _root(handles.model, int(handles.model.site_bodyid[handles.site]))
        for geom in range(handles.model.ngeom):
            root = _root(handles.model, int(handles.model.geom_bodyid[geom]))
            is_drawn = int(handles.model.geom_group[geom]) not in handles.hidden_groups
            if root not in {*spared, robot, 0} and geom not in handles.scenery and is_drawn:
                bodies.setdefault(root, []).append(geom)
        count = min(len(bodies), int(rng.integers(1, 3)))
        chosen = rng.choice(sorted(bodies), size=count, replace=False) if count else ()
        tints: dict[int, Float64] = {}
        for root in chosen:
            tint = np.array(PALETTE[int(rng.integers(len(PALETTE)))])
            tints |= dict.fromkeys(bodies[int(root)], tint)
        return self._painter(tints)

    def _painter(self, tints: dict[int, Float64]) -> Callable[[Any, Any, str], list[ExtraGeom]]:
        """Return what tints geoms; a material that others share is left alone."""
        owned = self._handles.model.geom_matid
        others = {int(owned[g]) for g in range(len(owned)) if g not in tints}

        def apply(model: Any, data: Any, camera: str) -> list[ExtraGeom]:
            for geom, tint in tints.items():
                material = int(owned[geom])
                if material >= 0 and material not in others:
                    model.mat_rgba[material] = [*tint, 1.0]
                else:
                    model.geom_matid[geom] = -1
                    model.geom_rgba[geom] = [*tint, 1.0]
            return []

        return apply

    def _distractors(self) -> Callable[[Any, Any, str], list[ExtraGeom]]:
        rng, handles = self._rng, self._handles
        removable = sorted(set(handles.movable) - self._protected)
        if removable and rng.random() < 0.5:
            name = str(rng.choice(removable))

            def remove(model: Any, data: Any, camera: str) -> list[ExtraGeom]:
                for geom in handles.drawn_geoms(name):
                    hide(model, geom)
                return []

            return remove
        added = [g for g in (self._distractor() for _ in range(int(rng.integers(1, 4)))) if g]
        return lambda model, data, camera: added

    def _distractor(self) -> ExtraGeom | None:
        """Return a shape on the table with room around it, None if there is no such place."""
        rng, handles, data = self._rng, self._handles, self._handles.data
        poses = [handles.pose(data, name) for name in handles.movable]
        taken = [pose[:2] for pose in poses] + [np.array(data.site_xpos[handles.site][:2])]
        centre = np.mean(taken, axis=0)
        half = rng.uniform(0.015, 0.035, 3)
        for _ in range(50):
            place = centre + rng.uniform(-1.0, 1.0, 2) * SPREAD_M
            floor = self._height(place)
            if floor is None or min(np.linalg.norm(place - t) for t in taken) < ROOM_M:
                continue
            shape = str(rng.choice(SHAPES))
            rise = half[2] + (half[0] if shape == 'capsule' else 0.0)
            colour = PALETTE[int(rng.integers(len(PALETTE)))]
            turn = _turn(float(rng.uniform(0.0, np.pi)))
            x, y, z = half.tolist()
            return ExtraGeom(shape, (x, y, z), np.array([*place, floor + rise]), turn, colour)
        return None

    def _height(self, place: Float64) -> float | None:
        """Return the height of the scenery under a place; None where something else is there."""
        import mujoco

        handles = self._handles
        geom = np.array([-1], dtype=np.int32)
        top = np.array([*place, 2.0])
        down = np.array([0.0, 0.0, -1.0])
        distance = mujoco.mj_ray(handles.model, handles.data, top, down, None, 1, -1, geom)
        name = handles.model.body(handles.model.geom_bodyid[geom[0]]).name if geom[0] >= 0 else ''
        height = 2.0 - float(distance)
        lowest = min(float(handles.pose(handles.data, n)[2]) for n in handles.movable) - 0.15
        is_scenery = geom[0] in handles.scenery or name in ('table', 'world')
        return height if is_scenery and height > lowest else None


def _root(model: Any, body: int) -> int:
    return int(model.body_rootid[body])


def _turn(yaw: float) -> Float64:
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
