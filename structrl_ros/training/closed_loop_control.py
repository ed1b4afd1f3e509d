"""What surrounds a controller in the suite: the goal's own judge, noise, a sentence as a skill."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.ports import Policy
from structrl_ros.training.metered_body import MeteredBody
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import StepOutcome
from structrl_ros.types import Subtask


class JudgedBody(MeteredBody):
    """A body whose own goal is not asked for: it tells truth, and no step is a success.

    Attributes:
        truth: Every published name, and whether it holds now.
    """

    truth: dict[str, bool]

    def reset(self, task: str, seed: int, initial_state: int) -> Any:
        """Set the scene."""
        info = super().reset(task, seed, initial_state)
        self._names = info.predicate_names
        self.truth = dict.fromkeys(self._names, False)
        return info

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action."""
        outcome = super().step(action)
        self.truth = dict(zip(self._names, outcome.values, strict=True))
        return StepOutcome(outcome.values, False)


class NoisyPolicy:
    """A controller whose hand trembles: noise on the six deltas of every row; port Policy.

    The noise is a function of the scene and of the chunk, so an episode is the same whenever it is
    played. It stands for a controller that fails at times; it is no model of any arm.
    """

    def __init__(self, policy: Policy, deviation: float) -> None:
        """Stand before a policy; `deviation` is in units of the action, 1 = 5 cm or .5 rad."""
        self._policy = policy
        self._deviation = deviation
        self.spec = policy.spec
        self._random = np.random.default_rng(0)

    def reset(self, episode: Episode) -> None:
        """Begin the noise of an episode."""
        name = zlib.crc32(episode.task.encode())
        self._random = np.random.default_rng([name, episode.seed, episode.initial_state])
        self._policy.reset(episode)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return the policy's rows with noise, within [-1, 1]."""
        rows = np.array(self._policy.act(observation, subtask, instruction), dtype=np.float32)
        noise = self._random.normal(0.0, self._deviation, (len(rows), 6))
        rows[:, :6] = np.clip(rows[:, :6] + noise, -1.0, 1.0)
        return rows

    def close(self) -> None:
        """Free the policy."""
        self._policy.close()


def sentence_as_subtask(sentence: str) -> Subtask:
    """Return a whole sentence as the only subtask of a controller, without any planner.

    Where the sentence reads as one skill ('put X in Y') it is that skill; else an activity.
    """
    try:
        step = parse_phrase(sentence)
    except PlanSyntaxError:
        return Subtask(f'activity({sentence})', sentence, 'activity', (sentence,), 0)
    return Subtask(step.id, sentence, step.action, step.objects, 0)
