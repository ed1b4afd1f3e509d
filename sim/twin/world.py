"""`TwinWorld`: B lanes of the kinematic twin behind the VectorWorld port."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.perception import perceive
from structrl_ros.sim.tabletop.perception import perceived_offset
from structrl_ros.sim.tabletop.task_data import PREDICATE_SLOTS
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.twin.body import SPEC
from structrl_ros.sim.twin.body import check_options
from structrl_ros.sim.twin.dynamics import step
from structrl_ros.sim.twin.picture import draw
from structrl_ros.sim.twin.publishing import Published
from structrl_ros.sim.twin.publishing import publish
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.state import begin
from structrl_ros.sim.twin.state import empty_state
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import Int
from structrl_ros.world_types import WorldSpec


class TwinWorld:
    """Lanes may play different tasks; what a lane does depends on its start and actions alone."""

    def __init__(
        self,
        lanes: int,
        *,
        image_size: int = 96,
        horizon_steps: int | None = None,
        checkpoints: Sequence[str] = (),
        **settings: float,
    ) -> None:
        """Make lanes without scenes.

        Args:
            lanes: B, 1 or more.
            image_size: Width and height of pictures in pixels, 16 to 1024.
            horizon_steps: Limit of an episode in low-level steps; None for the task's.
            checkpoints: Names of checkpoints to publish after the predicates of every task.
            **settings: See `TwinSettings`.

        Raises:
            SimulationError: If an argument is outside its range.
        """
        if lanes < 1:
            raise SimulationError(f'{lanes} lanes; allowed: 1 or more')
        check_options(image_size, horizon_steps)
        self.spec = WorldSpec(
            body=SPEC,
            lanes=lanes,
            feature_names=FEATURE_NAMES,
            predicate_slots=PREDICATE_SLOTS + len(checkpoints),
        )
        self._settings = TwinSettings(**settings)
        self._offset = perceived_offset(
            self._settings.calibration_offset, self._settings.offsets_apart
        )
        self._image_size = image_size
        self._horizon_steps = horizon_steps
        self._checkpoints = tuple(checkpoints)
        self._state = empty_state(lanes)
        self._published: dict[str, Published] = {}
        self._names: list[str | None] = [None] * lanes
        self._groups: dict[str, Int] = {}
        self._running = np.zeros(lanes, dtype=np.bool_)
        self._features = np.zeros((lanes, len(FEATURE_NAMES)), dtype=np.float32)
        self._is_stale = np.zeros(lanes, dtype=np.bool_)

    @property
    def tasks(self) -> tuple[TaskInfo | None, ...]:
        """What each lane's last reset gave, None before the first; length B."""
        return tuple(None if n is None else self._published[n].info for n in self._names)

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in the lanes that are named; the others go on.

        Raises:
            SimulationError: If a lane, task, seed or initial state does not exist; then no lane
                is changed.
        """
        by_task: dict[str, list[int]] = {}
        for lane, start in starts.items():
            if not 0 <= lane < self.spec.lanes:
                raise SimulationError(f'no lane {lane}; allowed: 0 to {self.spec.lanes - 1}')
            by_task.setdefault(start.task, []).append(lane)
        scenes = {}
        for name, lanes in by_task.items():
            task = find_task(name)
            if name not in self._published:
                self._published[name] = publish(task, self._checkpoints, self._horizon_steps)
            pairs = [(starts[lane].seed, starts[lane].initial_state) for lane in lanes]
            scenes[name] = begin(draw_layout(task, pairs))
        for name, lanes in by_task.items():
            rows = np.array(lanes, dtype=np.intp)
            self._state.put(rows, scenes[name])
            self._running[rows] = self._is_stale[rows] = True
            for lane in lanes:
                self._names[lane] = name
        present = np.array([name or '' for name in self._names])
        self._groups = {n: np.flatnonzero(present == n) for n in set(self._names) if n is not None}

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F); rows of lanes without a scene are zero."""
        for name, group in self._groups.items():
            rows = group[self._is_stale[group]]
            if len(rows):
                task = self._published[name].task
                view = self._part(rows).view(task)
                if self._offset.any():
                    view = perceive(view, task, self._offset)
                self._features[rows] = features(view, task)
        self._is_stale[:] = False
        return self._features.copy()

    def images(self, role: str) -> UInt8:
        """Return the pictures of a camera role, shape (B, size, size, 3); no scene gives black.

        Raises:
            SimulationError: If the role is unknown.
        """
        size = self._image_size
        shown = np.zeros((self.spec.lanes, size, size, 3), dtype=np.uint8)
        for lane, name in enumerate(self._names):
            if name is not None:
                state = self._state.take(np.array([lane]))
                shown[lane] = draw(state, self._published[name].task, role, size)
        return shown

    def run_chunk(self, actions: Float32, active: Bool) -> ChunkBatch:
        """Run a chunk in every active lane, until its end or the end of the episode.

        Raises:
            SimulationError: If a shape is wrong, a number of an active lane is not finite, or an
                active lane's episode has ended.
        """
        self._check(actions, active)
        lanes = self.spec.lanes
        done = ChunkBatch(
            truth=np.zeros((lanes, self.spec.predicate_slots), dtype=np.bool_),
            success=np.zeros(lanes, dtype=np.bool_),
            terminated=np.zeros(lanes, dtype=np.bool_),
            truncated=np.zeros(lanes, dtype=np.bool_),
            steps=np.zeros(lanes, dtype=np.intp),
            executed=np.zeros(actions.shape, dtype=np.float32),
        )
        for name, group in self._groups.items():
            playing = group[active[group]]
            if len(playing):
                self._run(self._published[name], playing, actions, done)
        self._is_stale |= active
        return done

    def expert_actions(self) -> Float32:
        """Return what the scripted expert would do now, (B, 7); zero in lanes without a scene."""
        actions = np.zeros((self.spec.lanes, SPEC.action_dimension), dtype=np.float32)
        for name, group in self._groups.items():
            task = self._published[name].task
            rows = group[self._running[group]]
            if len(rows):
                actions[rows] = to_body(expert_moves(self._part(rows).view(task), task))
        return actions

    def close(self) -> None:
        """Free all worlds; a second call does nothing."""
        self._names = [None] * self.spec.lanes
        self._groups = {}
        self._running[:] = False

    def _run(self, shown: Published, rows: Int, actions: Float32, done: ChunkBatch) -> None:
        """Run a chunk in lanes that play one task; lanes that end stand still from there."""
        state = self._part(rows)
        horizon, size = shown.info.horizon_steps, len(shown.info.predicate_names)
        for k in range(actions.shape[1]):
            sent = np.clip(actions[rows, k], np.float32(-1.0), np.float32(1.0))
            step(state, shown.task, self._settings, sent)
            truth, success = shown.judge(state)
            done.truth[rows, :size] |= truth
            done.executed[rows, k] = sent
            done.steps[rows] += 1
            is_late = state.step >= horizon
            over = success | is_late
            if over.any():
                ended = rows[over]
                done.success[ended] = done.terminated[ended] = success[over]
                done.truncated[ended] = ~success[over]
                self._running[ended] = False
                if state is not self._state:
                    self._state.put(ended, state.take(over))
                state, rows = state.take(~over), rows[~over]
                if not len(rows):
                    return
        if state is not self._state:
            self._state.put(rows, state)

    def _part(self, rows: Int) -> TwinState:
        """Return the state of some lanes: a copy, but for all lanes the state itself."""
        return self._state if len(rows) == self.spec.lanes else self._state.take(rows)

    def _check(self, actions: Float32, active: Bool) -> None:
        shape, lanes, size = np.shape(actions), self.spec.lanes, SPEC.action_dimension
        if len(shape) != 3 or not shape[1] or (shape[0], shape[2]) != (lanes, size):
            raise SimulationError(
                f'actions have shape {shape}; allowed: ({lanes}, L, {size}) with L >= 1'
            )
        if np.shape(active) != (lanes,):
            raise SimulationError(f'active has shape {np.shape(active)}; allowed: ({lanes},)')
        ended = np.flatnonzero(active & ~self._running)
        if len(ended):
            raise SimulationError(
                f'lane {ended[0]}: no episode runs; allowed: reset(task, seed, initial_state)'
            )
        broken = np.flatnonzero(active & ~np.isfinite(actions).all(axis=(1, 2)))
        if len(broken):
            raise SimulationError(f'actions of lane {broken[0]} are not finite; nothing was sent')
