"""Demonstrations of an expert that follows a plan in chunks, as in the deployed graph (LIBERO)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.action_map import ActionMap
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.ports import StateBody
from structrl_ros.sim.registry import make_expert
from structrl_ros.training.demonstrating import DEMONSTRATION
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.demonstrations import join_demonstrations
from structrl_ros.training.evidence import demonstrate
from structrl_ros.training.metered_body import MeteredBody
from structrl_ros.training.starts import practice_starts
from structrl_ros.types import Float32
from structrl_ros.types import PlanRequest
from structrl_ros.types import StepOutcome
from structrl_ros.types import UInt8
from structrl_ros.world_types import EpisodeStart


class PlannedDemonstrator:
    """`sft.Demonstrator` whose expert runs a skill on within a chunk: clean episodes alone.

    Such an expert does not say what it would do in a state that it was pushed to.
    """

    def __init__(
        self,
        body: StateBody,
        tasks: Sequence[str],
        *,
        initial_states: int = 1,
        roles: Sequence[str] = (),
        feature_names: Sequence[str] = (),
    ) -> None:
        """Take a body; the demonstrator owns it. No feature names: all of them."""
        self._body = _RecordingBody(body, roles)
        self._names = tuple(feature_names) or body.feature_names
        self._tasks = tuple(tasks)
        self._initial_states = initial_states

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
            ParameterError: If perturbed episodes are asked for.
            TrainingError: If none succeeded.
        """
        if perturbed > 0.0 and deviation > 0.0:
            raise ParameterError(
                f'perturbed: the expert of {self._body.spec.name} follows a plan in chunks and '
                f'cannot be pushed off it; allowed: 0, got {perturbed}'
            )
        starts = practice_starts(
            self._tasks,
            episodes,
            seed=seed,
            iteration=DEMONSTRATION,
            initial_states=self._initial_states,
        )
        shown = [self._show(start) for start in starts]
        kept = [episode for episode in shown if episode is not None]
        if not kept:
            raise TrainingError(f'the expert failed in all of {episodes} episodes')
        return join_demonstrations(kept)

    def interleave(self, policy: ChunkPolicy, episodes: int, *, seed: int) -> Demonstrations:
        """Refuse.

        Raises:
            ParameterError: Always.
        """
        raise ParameterError(
            f'dagger_rounds: the expert of {self._body.spec.name} follows a plan in chunks and '
            'cannot take over; allowed: 0'
        )

    def close(self) -> None:
        """Free the body."""
        self._body.close()

    def _show(self, start: EpisodeStart) -> Demonstrations | None:
        """Return one episode, None if it failed."""
        body = self._body
        info = body.reset(start.task, start.seed, start.initial_state)
        asked = PlanRequest(info.instruction, info.objects, None)
        plan = to_plan(parse_plan(RulePlanner().propose(asked)))
        expert = make_expert(body.spec.name)
        try:
            attempt = demonstrate(body, expert, plan, start)
        finally:
            expert.close()
        if not attempt.success:
            return None
        steps = len(body.actions)
        columns = [body.feature_names.index(name) for name in self._names]
        return Demonstrations(
            features=np.stack(body.seen)[:, columns],
            actions=np.stack(body.actions),
            by_expert=np.ones(steps, dtype=bool),
            lengths=np.array([steps]),
            success=np.array([True]),
            tasks=(start.task,),
            instructions=(info.instruction,),
            feature_names=self._names,
            images={role: np.stack(images) for role, images in body.images.items()},
        )


class _RecordingBody(MeteredBody):
    """A body that keeps what was seen before each step, and the step."""

    def __init__(self, body: StateBody, roles: Sequence[str]) -> None:
        super().__init__(body)
        self._roles = tuple(roles)
        self._forget()

    def reset(self, task: str, seed: int, initial_state: int) -> Any:
        """Set the scene, and forget the episode before."""
        info = super().reset(task, seed, initial_state)
        self._forget()
        return info

    def step(self, action: Float32) -> StepOutcome:
        """Keep what is seen, then apply the action."""
        self.seen.append(self.features())
        for role, images in self.images.items():
            images.append(self.render(role))
        self.actions.append(np.array(action, dtype=np.float32))
        return super().step(action)

    def _forget(self) -> None:
        self.seen: list[Float32] = []
        self.actions: list[Float32] = []
        self.images: dict[str, list[UInt8]] = {role: [] for role in self._roles}
