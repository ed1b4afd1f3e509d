"""GRPO over groups of one task and one initial state (StructRL, Section 3.2.3): `train_grpo`.

The return of a rollout is the sum of its chunk rewards, its advantage the return relative to its
group. A group whose returns do not differ teaches nothing and is left out; MART-GRPO also leaves
out one whose outcomes do not differ. There is no critic.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from structrl_ros.learning.groups import group_advantages
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.actor import AT_REST
from structrl_ros.training.actor import Actor
from structrl_ros.training.actor import ExtraLoss
from structrl_ros.training.feedback import FailureFeedback
from structrl_ros.training.feedback import full_rule
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.policy_copy import frozen_copy
from structrl_ros.training.practice import Practice
from structrl_ros.training.practice import TrainingResult
from structrl_ros.training.practice import practise
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.samples import ChunkSamples
from structrl_ros.training.samples import chunk_samples
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.surrogate import reference_kl
from structrl_ros.training.trainer_state import TrainerState
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: Name of the account of feedback in a checkpoint.
FEEDBACK = 'feedback'


def train_grpo(
    policy: ChunkPolicy,
    settings: GrpoSettings,
    practice: Practice,
    feedback: FailureFeedback | None = None,
) -> TrainingResult:
    """Train a policy by GRPO, in place.

    Args:
        policy: The start, and the reference of `reference_kl`.
        settings: See `GrpoSettings`.
        practice: Worlds, rewards, and where the run is kept.
        feedback: Which chunks a failure's advantage reaches; None: all.

    Raises:
        TrainingError: If a number is not finite, or the worlds fail twice in one iteration.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return practise(policy, settings, practice, GrpoLearner(policy, settings, feedback))


class GrpoLearner:
    """A policy, its optimiser, and the reference that it may be held to."""

    def __init__(
        self,
        policy: ChunkPolicy,
        settings: GrpoSettings,
        feedback: FailureFeedback | None = None,
    ) -> None:
        self.group_size = settings.group_size
        self._settings = settings
        self._feedback = feedback or FailureFeedback(full_rule)
        self._random = np.random.default_rng((settings.seed, 22))
        self._actor = Actor(policy, settings)
        is_held = settings.reference_kl > 0.0
        self._reference = frozen_copy(policy) if is_held else None

    def learn(self, rollouts: Rollouts, rewards: Float64, iteration: int) -> Metrics:
        """Move the policy by one iteration.

        Args:
            rollouts: Of the policy as it is, exploring; groups follow each other.
            rewards: Of each chunk, shape (E, M).
            iteration: From 0.

        Returns:
            Numbers of the iteration.
        """
        groups = np.arange(rollouts.episodes) // self.group_size
        scored = group_advantages(rewards.sum(axis=1), groups)
        teaching = scored.informative & self._accepted(rollouts)
        metrics: Metrics = {
            'groups/played': rollouts.episodes / self.group_size,
            'groups/skipped': float((~teaching).sum()) / self.group_size,
        }
        if not teaching.any():
            return {**AT_REST, **metrics}
        weights, told = self._feedback.weigh(rollouts, scored.advantages, teaching, iteration)
        metrics |= told
        samples = chunk_samples(rollouts, teaching)
        # The mean over chunks is then that of sum_k w_k over the rollouts that teach.
        scale = len(samples) / float(teaching.sum())
        report = self._actor.improve(
            samples, samples.take(weights) * scale, self._random, self._hold(samples)
        )
        return {**metrics, **report.metrics()}

    def missing_groups(self, rollouts: Rollouts, rounds: int) -> int:
        """Return how many groups are still to be accepted, 0 after the last round."""
        if rounds >= self._settings.resampling:
            return 0
        wanted = self._settings.episodes // self.group_size
        return max(wanted - int(self._mixed(rollouts).sum()), 0)

    def _accepted(self, rollouts: Rollouts) -> Bool:
        """Return which rollouts are of accepted groups, shape (E,)."""
        if self._settings.accepted == 'spread':
            return np.ones(rollouts.episodes, dtype=bool)
        return np.repeat(self._mixed(rollouts), self.group_size)

    def _mixed(self, rollouts: Rollouts) -> Bool:
        """Return which groups have both outcomes (MART-GRPO, Section 2.1), shape (E / G,)."""
        won = rollouts.success.reshape(-1, self.group_size)
        return np.asarray(won.any(axis=1) & ~won.all(axis=1), dtype=np.bool_)

    def state(self) -> TrainerState:
        """Return all that the next iteration depends on, besides the policy."""
        state = TrainerState()
        self._actor.put_state(state)
        state.numbers[FEEDBACK] = self._feedback.document()
        if self._reference is not None:
            state.put_policy('reference', self._reference)
        state.put_generators(self._random)
        return state

    def restore(self, state: TrainerState) -> None:
        """Go back to a state.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        self._actor.get_state(state)
        if FEEDBACK in state.numbers:
            self._feedback.restore(state.numbers[FEEDBACK])
        if self._reference is not None:
            state.get_policy('reference', self._reference)
        state.get_generators(self._random)

    def _hold(self, samples: ChunkSamples) -> ExtraLoss | None:
        """Return the loss that holds the policy to its reference, None if it is free."""
        reference, weight = self._reference, self._settings.reference_kl
        if reference is None:
            return None

        def loss(log_prob: Tensor, rows: Tensor) -> Tensor:
            with torch.no_grad():
                inputs, chain, _ = samples.minibatch(rows, log_prob.device)
                old = reference.log_prob(inputs, chain)
            return weight * reference_kl(log_prob, old)

        return loss
