"""Episodes of a reactive expert in the lanes of a world: clean, perturbed, or in turns.

Every label is what the expert would do in the state that was seen, whatever was done there. So
the expert must be a function of the present state alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Protocol

import numpy as np

from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.action_map import ActionMap
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.ports import VectorWorld
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.demonstrations import join_demonstrations
from structrl_ros.training.inference import FixedBatch
from structrl_ros.training.inference import Seen
from structrl_ros.training.inference import draw_noise
from structrl_ros.training.starts import practice_starts
from structrl_ros.types import Float32
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import Bool
from structrl_ros.world_types import EpisodeStart

#: Share of the steps of a perturbed episode that are pushed off.
PERTURBED_STEPS = 0.5

#: Chunks of the policy, and of the expert, in a turn of a DAgger episode (first and last).
POLICY_CHUNKS = (2, 9)
EXPERT_CHUNKS = (3, 8)

#: Iteration numbers of the starts and draws; no iteration of a run has them.
DEMONSTRATION, DAGGER = 2**30, 2**30 + 1


class ExpertWorld(VectorWorld, Protocol):
    """A world that asks a scripted, privileged expert."""

    def expert_actions(self) -> Float32:
        """Return what the expert would do now in every lane, in the body's space, (B, D)."""


class Driver(Protocol):
    """Decides what is really done in the lanes of a wave."""

    def begin(self, episodes: range, infos: Sequence[TaskInfo]) -> None:
        """Begin a wave: lane i plays episode `episodes[i]` of the run."""

    def drive(self, step: int, seen: Seen, labels: Float32) -> tuple[Float32, Bool]:
        """Return what is done in a low-level step, (n, D), and whether the expert does it, (n,).

        Args:
            step: From 0, the same in all lanes.
            seen: What the n lanes see.
            labels: What the expert would do, (n, D).
        """


class WorldDemonstrator:
    """`sft.Demonstrator` over a world in whose lanes a reactive expert can act."""

    def __init__(
        self,
        world: ExpertWorld,
        tasks: Sequence[str],
        *,
        initial_states: int = 1,
        roles: Sequence[str] = (),
    ) -> None:
        """Take a world; `roles` are the cameras whose pictures are kept."""
        self._world = world
        self._tasks = tuple(tasks)
        self._initial_states = initial_states
        self._roles = tuple(roles)

    def demonstrate(
        self,
        episodes: int,
        action_map: ActionMap,
        *,
        seed: int,
        perturbed: float,
        deviation: float,
    ) -> Demonstrations:
        """Return the episodes that succeeded, of `episodes` that the expert played.

        Raises:
            TrainingError: If none succeeded.
        """
        disturbance = Disturbance(action_map, seed=seed, perturbed=perturbed, deviation=deviation)
        made = self._play(self._starts(episodes, seed, DEMONSTRATION), disturbance)
        if not made.success.any():
            raise TrainingError(f'the expert failed in all of {episodes} episodes')
        return made.keep(made.success)

    def interleave(self, policy: ChunkPolicy, episodes: int, *, seed: int) -> Demonstrations:
        """Return episodes in which the policy (without noise) and the expert take turns."""
        return self._play(self._starts(episodes, seed, DAGGER), Turns(policy, seed=seed))

    def close(self) -> None:
        """Free the world."""
        self._world.close()

    def _starts(self, episodes: int, seed: int, number: int) -> tuple[EpisodeStart, ...]:
        return practice_starts(
            self._tasks,
            episodes,
            seed=seed,
            iteration=number,
            initial_states=self._initial_states,
        )

    def _play(self, starts: Sequence[EpisodeStart], driver: Driver) -> Demonstrations:
        lanes = self._world.spec.lanes
        waves = range(0, len(starts), lanes)
        return join_demonstrations(
            [self._play_wave(starts[first : first + lanes], first, driver) for first in waves]
        )

    def _play_wave(
        self, starts: Sequence[EpisodeStart], first: int, driver: Driver
    ) -> Demonstrations:
        """Play as many episodes as there are lanes, one low-level step a time."""
        world, count = self._world, len(starts)
        world.reset(dict(enumerate(starts)))
        infos = [info for info in world.tasks[:count] if info is not None]
        driver.begin(range(first, first + count), infos)
        active = np.arange(world.spec.lanes) < count
        success = np.zeros(world.spec.lanes, dtype=bool)
        kept: list[dict[str, Any]] = []
        while active.any():
            seen, labels = self._look(infos), world.expert_actions()[:count]
            actions = np.zeros((world.spec.lanes, 1, labels.shape[1]), dtype=np.float32)
            actions[:count, 0], by_expert = driver.drive(len(kept), seen, labels)
            arrays = {'features': seen.features, 'actions': labels, 'by_expert': by_expert}
            kept.append({**arrays, **seen.images, 'active': active[:count]})
            batch = world.run_chunk(actions, active)
            success |= batch.success
            active = active & ~(batch.terminated | batch.truncated)
        was_active = np.stack([row['active'] for row in kept], axis=1)

        def join(name: str) -> Any:
            return np.stack([row[name] for row in kept], axis=1)[was_active]

        return Demonstrations(
            features=join('features'),
            actions=join('actions').astype(np.float32),
            by_expert=join('by_expert'),
            lengths=was_active.sum(axis=1),
            success=success[:count],
            tasks=tuple(start.task for start in starts),
            instructions=tuple(info.instruction for info in infos),
            feature_names=world.spec.feature_names,
            images={role: join(role) for role in self._roles},
        )

    def _look(self, infos: Sequence[TaskInfo]) -> Seen:
        count = len(infos)
        images = {role: self._world.images(role)[:count] for role in self._roles}
        return Seen(self._world.features()[:count], images, [info.instruction for info in infos])


