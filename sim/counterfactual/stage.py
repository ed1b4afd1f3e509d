"""`CounterfactualStage`: pictures of recorded states as an operator would have them."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.ports import Body
from structrl_ros.progress.operators import Edit
from structrl_ros.sim.counterfactual.extra_geom import ExtraGeom
from structrl_ros.sim.counterfactual.extra_geom import draw_extra
from structrl_ros.sim.counterfactual.handles import Handles
from structrl_ros.sim.counterfactual.handles import handles_of
from structrl_ros.sim.counterfactual.negative import Moment
from structrl_ros.sim.counterfactual.negative import NegativeEdit
from structrl_ros.sim.counterfactual.negative import matrix_of
from structrl_ros.sim.counterfactual.robust import RobustEdit
from structrl_ros.sim.libero.graphics import open_renderer
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Share of the pixels that an operator must change to be there at all.
LEAST_CHANGE = 0.004
#: Levels by which a pixel must differ to count as changed.
_LEVELS = 12
#: Draws of a persistent operator until one is seen; what it draws may be hidden.
_REDRAWS = 12


def changed_share(picture: UInt8, other: UInt8) -> float:
    """Return the share of pixels that differ by more than a few levels, pictures (S, S, 3)."""
    difference = np.abs(picture.astype(np.int16) - other.astype(np.int16)).max(axis=-1)
    return float((difference > _LEVELS).mean())


@dataclass(frozen=True, slots=True)
class Take:
    """What a recorded state tells an operator.

    Attributes:
        state: `Body.simulator_state()`, shape (S,).
        truth: Predicates that are true, by name.
        held: Movable that the fingers hold, '' if none.
    """

    state: Float64
    truth: dict[str, bool]
    held: str


class CounterfactualStage:
    """Renders a body's recorded states, as they were or edited; the body's scene stays whole.

    The body must have been reset to the task, seed and initial state of the recording. Pictures
    come from a scratch copy of the model, so no edit outlives its picture.
    """

    def __init__(self, body: Body, size: int = 128) -> None:
        """Take a body with a scene, and open OpenGL on the calling thread.

        Raises:
            ParameterError: If the body has no scene that operators know.
            SimulationError: If OpenGL does not work on this machine.
        """
        import mujoco

        self._mujoco = mujoco
        self._body = body
        self.handles: Handles = handles_of(body)
        self._thread = threading.get_ident()
        self._model: Any = copy.copy(self.handles.model)
        self._data: Any = mujoco.MjData(self._model)
        self._looks = {
            name: getattr(self._model, name).copy()
            for name in ('geom_rgba', 'geom_matid', 'mat_rgba')
        }
        self._options = mujoco.MjvOption()
        for group in self.handles.hidden_groups:
            self._options.geomgroup[group] = 0
        self._renderer: Any = open_renderer(self._model, size)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._renderer.scene.flags[flag] = 0

    def look(self, state: Float64) -> Take:
        """Set the body to a recorded state, and tell what is true there."""
        self._body.set_simulator_state(state)
        return Take(np.array(state), self.handles.truth(), self.handles.held())

    def render(self, take: Take, role: str) -> UInt8:
        """Return the picture of a recorded state as it was, RGB (S, S, 3)."""
        self._begin(take)
        return self._draw(role, [])

    def edits(
        self,
        takes: Sequence[Take],
        edit: Edit,
        target: str,
        protected: frozenset[str],
        seed: int,
    ) -> EditedTakes:
        """Return the counterfactual of a trajectory.

        Args:
            takes: All frames of the source, in order.
            edit: The operator and its frames.
            target: The movable that the instruction is about at the onset; robust operators
                need none.
            protected: All movables that the task is about.
            seed: Of what the operator draws.

        Raises:
            ParameterError: If a negative operator's target is no movable of the scene.
        """
        if edit.operator.is_negative and target not in self.handles.movable:
            raise ParameterError(
                f'target {target!r}; allowed: {", ".join(sorted(self.handles.movable))}'
            )
        made = EditedTakes(self, takes, edit, target, protected, seed)
        for attempt in range(1, _REDRAWS):
            if not edit.operator.is_persistent or self._is_seen(made, takes[0]):
                break
            made = EditedTakes(self, takes, edit, target, protected, seed + attempt)
        return made

    def _is_seen(self, made: EditedTakes, first: Take) -> bool:
        """Return whether the first frame looks other in some camera."""
        return any(
            changed_share(self.render(first, role), made.render(0, role)) >= LEAST_CHANGE
            for role in self.handles.cameras
        )

    def close(self) -> None:
        """Free OpenGL; a second call does nothing."""
        if self._renderer is not None:
            self._renderer.close()
        self._renderer = None

    def _begin(self, take: Take) -> tuple[Any, Any]:
        """Copy a recorded state to the scratch data, with the model's own looks."""
        self._body.set_simulator_state(take.state)
        source = self.handles.data
        self._model.body_pos[:] = self.handles.model.body_pos
        self._model.body_quat[:] = self.handles.model.body_quat
        for name, values in self._looks.items():
            getattr(self._model, name)[:] = values
        self._data.qpos[:] = source.qpos
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        return self._model, self._data

    def _draw(self, role: str, extra: list[ExtraGeom]) -> UInt8:
        if threading.get_ident() != self._thread:
            raise SimulationError('pictures must be rendered from the thread of the first one')
        if role not in self.handles.cameras:
            raise SimulationError(
                f'no camera {role!r}; allowed: {", ".join(self.handles.cameras)}'
            )
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, self.handles.cameras[role], self._options)
        draw_extra(self._renderer.scene, extra)
        picture: UInt8 = self._renderer.render()
        return picture


