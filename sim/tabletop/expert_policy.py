"""`TabletopExpert`: the reactive experts behind the Policy port, with the simulator's whole state.

It is privileged. It owns a twin of the body, sets it to the state that the body published, plays
the expert closed-loop in it for one chunk and returns the actions that this took. The expert is a
function of the state alone, so a chunk asked for in mid-flight continues the same motion.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.ports import StateBody
from structrl_ros.sim.follower import Follower
from structrl_ros.sim.privileged_policy import check_body
from structrl_ros.sim.privileged_policy import expert_spec
from structrl_ros.sim.privileged_policy import needed_state
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.experts.expert import NOTHING
from structrl_ros.sim.tabletop.experts.expert import moves_for
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.subtasks.grounding import ground
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import Subtask


class ExpertBody(StateBody, Protocol):
    """A tabletop body that an expert can look into."""

    @property
    def task(self) -> Task:
        """What is played."""

    @property
    def view(self) -> WorldView:
        """What there is to see now, one lane."""


class TabletopExpert:
    """Makes the predicate of a subtask true; once it is, the arm stands still, off any handle.

    Needs MuJoCo, and observations with `simulator`.
    """

    def __init__(self, *, chunk_length: int = 8) -> None:
        """Prepare; the twin is built by the first `reset`.

        Args:
            chunk_length: Rows of a chunk, at 10 Hz, 1 to 200.

        Raises:
            SimulationError: If the chunk length is outside its range.
        """
        self._twin: ExpertBody = self._make_body()
        body = self._twin.spec
        self.spec = expert_spec(
            f'{body.name}_expert', chunk_length, control_rate_hz=body.control_rate_hz
        )
        self._follower = Follower(self._twin)

    def reset(self, episode: Episode) -> None:
        """Build the twin of the episode's scene.

        Raises:
            SimulationError: If the body is no tabletop, or the scene does not exist.
        """
        check_body(episode, self._twin.spec.name)
        self._follower.place(episode.task, episode.seed, episode.initial_state)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return the actions of one chunk, shape (chunk_length, 7), after the committed ones.

        Args:
            observation: Needs `simulator`; of the rest only `committed` is looked at, actions that
                are on their way to the body already.
            subtask: What to do.
            instruction: Not used; subtasks say everything.

        Raises:
            StaleDataError: If the observation has no simulator state.
            SimulationError: If the task has no predicate that the subtask makes true.
        """
        now = needed_state(observation)
        self._follower.follow(now)
        wanted = self._find(subtask)
        for row in () if observation.committed is None else observation.committed:
            self._twin.step(row)
        actions = np.empty((self.spec.chunk_length, 7), dtype=np.float32)
        for row in actions:
            row[:] = self._next(wanted)
            self._twin.step(row)
        return actions

    def close(self) -> None:
        """Free the twin; a second call does nothing."""
        self._follower.close()

    def _make_body(self) -> ExpertBody:
        return TabletopBody()

    def _find(self, subtask: Subtask) -> int:
        names = self._twin.task.predicate_names
        name = ground(subtask, names)
        if name is None:
            raise SimulationError(
                f'no skill for {subtask.phrase!r}: it grounds to none of {", ".join(names)}'
            )
        return names.index(name)

    def _next(self, wanted: int) -> Float32:
        """Return the action for the twin's present state, shape (7,)."""
        view, task = self._twin.view, self._twin.task
        is_done = bool(view.truth[0, wanted])
        moves = moves_for(view, task, np.array([NOTHING if is_done else wanted]))
        action = to_body(moves)[0]
        if is_done and not moves[0, :4].any():
            return self._twin.hold_action()
        return action
