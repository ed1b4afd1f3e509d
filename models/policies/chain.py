"""Policies whose chunk is the end of a chain of denoising steps, each given by a velocity."""

from __future__ import annotations

import abc

import torch

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.base import Sample
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.flow_sde import Velocity


class ChainPolicy(ChunkPolicy):
    """Samples and tells likelihoods by `sde`, which a policy makes, and by `_velocity`."""

    sde: FlowSDE

    @property
    def noise_shape(self) -> tuple[int, int, int]:
        """(1 + noisy steps, L, A)."""
        return self.sde.draws, self.config.chunk_length, self.config.action_dimension

    @abc.abstractmethod
    def _velocity(self, inputs: PolicyInput) -> Velocity:
        """Return the velocity of points, given what is seen."""

    def _sample(self, inputs: PolicyInput, noise: torch.Tensor, explore: bool) -> Sample:
        chain, log_prob = self.sde.sample(self._velocity(inputs), noise, explore=explore)
        return Sample(chain[:, -1], chain, log_prob)

    def _log_prob(self, inputs: PolicyInput, chain: torch.Tensor) -> torch.Tensor:
        return self.sde.log_prob(self._velocity(inputs), chain)
