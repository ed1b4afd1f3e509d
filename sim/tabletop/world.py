"""One MuJoCo scene of a task: placing, stepping, its state as a vector, and its view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.control.rotations import quaternion_from_matrix
from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.arm import PERIOD_S
from structrl_ros.sim.tabletop.arm import ArmControl
from structrl_ros.sim.tabletop.layout import Layout
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.mjcf.fixtures import joint_name
from structrl_ros.sim.tabletop.mjcf.robot import FINGER_OPEN
from structrl_ros.sim.tabletop.mjcf.robot import PADS
from structrl_ros.sim.tabletop.mjcf.robot import TCP
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.sim.tabletop.mjcf.scene import free_joint_name
from structrl_ros.sim.tabletop.mjcf.scene import scene_xml
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.tabletop.view import make_view
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Seconds after a reset in which things come to rest, the arm standing still.
SETTLING_S = 0.2


class TabletopWorld:
    """The scene of one task; `place` begins an episode.

    Positions, contacts and velocities in `data` always belong to the present state. The state
    vector holds MuJoCo's integration state (time, positions, velocities, set points, warm start),
    then for each fixture slot whether its joint has been at `done` in this episode, and the
    direction in which the tool is to point (3).
    """

    def __init__(self, task: Task, physics: Physics) -> None:
        """Build the model (milliseconds).

        Raises:
            SimulationError: If the timestep does not divide the control period.
        """
        import mujoco

        self._mujoco = mujoco
        self.task = task
        self._substeps = round(PERIOD_S / physics.timestep_s)
        if abs(self._substeps * physics.timestep_s - PERIOD_S) > 1e-9:
            raise SimulationError(
                f'timestep {physics.timestep_s} s; allowed: one that divides {PERIOD_S} s'
            )
        self.model: Any = mujoco.MjModel.from_xml_string(scene_xml(task, physics))
        self.data: Any = mujoco.MjData(self.model)
        self.arm = ArmControl(mujoco, self.model)
        self._kind = mujoco.mjtState.mjSTATE_INTEGRATION
        self._size = mujoco.mj_stateSize(self.model, self._kind)
        self._site = self.model.site(TCP).id
        self._bind()
        self._reached = np.zeros(FIXTURE_SLOTS, dtype=np.bool_)
        self._view: WorldView | None = None

    def place(self, seed: int, initial_state: int) -> None:
        """Begin an episode: everything where the layout of (seed, initial state) has it, at rest.

        Raises:
            SimulationError: If the seed or the initial state is negative.
        """
        layout = draw_layout(self.task, [(seed, initial_state)])
        mujoco, model, data = self._mujoco, self.model, self.data
        mujoco.mj_resetData(model, data)
        self._place_things(layout)
        joints = self.arm.reach(layout.tcp[0], float(layout.yaw[0]))
        self.arm.place(data, joints)
        self._reached[:] = False
        mujoco.mj_step(model, data, round(SETTLING_S / model.opt.timestep))
        self._refresh()

    def step(self, action: Float32) -> None:
        """Advance by one control period with an action of shape (7,)."""
        self.arm.command(self.data, action)
        self._mujoco.mj_step(self.model, self.data, self._substeps)
        self._refresh()
        self._reached |= self._joints >= self._done

    @property
    def view(self) -> WorldView:
        """What a privileged expert sees now, one lane."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def tool_pose(self) -> tuple[Float64, Float64]:
        """Return the tool's position (3,) and quaternion xyzw (4,) in the base frame."""
        rotation = self.data.site_xmat[self._site].reshape(3, 3)
        return self.data.site_xpos[self._site].copy(), quaternion_from_matrix(rotation)

    def state(self) -> Float64:
        """Return the whole state, float64."""
        physics = np.empty(self._size)
        self._mujoco.mj_getState(self.model, self.data, physics, self._kind)
        return np.concatenate([physics, self._reached, self.arm.pointing])

    def set_state(self, state: Float64) -> None:
        """Set the whole state.

        Raises:
            SimulationError: If the vector has another size or is not finite.
        """
        size = self._size + FIXTURE_SLOTS + 3
        if np.shape(state) != (size,) or not np.isfinite(state).all():
            raise SimulationError(
                f'simulator state of shape {np.shape(state)}; allowed: {size} finite numbers of '
                f'task {self.task.name}'
            )
        # MuJoCo takes a writeable vector alone; one out of a message or a bag is none.
        physics = np.array(state[: self._size], dtype=np.float64)
        self._mujoco.mj_setState(self.model, self.data, physics, self._kind)
        self._refresh()
        self._reached = state[self._size : -3] > 0.5
        self.arm.pointing = np.array(state[-3:])

    def _refresh(self) -> None:
        """Compute what follows from positions and velocities; the solver's state stays."""
        self._mujoco.mj_fwdPosition(self.model, self.data)
        self._mujoco.mj_comVel(self.model, self.data)
        self._joints = np.where(self._has_joint, self.data.qpos[self._joint_places], 0.0)
        self._view = None

    def _bind(self) -> None:
        """Look up where in MuJoCo's arrays everything is."""
        model, task = self.model, self.task
        self._has_joint = np.zeros(FIXTURE_SLOTS, dtype=np.bool_)
        self._joint_places = np.zeros(FIXTURE_SLOTS, dtype=np.intp)
        self._done = np.full(FIXTURE_SLOTS, np.inf)
        self._fixtures = np.array([model.body(f.name).id for f in task.fixtures], dtype=np.intp)
        self._objects = np.array([model.body(o.name).id for o in task.objects], dtype=np.intp)
        for slot, fixture in enumerate(task.fixtures):
            if fixture.joint is not None:
                self._has_joint[slot] = True
                self._joint_places[slot] = model.joint(joint_name(fixture)).qposadr[0]
                self._done[slot] = fixture.joint.done
        self._labels = self._label_geoms()

    def _label_geoms(self) -> NDArray[np.int64]:
        """Label geoms: 0 nothing, 1 and 2 the two finger pads, 3 + i object i; (ngeom,)."""
        labels = np.zeros(self.model.ngeom, dtype=np.int64)
        for slot, body in enumerate(self._objects):
            labels[self.model.geom_bodyid == body] = 3 + slot
        for label, pad in enumerate(PADS, start=1):
            labels[self.model.geom(pad).id] = label
        return labels

    def _place_things(self, layout: Layout) -> None:
        model, data = self.model, self.data
        for slot, fixture in enumerate(self.task.fixtures):
            position, turn = layout.fixtures[0, slot], layout.fixture_yaws[0, slot]
            if fixture.free:
                self._place_free(fixture.name, position, turn)
            else:
                model.body_pos[self._fixtures[slot]] = position
                model.body_quat[self._fixtures[slot]] = _turned(turn)
        for slot, thing in enumerate(self.task.objects):
            self._place_free(thing.name, layout.objects[0, slot], layout.object_yaws[0, slot])
        data.qvel[:] = 0.0

    def _place_free(self, name: str, position: Float64, yaw: float) -> None:
        at = self.model.joint(free_joint_name(name)).qposadr[0]
        self.data.qpos[at : at + 3] = position
        self.data.qpos[at + 3 : at + 7] = _turned(yaw)

    def _held(self) -> NDArray[np.bool_]:
        """Return which objects both finger pads touch, shape (OBJECT_SLOTS,)."""
        held = np.zeros((2, OBJECT_SLOTS), dtype=np.bool_)
        pairs = self._labels[self.data.contact.geom[: self.data.ncon]]
        for first, second in pairs[pairs.all(axis=1)].tolist():
            pad, thing = min(first, second), max(first, second)
            if pad < 3 <= thing:
                held[pad - 1, thing - 3] = True
        return held[0] & held[1]

    def _make_view(self) -> WorldView:
        data = self.data
        speed = np.empty(6)
        kind = self._mujoco.mjtObj.mjOBJ_SITE
        self._mujoco.mj_objectVelocity(self.model, data, kind, self._site, speed, 0)
        hand = data.site_xmat[self._site]
        fixtures, fixture_yaws = self._poses(self._fixtures, FIXTURE_SLOTS)
        objects, object_yaws = self._poses(self._objects, OBJECT_SLOTS)
        left, right = self.arm.fingers(data).tolist()
        opening = min(max((left + right) / (2.0 * FINGER_OPEN), 0.0), 1.0)
        return make_view(
            self.task,
            tcp=data.site_xpos[self._site][None].copy(),
            velocity=speed[None, 3:],
            yaw=np.array([np.arctan2(hand[4], hand[1])]),
            opening=np.array([opening]),
            fixtures=fixtures,
            fixture_yaws=fixture_yaws,
            joints=self._joints[None],
            reached=self._reached[None].copy(),
            objects=objects,
            object_yaws=object_yaws,
            held=self._held()[None],
        )

    def _poses(self, bodies: NDArray[np.intp], slots: int) -> tuple[Float64, Float64]:
        """Return positions (1, slots, 3) and yaws (1, slots) of bodies; zero beyond them."""
        positions, yaws = np.zeros((1, slots, 3)), np.zeros((1, slots))
        positions[0, : len(bodies)] = self.data.xpos[bodies]
        matrices = self.data.xmat[bodies]
        np.arctan2(matrices[:, 3], matrices[:, 0], out=yaws[0, : len(bodies)])
        return positions, yaws


def _turned(yaw: float) -> tuple[float, float, float, float]:
    """Return the quaternion wxyz of a turn about z."""
    return float(np.cos(yaw / 2.0)), 0.0, 0.0, float(np.sin(yaw / 2.0))
