"""Picture chunks of LIBERO's scripted expert, pushed off its way now and then (DART).

The expert's skills are closed loops over the present state, so a label is what the expert would
do from where it was pushed to. Scenes are drawn anew from the task's own placement regions: none
of LIBERO's fifty initial states of a task is ever shown, they stay for measuring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
from structrl_ros.models.policies.proprioception import arm_vector
from structrl_ros.ports import Policy
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.expert.episodes import PATIENCE
from structrl_ros.sim.libero.expert.episodes import plan_of
from structrl_ros.sim.libero.expert.naming import conjunct_of
from structrl_ros.sim.libero.expert.skills import make_skill
from structrl_ros.sim.libero.features import FAR_M
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.training.diffusion_chunks import PictureChunks
from structrl_ros.training.diffusion_wheel import Pushes
from structrl_ros.training.diffusion_wheel import Turns
from structrl_ros.training.diffusion_wheel import Wheel
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Subtask
from structrl_ros.world_types import Bool

#: Standard deviation of a joint angle at the start (rad), about that of LIBERO's initial states.
JOINT_DEVIATION = 0.02
#: Steps in which a redrawn scene comes to rest.
SETTLING_STEPS = 10


class PictureDemonstrator:
    """Plays the expert on redrawn scenes, and keeps what was seen every few steps."""

    def __init__(
        self,
        body: LiberoBody,
        *,
        roles: Sequence[str] = ('head', 'left_wrist'),
        chunk_length: int = 8,
        every: int = 5,
        perturbed: float = 0.7,
    ) -> None:
        """Take a body; the demonstrator owns it.

        Args:
            body: Its picture size and detail are those of the pictures that are kept.
            roles: Cameras.
            chunk_length: L; subtasks change where a chunk ends, as in the deployed graph.
            every: Low-level steps from one picture to the next.
            perturbed: Share of the episodes with pushes.
        """
        self._body = body
        self._roles = tuple(roles)
        self._length = chunk_length
        self._every = every
        self._perturbed = perturbed

    def demonstrate(self, task: str, seed: int, pilot: Policy | None = None) -> Shown:
        """Play one episode.

        Args:
            task: Any name that `tasks.find_task` knows.
            seed: Of the scene and of what pushes.
            pilot: A policy that takes turns with the expert (DAgger): its rows are what is done,
                the expert's are the labels. With one, nothing is pushed.
        """
        random = np.random.default_rng((seed, 41))
        info = self._body.reset(task, seed, 0)
        redraw_scene(self._body, random)
        plan = plan_of(info)
        names = ground_all(plan, info.predicate_names)
        offset = int(random.integers(self._every)) if pilot is None else 0
        episode = _Episode(self._body, self._roles, self._every, offset)
        wheel: Wheel = Pushes(random, is_on=bool(random.random() < self._perturbed))
        if pilot is not None:
            pilot.reset(Episode(0, 1, False, 'libero', info.task, info.instruction, seed, 0))
            wheel = Turns(random, pilot, self._body, self._roles)
        reached = ''
        for subtask in plan:
            name = names[subtask.id]
            index = info.predicate_names.index(name) if name else -1
            reached = subtask.phrase
            if not self._pursue(episode, subtask, index, wheel, info.horizon_steps):
                break
        return Shown(episode.success, reached, episode.chunks(self._length, task))

    def close(self) -> None:
        """Free the body."""
        self._body.close()

    def _pursue(
        self, episode: _Episode, subtask: Subtask, index: int, wheel: Wheel, horizon: int
    ) -> bool:
        """Work on a subtask; return whether the episode goes on."""
        body = self._body
        skill = make_skill(body, subtask)
        thing = _thing(body, subtask)
        held, true = 0, False
        while episode.steps < horizon and not episode.success:
            label = body.hold_action() if skill.finished else skill.action(body)
            row = episode.steps % self._length
            done, by_expert = wheel.steer(row, label, subtask)
            episode.see(subtask.phrase, thing, label, by_expert=by_expert)
            outcome = body.step(done)
            episode.success = episode.success or outcome.success
            true = true or (index >= 0 and bool(outcome.values[index]))
            held = held + 1 if skill.finished else 0
            if episode.steps % self._length == 0 and (true if index >= 0 else skill.finished):
                return not episode.success
            if held >= PATIENCE:
                skill, held = make_skill(body, subtask), 0
        return False


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode: LIBERO's verdict, the last phrase that was worked on, and what was seen."""

    success: bool
    reached: str
    chunks: PictureChunks


