"""`LiberoExpert`: scripted skills behind the Policy port, with the simulator's whole state.

It is privileged. It owns a twin of the simulator, sets it to the state that the body published,
plays a closed-loop skill in it for one chunk and returns the actions that this took. On the body
the same actions give the same states bit for bit, as long as they are executed as sent; where
limits or blending change them, the next chunk starts from what really happened.

It shows what the rest of the system does with a policy that works, and gives demonstrations. It
says nothing about policies that see pictures.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Protocol

import numpy as np

from structrl_ros.sim.follower import Follower
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.privileged_policy import check_body
from structrl_ros.sim.privileged_policy import expert_spec
from structrl_ros.sim.privileged_policy import needed_state
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask

#: A skill that says it is finished while its subtask is still asked for starts anew after this
#: many low-level steps of holding (2 s): the subtask was not done, or is to be done again.
RESTART_AFTER_STEPS = 40


class Skill(Protocol):
    """A closed-loop skill; its memory is plain data, so that it can be deep-copied."""

    finished: bool

    def action(self, body: LiberoBody) -> Float32:
        """Return the action for the present state of the body, shape (7,)."""


SkillFactory = Callable[[LiberoBody, Subtask], Skill]


class _Memory:
    """What the expert knows at one step: the skill before its action, and how long it held."""

    def __init__(self, subtask: Subtask, skill: Skill, held: int = 0) -> None:
        self.subtask = subtask
        self.skill = skill
        self.held = held


class LiberoExpert:
    """A policy that plays scripted skills in a twin of the simulator.

    Needs LIBERO, and observations with `simulator`. Rows after the end of a skill hold the arm.
    """

    def __init__(self, *, chunk_length: int = 16, make_skill: SkillFactory | None = None) -> None:
        """Prepare; the twin is built by the first `reset`.

        Args:
            chunk_length: Rows of a chunk, at 20 Hz, 1 to 200.
            make_skill: Gives the skill for a subtask; None for the scripts of `expert/`.

        Raises:
            SimulationError: If the chunk length is outside its range.
        """
        self.spec = expert_spec('libero_expert', chunk_length)
        self._make_skill = make_skill
        self._twin = LiberoBody()
        self._follower = Follower(self._twin)
        self._episode: int | None = None
        self._memories: dict[int, _Memory] = {}

    def reset(self, episode: Episode) -> None:
        """Forget the episode before and build the twin of the new one (seconds).

        Raises:
            SimulationError: If the body is not a LIBERO body, or the scene does not exist.
        """
        check_body(episode, self._twin.spec.name)
        self._memories.clear()
        self._episode = episode.episode
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
            SimulationError: If no skill fits the subtask.
        """
        now = needed_state(observation)
        self._follower.follow(now)
        memory = self._recall(now, subtask)
        committed = observation.committed
        sent = np.zeros((0, 7), dtype=np.float32) if committed is None else committed
        actions = np.empty((len(sent) + self.spec.chunk_length, 7), dtype=np.float32)
        self._memories = {now.step: copy.deepcopy(memory)}
        for row in range(len(actions)):
            if memory.skill.finished:
                actions[row] = self._twin.hold_action()
                memory.held += 1
            else:
                actions[row] = memory.skill.action(self._twin)
            if row < len(sent):
                actions[row] = sent[row]
            self._twin.step(actions[row])
            self._memories[now.step + row + 1] = copy.deepcopy(memory)
        return actions[len(sent) :]

    def close(self) -> None:
        """Free the twin; a second call does nothing."""
        self._follower.close()
        self._memories.clear()

    def _recall(self, now: SimulatorState, subtask: Subtask) -> _Memory:
        """Return the memory that belongs to a step, or a fresh one.

        A step beyond the last chunk (the body held, waiting) continues from its end.
        """
        memory: _Memory | None = None
        if self._memories and now.episode == self._episode:
            first, last = min(self._memories), max(self._memories)
            if now.step >= first:
                memory = self._memories[min(now.step, last)]
        self._episode = now.episode
        if memory is None or memory.subtask != subtask or memory.held >= RESTART_AFTER_STEPS:
            return _Memory(subtask, self._new_skill(subtask))
        return copy.deepcopy(memory)

    def _new_skill(self, subtask: Subtask) -> Skill:
        if self._make_skill is None:
            from structrl_ros.sim.libero.expert import make_skill

            self._make_skill = make_skill
        return self._make_skill(self._twin, subtask)
