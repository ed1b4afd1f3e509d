"""Gradient steps of imitation: windows of demonstrations, OneCycle, averaged weights."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.registry import fill_policy
from structrl_ros.training.average import AveragedPolicy
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.descent import descend
from structrl_ros.training.samples import device_of
from structrl_ros.training.trainer_state import TrainerState


class ImitationSettings(Protocol):
    """What the gradient steps need of a trainer's settings; see `settings.SftSettings`."""

    @property
    def seed(self) -> int:
        """Of the minibatches."""

    @property
    def updates(self) -> int:
        """Gradient steps of a round."""

    @property
    def batch(self) -> int:
        """Windows of a gradient step."""

    @property
    def learning_rate(self) -> float:
        """Peak of OneCycle."""

    @property
    def gradient_clip(self) -> float:
        """Largest norm of a gradient."""

    @property
    def ema_decay(self) -> float:
        """Of the averaged weights, a step."""


class Windows:
    """Chunks to imitate, as tensors in the policy's own action space."""

    def __init__(self, demonstrations: Demonstrations, policy: ChunkPolicy) -> None:
        """Cut demonstrations into windows of the policy's chunk length."""
        self._length = policy.config.chunk_length
        starts, valid = demonstrations.windows(self._length)
        self._starts, self._valid = torch.from_numpy(starts), torch.from_numpy(valid)
        self._features = torch.from_numpy(demonstrations.features)
        self._actions = torch.from_numpy(policy.from_body(demonstrations.actions))
        self._images = {r: torch.from_numpy(demonstrations.images[r]) for r in policy.config.roles}
        self._episode = np.repeat(np.arange(demonstrations.episodes), demonstrations.lengths)
        self._sentences = demonstrations.instructions

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._starts)

    def take(self, numbers: Tensor) -> tuple[PolicyInput, Tensor, Tensor]:
        """Return what was seen, the chunk (B, L, A), and which of its rows count (B, L)."""
        first = self._starts[numbers]
        rows = first[:, None] + torch.arange(self._length)
        inputs = PolicyInput(
            self._features[first],
            {role: image[first] for role, image in self._images.items()},
            tuple(self._sentences[i] for i in self._episode[first.numpy()].tolist()),
        )
        chunks = self._actions[rows.clamp(max=len(self._actions) - 1)]
        return inputs, chunks, self._valid[numbers]


class Imitator:
    """A policy with its optimiser and its average."""

    def __init__(self, policy: ChunkPolicy, settings: ImitationSettings) -> None:
        self._policy = policy
        self._settings = settings
        self._device = device_of(policy)
        self._parameters = [p for p in policy.parameters() if p.requires_grad]
        self._random = np.random.default_rng((settings.seed, 23))
        self._done = 0
        self.begin()

    @property
    def averaged(self) -> ChunkPolicy:
        """The policy with averaged weights, ready to act."""
        return self._average.policy

    def begin(self) -> None:
        """Begin a round: a fresh optimiser, a fresh cycle, an average that starts anew."""
        self._optimiser = torch.optim.Adam(
            self._parameters, lr=self._settings.learning_rate, fused=True
        )
        self._cycle = torch.optim.lr_scheduler.OneCycleLR(
            self._optimiser, self._settings.learning_rate, total_steps=self._settings.updates
        )
        self._average = AveragedPolicy(self._policy, self._settings.ema_decay)
        self._done = 0

    def improve(self, windows: Windows, updates: int) -> float:
        """Make gradient steps and return their mean loss.

        Raises:
            TrainingError: If a gradient is not finite.
        """
        self._policy.train()
        total = torch.zeros((), device=self._device)
        for _ in range(updates):
            numbers = torch.from_numpy(
                self._random.integers(0, len(windows), self._settings.batch)
            )
            loss = self._loss(windows, numbers)
            self._descend(loss)
            total += loss.detach()
        return float(total) / updates

    def finish(self) -> None:
        """Give the policy the averaged weights."""
        fill_policy(self._policy, self.averaged.checkpoint_tensors())
        self._policy.eval()

    def state(self) -> TrainerState:
        """Return all that the next update depends on, the average apart."""
        state = TrainerState()
        state.put_policy('policy', self._policy)
        state.put_optimiser('optimiser', self._optimiser)
        state.put_generators(self._random)
        state.numbers |= {'cycle': self._cycle.state_dict(), 'update_of_round': self._done}
        return state

    def restore(self, state: TrainerState) -> None:
        """Go back to a state; the policy is the averaged one when this is called.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        self.begin()
        state.get_policy('policy', self._policy)
        state.get_optimiser('optimiser', self._optimiser)
        state.get_generators(self._random)
        self._cycle.load_state_dict(state.numbers['cycle'])
        self._done = int(state.numbers['update_of_round'])

    def _loss(self, windows: Windows, numbers: Tensor) -> Tensor:
        """Return the loss of some windows, a number."""
        inputs, chunks, valid = windows.take(numbers)
        return self._policy.imitation_loss(
            inputs.to(self._device),
            chunks.to(self._device),
            torch.default_generator,
            valid=valid.to(self._device),
        ).mean()

    def _descend(self, loss: Tensor) -> None:
        clip = self._settings.gradient_clip
        descend(self._optimiser, self._parameters, loss, clip=clip, what='policy')
        self._cycle.step()
        self._average.update(self._done)
        self._done += 1
