"""Policies whose chunk is the end of a chain of denoising steps, each given by a velocity."""

from __future__ import annotations

import abc

import numpy as np
import torch

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.base import Sample
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.flow_sde import Velocity
from structrl_ros.models.policies.normaliser import FeatureNormaliser
from structrl_ros.types import Float32


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


class NormalisedChainPolicy(ChainPolicy):
    """A chain over normalised actions: `action_normaliser`, the identity until it is fitted."""

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__(config)
        self.action_normaliser = FeatureNormaliser(config.action_dimension)

    def fit_normalisers(self, features: Float32, actions: Float32) -> None:
        """Fit features and the policy's own actions; twice is as once."""
        super().fit_normalisers(features, actions)
        self.action_normaliser.fit(torch.from_numpy(super().from_body(actions)))

    def to_body(self, actions: Float32) -> Float32:
        """Return the body's actions for normalised ones: (..., A) to (..., 7)."""
        mean, deviation = self._statistics
        return super().to_body(np.asarray(actions) * deviation + mean)

    def from_body(self, actions: Float32) -> Float32:
        """Return normalised actions for the body's own: (..., 7) to (..., A)."""
        mean, deviation = self._statistics
        normalised: Float32 = (super().from_body(actions) - mean) / deviation
        return normalised

    @property
    def _statistics(self) -> tuple[Float32, Float32]:
        own = self.action_normaliser
        return own.mean.cpu().numpy(), own.deviation.cpu().numpy()
