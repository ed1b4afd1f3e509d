"""A Gaussian over whole chunks: the mean from an MLP, the deviation fixed or learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.base import Sample
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.network import Encoder
from structrl_ros.models.policies.row_noise import RowNoise

#: A learned deviation stays within these.
SMALLEST_SIGMA = 1e-3
LARGEST_SIGMA = 1.0


@dataclass(frozen=True, kw_only=True)
class GaussianConfig(PolicyConfig):
    """Sizes of the network and its deviation.

    Attributes:
        hidden: H, width of every layer.
        sigma: Standard deviation, at the start where it is learned.
        learned_sigma: Whether each action dimension learns a deviation of its own.
        correlation: Between the noise of neighbouring rows, in [0, 1); 0 is white.
    """

    architecture: ClassVar[str] = 'gaussian'

    hidden: int = 256
    sigma: float = 0.1
    learned_sigma: bool = False
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        super().__post_init__()
        if self.hidden < 1:
            raise ParameterError(f'hidden is {self.hidden}; allowed: 1 and more')
        if not SMALLEST_SIGMA <= self.sigma <= LARGEST_SIGMA:
            raise ParameterError(
                f'sigma is {self.sigma}; allowed: {SMALLEST_SIGMA} to {LARGEST_SIGMA}'
            )
        if not 0.0 <= self.correlation < 1.0:
            raise ParameterError(f'correlation is {self.correlation}; allowed: [0, 1)')


class GaussianPolicy(ChunkPolicy):
    """N(mean(o), sigma^2) over a chunk; its chain is (noise, actions).

    Imitation fits the mean by least squares; a learned deviation is for a trainer that explores.
    """

    config: GaussianConfig

    def __init__(self, config: GaussianConfig) -> None:
        super().__init__(config)
        self.encoder = Encoder(config.feature_dimension, config.hidden)
        self.mean = torch.nn.Linear(config.hidden, config.chunk_length * config.action_dimension)
        self.noise = RowNoise(config.correlation, config.chunk_length)
        self.log_sigma = torch.nn.Parameter(
            torch.full((config.action_dimension,), math.log(config.sigma)),
            requires_grad=config.learned_sigma,
        )

    @property
    def noise_shape(self) -> tuple[int, int, int]:
        """(1, L, A)."""
        return 1, self.config.chunk_length, self.config.action_dimension

    def encode(self, inputs: PolicyInput) -> torch.Tensor:
        """Return the encoding of what is seen, shape (B, H)."""
        encoded: torch.Tensor = self.encoder(self.normaliser(inputs.features))
        return encoded

    @property
    def sigma(self) -> torch.Tensor:
        """Standard deviation of each action dimension, shape (A,)."""
        return self.log_sigma.exp().clamp(SMALLEST_SIGMA, LARGEST_SIGMA)

    def _mean(self, inputs: PolicyInput) -> torch.Tensor:
        flat: torch.Tensor = self.mean(self.encode(inputs))
        return flat.unflatten(1, self.noise_shape[1:])

    def _sample(self, inputs: PolicyInput, noise: torch.Tensor, explore: bool) -> Sample:
        mean, white = self._mean(inputs), noise[:, 0]
        if not explore:
            return Sample(mean, torch.stack((white, mean), dim=1), torch.zeros_like(mean))
        actions = mean + self.noise.colour(white) * self.sigma
        log_prob = self.noise.log_density(actions - mean, self.sigma)
        return Sample(actions, torch.stack((white, actions), dim=1), log_prob)

    def _log_prob(self, inputs: PolicyInput, chain: torch.Tensor) -> torch.Tensor:
        if chain.shape[1] != 2:
            raise PolicyError(f'chain has {chain.shape[1]} points; allowed: 2 (noise, actions)')
        return self.noise.log_density(chain[:, 1] - self._mean(inputs), self.sigma)

    def _imitation_loss(
        self, inputs: PolicyInput, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        return (self._mean(inputs) - actions).square()
