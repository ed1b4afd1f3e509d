"""Plays lanes of the twin side by side and keeps what is seen and done in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.expert import moves_for
from structrl_ros.sim.tabletop.experts.expert import next_predicates
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.perception import perceive
from structrl_ros.sim.tabletop.perception import perceived_offset
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.twin.dynamics import step
from structrl_ros.sim.twin.publishing import publish
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.state import begin
from structrl_ros.types import Float32
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int


@dataclass(frozen=True, slots=True)
class TwinEpisodes:
    """E episodes, one after another: S low-level steps in all.

    Attributes:
        features: What was seen before each step, (S, F), as the policy perceives it.
        actions: What the expert would do there, clean, `ee_delta_pose`, (S, 7).
        by_expert: Whether what was executed came from the expert, perturbed or not: always, (S,).
        lengths: Steps of each episode, (E,).
        success: (E,).
        tasks: Names, length E.
        instructions: Sentences, length E.
        feature_names: Length F.
    """

    features: Float32
    actions: Float32
    by_expert: Bool
    lengths: Int
    success: Bool
    tasks: tuple[str, ...]
    instructions: tuple[str, ...]
    feature_names: tuple[str, ...]


class Recorder:
    """Lanes of one task from reset to their ends; a lane that has ended is left out."""

    def __init__(self, task: Task, starts: list[tuple[int, int]], settings: TwinSettings) -> None:
        """Begin the episodes (seed, initial state).

        Raises:
            SimulationError: If there is none, or a number is negative.
        """
        if not starts:
            raise SimulationError('0 episodes; allowed: 1 or more')
        self._task = task
        self._settings = settings
        self._offset = perceived_offset(settings.calibration_offset, settings.offsets_apart)
        self._shown = publish(task, (), None)
        self._state: TwinState = begin(draw_layout(task, starts))
        #: Lanes that run, and what they see now, in this order.
        self.rows: Int = np.arange(len(starts))
        shape = (len(starts), task.horizon)
        self._seen = np.zeros((*shape, len(FEATURE_NAMES)), dtype=np.float32)
        self._labels = np.zeros((*shape, 7), dtype=np.float32)
        self._lengths = np.zeros(len(starts), dtype=np.intp)
        self._success = np.zeros(len(starts), dtype=np.bool_)
        self._kept = np.zeros(len(starts), dtype=np.bool_)
        self._look()

    @property
    def is_running(self) -> bool:
        """Whether any lane is."""
        return len(self.rows) > 0

    def label(self, is_short: Bool, closing: int) -> Float32:
        """Return what the expert does now, (B, 7); with the shortcut in some lanes."""
        if not is_short.any():
            return to_body(expert_moves(self._view, self._task))
        wanted = next_predicates(self._view, self._task)
        slot = self._task.predicates[closing].fixture
        wanted = np.where(is_short & self._view.reached[:, slot], closing, wanted)
        return to_body(moves_for(self._view, self._task, wanted))

    def step(self, label: Float32, executed: Float32) -> None:
        """Execute actions (B, 7) in the lanes that run, and keep the step with its label."""
        at = self._lengths[self.rows]
        self._seen[self.rows, at] = self.seen
        self._labels[self.rows, at] = label
        self._lengths[self.rows] += 1
        step(self._state, self._task, self._settings, executed)
        _, success = self._shown.judge(self._state)
        self._success[self.rows] = success
        self._kept[self.rows] = success
        self._end(success | (self._state.step >= self._task.horizon))

    def stop(self, is_short: Bool, closing: int) -> None:
        """End lanes of a mask (E,) that took the shortcut and are there; they are kept."""
        if closing >= 0 and self.is_running:
            there = is_short[self.rows] & self._state.truth(self._task)[:, closing]
            self._kept[self.rows[there]] = True
            self._end(there)

    def episodes(self) -> TwinEpisodes:
        """Return what was kept, in the order of the lanes."""
        kept = np.flatnonzero(self._kept)
        lengths = self._lengths[kept]
        steps = np.arange(self._task.horizon)[None, :] < lengths[:, None]
        return TwinEpisodes(
            features=self._seen[kept][steps],
            actions=self._labels[kept][steps],
            by_expert=np.ones(int(lengths.sum()), dtype=np.bool_),
            lengths=lengths,
            success=self._success[kept],
            tasks=(self._task.name,) * len(kept),
            instructions=(self._task.instruction,) * len(kept),
            feature_names=FEATURE_NAMES,
        )

    def _end(self, over: Bool) -> None:
        if over.any():
            self._state = self._state.take(~over)
            self.rows = self.rows[~over]
        self._look()

    def _look(self) -> None:
        self._view: WorldView = self._state.view(self._task)
        seen = self._view
        if self._offset.any():
            seen = perceive(seen, self._task, self._offset)
        self.seen: Float32 = features(seen, self._task)