class Disturbance:
    """The expert's actions, pushed off in half of the steps of some episodes (DART)."""

    def __init__(
        self, action_map: ActionMap, *, seed: int, perturbed: float, deviation: float
    ) -> None:
        """Disturb a share of the episodes; `deviation` is in the units of the action map."""
        self._map = action_map
        self._seed = seed
        self._perturbed = perturbed
        self._deviation = deviation

    def begin(self, episodes: range, infos: Sequence[TaskInfo]) -> None:
        """Draw all pushes of a wave, each a function of the episode's number."""
        pushes = []
        steps = max(info.horizon_steps for info in infos)
        for episode in episodes:
            random = np.random.default_rng((self._seed, DEMONSTRATION, episode))
            is_disturbed = random.random() < self._perturbed
            hit = random.random(steps) < PERTURBED_STEPS
            push = self._deviation * random.standard_normal((steps, self._map.dimension))
            pushes.append(np.where((hit & is_disturbed)[:, None], push, 0.0))
        self._pushes = np.stack(pushes, axis=1).astype(np.float32)

    def drive(self, step: int, seen: Seen, labels: Float32) -> tuple[Float32, Bool]:
        """Return the labels, some of them pushed off; the expert is always at the wheel."""
        push = self._pushes[step]
        is_pushed = push.any(axis=1)
        pushed = self._map.to_body(self._map.from_body(labels) + push)
        return np.where(is_pushed[:, None], pushed, labels), np.ones(len(labels), dtype=bool)


class Turns:
    """The policy and the expert take turns of some chunks each (DAgger)."""

    def __init__(self, policy: ChunkPolicy, *, seed: int) -> None:
        self._policy = policy
        self._asked = FixedBatch(policy)
        self._length = policy.config.chunk_length
        self._seed = seed

    def begin(self, episodes: range, infos: Sequence[TaskInfo]) -> None:
        """Draw the turns and the policy's first noise, functions of the episode's number."""
        chunks = -(-max(info.horizon_steps for info in infos) // self._length)
        self._first = episodes.start
        self._is_expert = np.stack([self._draw_turns(episode, chunks) for episode in episodes])
        self._noise = draw_noise(
            self._policy.noise_shape,
            chunks,
            seed=self._seed,
            iteration=DAGGER,
            episodes=episodes,
        )

    def drive(self, step: int, seen: Seen, labels: Float32) -> tuple[Float32, Bool]:
        """Return the expert's action or the row of the policy's chunk, whoever's turn it is."""
        chunk, row = divmod(step, self._length)
        is_expert = self._is_expert[:, chunk]
        if row == 0 and not is_expert.all():
            drawn = self._asked.draw(
                seen, self._noise[:, chunk], ~is_expert, first=self._first, explore=False
            )
            self._chunk = drawn.actions
        if is_expert.all():
            return labels, is_expert
        return np.where(is_expert[:, None], labels, self._chunk[:, row]), is_expert

    def _draw_turns(self, episode: int, chunks: int) -> Bool:
        """Return for each chunk whether the expert is at the wheel, shape (chunks,)."""
        random = np.random.default_rng((self._seed, DAGGER, episode))
        turns: list[bool] = []
        is_expert = bool(random.random() < 0.5)
        while len(turns) < chunks:
            shortest, longest = EXPERT_CHUNKS if is_expert else POLICY_CHUNKS
            turns += [is_expert] * int(random.integers(shortest, longest, endpoint=True))
            is_expert = not is_expert
        return np.array(turns[:chunks])