class EditedTakes:
    """One operator on one trajectory; frames can be drawn in any order."""

    def __init__(
        self,
        stage: CounterfactualStage,
        takes: Sequence[Take],
        edit: Edit,
        target: str,
        protected: frozenset[str],
        seed: int,
    ) -> None:
        self._stage = stage
        self._takes = takes
        self.edit = edit
        self.target = target
        _, first = stage._begin(takes[0])
        rng = np.random.default_rng([seed, *edit.operator.encode()])
        self._negative: NegativeEdit | None = None
        self._robust: RobustEdit | None = None
        if edit.operator.is_negative:
            self._negative = NegativeEdit(edit.operator, stage.handles, target, first, rng)
            self._moments = self._find_moments()
        else:
            self._robust = RobustEdit(edit.operator, stage.handles, protected, rng)

    def render(self, frame: int, role: str) -> UInt8:
        """Return the edited picture of a frame, RGB (S, S, 3).

        Raises:
            ParameterError: If the operator does not edit the frame.
        """
        if frame not in self.edit.frames:
            raise ParameterError(
                f'frame {frame}; allowed: {self.edit.start} to {self.edit.stop - 1}, which '
                f'{self.edit.operator.value} edits'
            )
        stage = self._stage
        model, data = stage._begin(self._takes[frame])
        if self._negative is not None:
            extra = self._negative.apply(model, data, self._moments[frame])
        else:
            assert self._robust is not None
            extra = self._robust.apply(model, data, stage.handles.cameras[role])
        return stage._draw(role, extra)

    def _find_moments(self) -> list[Moment]:
        handles = self._stage.handles
        first = handles.pose(self._stage._begin(self._takes[0])[1], self.target)
        carried: Float64 | None = None
        moments = []
        for take in self._takes:
            is_held = take.held == self.target
            if is_held:
                _, data = self._stage._begin(take)
                tool = np.eye(4)
                tool[:3, :3] = data.site_xmat[handles.site].reshape(3, 3)
                tool[:3, 3] = data.site_xpos[handles.site]
                carried = np.linalg.inv(tool) @ matrix_of(handles.pose(data, self.target))
            moments.append(Moment(is_held, carried is not None, first, carried))
        return moments