class _Episode:
    """What was seen and labelled so far."""

    def __init__(self, body: LiberoBody, roles: Sequence[str], every: int, offset: int) -> None:
        self._body, self._every, self._offset = body, every, offset
        self.success, self.steps = False, 0
        self._labels: list[Float32] = []
        self._phrases: list[str] = []
        self._by_expert: list[bool] = []
        self._at: list[int] = []
        self._features: list[Float32] = []
        self._targets: list[Float32] = []
        self._images: dict[str, list[Any]] = {role: [] for role in roles}

    def see(self, phrase: str, thing: int, label: Float32, *, by_expert: bool) -> None:
        """Keep a label; and what is to be seen, if it is time for a picture."""
        if self.steps % self._every == self._offset:
            self._at.append(self.steps)
            self._features.append(arm_vector(self._body.proprioception(0)))
            self._targets.append(_target(self._body, thing))
            for role, images in self._images.items():
                images.append(self._body.render(role).copy())
        self._labels.append(label)
        self._phrases.append(phrase)
        self._by_expert.append(by_expert)
        self.steps += 1

    def chunks(self, length: int, task: str) -> PictureChunks:
        """Return the chunks.

        Rows in which another sentence is pursued do not count, nor those after a row that
        somebody else than the expert did: their labels belong to another way.
        """
        phrases = np.array(self._phrases)
        rows = np.array(self._at)[:, None] + np.arange(length)
        inside = np.minimum(rows, self.steps - 1)
        valid: Bool = (rows < self.steps) & (phrases[inside] == phrases[self._at][:, None])
        own = np.array(self._by_expert)[inside]
        valid[:, 1:] &= np.logical_and.accumulate(own, axis=1)[:, :-1]
        sentences = tuple(dict.fromkeys(self._phrases))
        return PictureChunks(
            features=np.stack(self._features),
            actions=np.stack(self._labels)[inside],
            valid=valid,
            sentence=np.array([sentences.index(p) for p in phrases[self._at]], dtype=np.int64),
            targets=np.stack(self._targets),
            sentences=sentences,
            feature_names=PROPRIOCEPTION,
            images={role: np.stack(images) for role, images in self._images.items()},
            origin=f'scripted expert, LIBERO {task}',
        )


def redraw_scene(body: LiberoBody, random: np.random.Generator) -> None:
    """Put every loose thing somewhere else in its region, and the arm a little off.

    Raises:
        TrainingError: If there is no room for the things.
    """
    from robosuite.utils.errors import RandomizationError

    environment, data = body.environment, body.data
    before = np.random.get_state()
    np.random.seed(int(random.integers(2**32)))
    try:
        placed = environment.placement_initializer.sample()
    except RandomizationError as error:
        raise TrainingError(f'no free placement for the objects: {error}') from None
    finally:
        np.random.set_state(before)
    for name, (place, quaternion, thing) in placed.items():
        if name in environment.fixtures_dict or not thing.joints:
            continue
        at = int(body.model.joint(thing.joints[-1]).qposadr[0])
        data.qpos[at : at + 3] = place
        data.qpos[at + 3 : at + 7] = quaternion
    data.qvel[:] = 0.0
    arm = environment.robots[0]._ref_joint_pos_indexes
    data.qpos[arm] += JOINT_DEVIATION * random.standard_normal(len(arm))
    environment.sim.forward()
    still = np.array([0, 0, 0, 0, 0, 0, -1], dtype=np.float32)
    for _ in range(SETTLING_STEPS):
        body.step(still)


def _thing(body: LiberoBody, subtask: Subtask) -> int:
    """Return the number, in the state vector, of what a subtask is about; -1: not there."""
    goals = body.environment.parsed_problem['goal_state']
    things = list(dict.fromkeys(name for goal in goals for name in goal[1:]))
    wanted = conjunct_of(body, subtask)[-1]
    return things.index(wanted) if wanted in things else -1


def _target(body: LiberoBody, thing: int) -> Float32:
    """Return the offset from the tool to a thing, metres; NaN if nobody knows."""
    if thing < 0:
        return np.full(3, np.nan, dtype=np.float32)
    at = body.feature_names.index(f'thing_{thing}_far_x')
    return np.asarray(body.features()[at : at + 3] * FAR_M, dtype=np.float32)
