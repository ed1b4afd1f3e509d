"""Flow matching over chunks of actions with a small MLP: the policy of the state worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field
from typing import ClassVar

import torch
from torch.nn import functional

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.chain import ChainPolicy
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.flow_sde import Velocity
from structrl_ros.models.policies.network import Encoder
from structrl_ros.models.policies.network import TimedNetwork

_TIME_DIMENSION = 32


@dataclass(frozen=True, kw_only=True)
class FlowConfig(PolicyConfig):
    """Sizes of the network, and how it explores.

    Attributes:
        hidden: H, width of every layer.
        denoising_steps: S, Euler steps of a sample.
        exploration: Noise of the flow-SDE.
    """

    architecture: ClassVar[str] = 'flow'

    hidden: int = 256
    denoising_steps: int = 4
    exploration: Exploration = field(default_factory=Exploration)

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        super().__post_init__()
        if self.hidden < 1:
            raise ParameterError(f'hidden is {self.hidden}; allowed: 1 and more')
        if self.denoising_steps < 1:
            raise ParameterError(f'denoising_steps is {self.denoising_steps}; allowed: 1 and more')
        self.exploration.noisy_steps(self.denoising_steps)


class FlowHead(TimedNetwork):
    """Velocity of a chunk given what was seen and times in [0, 1].

    The part of the seen is computed once a call.
    """

    def __init__(self, hidden: int, chunk_length: int, action_dimension: int) -> None:
        super().__init__()
        elements = chunk_length * action_dimension
        self.seen = torch.nn.Linear(hidden, hidden)
        self.point = torch.nn.Linear(elements, hidden, bias=False)
        self.time = torch.nn.Linear(_TIME_DIMENSION, hidden, bias=False)
        self.middle = torch.nn.Linear(hidden, hidden)
        self.out = torch.nn.Linear(hidden, elements)
        half = _TIME_DIMENSION // 2
        frequencies = math.pi * 64.0 ** (torch.arange(half) / (half - 1))
        self.register_buffer('frequencies', frequencies, persistent=False)

    def forward(self, point: torch.Tensor, seen: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return the velocity (B, L, A) of points (B, L, A).

        Args:
            point: x_t.
            seen: `self.seen` of the encoding, shape (B, H).
            time: `embed_times`, shape (B, H) or (H,).
        """
        first = functional.silu(self.point(point.flatten(1)) + seen + time)
        second = first + functional.silu(self.middle(first))
        velocity: torch.Tensor = self.out(second).view_as(point)
        return velocity


class FlowPolicy(ChainPolicy):
    """A flow-matching policy over state vectors; see `flow_sde` for how it explores."""

    config: FlowConfig

    def __init__(self, config: FlowConfig) -> None:
        super().__init__(config)
        self.encoder = Encoder(self._inputs(config), config.hidden)
        self.head = FlowHead(config.hidden, config.chunk_length, config.action_dimension)
        self.sde = FlowSDE(config.exploration, config.denoising_steps, config.chunk_length)
        times = torch.arange(config.denoising_steps) / config.denoising_steps
        self.register_buffer('times', times, persistent=False)

    def encode(self, inputs: PolicyInput) -> torch.Tensor:
        """Return the encoding of what is seen, shape (B, H)."""
        encoded: torch.Tensor = self.encoder(self._perceive(inputs))
        return encoded

    @classmethod
    def _inputs(cls, config: FlowConfig) -> int:
        return config.feature_dimension

    def _perceive(self, inputs: PolicyInput) -> torch.Tensor:
        normalised: torch.Tensor = self.normaliser(inputs.features)
        return normalised

    def _velocity(self, inputs: PolicyInput) -> Velocity:
        seen = self.head.seen(self.encode(inputs))
        times = self.head.embed_times(self.times)
        return lambda point, step: self.head(point, seen, times[step])

    def _imitation_loss(
        self, inputs: PolicyInput, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Return |v(x_t, t) - (x_1 - x_0)|^2 by element, t uniform."""
        device = actions.device
        noise = torch.randn(actions.shape, generator=generator, dtype=actions.dtype).to(device)
        times = torch.rand(len(actions), generator=generator, dtype=actions.dtype).to(device)
        point = torch.lerp(noise, actions, times[:, None, None])
        seen = self.head.seen(self.encode(inputs))
        velocity = self.head(point, seen, self.head.embed_times(times))
        return (velocity - (actions - noise)).square()
