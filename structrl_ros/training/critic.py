"""The critic of chunk-level PPO: V of an observation and of the time that is left."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch import nn

from structrl_ros.training.descent import descend
from structrl_ros.training.minibatches import minibatches

#: Observations that are valued at once.
_ROWS = 8192


class Critic(nn.Module):
    """An MLP over (observation, t / H, (t / H)^2).

    With the time as an input an episode that ends at its horizon has a value of its own, so the
    horizon may count as an end. The observation is normalised by `mean` and `deviation`.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, inputs: int, width: int) -> None:
        """Make a critic of `inputs` numbers with two hidden layers of `width` units."""
        super().__init__()
        self.register_buffer('mean', torch.zeros(inputs))
        self.register_buffer('deviation', torch.ones(inputs))
        self._layers = nn.Sequential(
            nn.Linear(inputs + 2, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 1),
        )

    def forward(self, observed: Tensor, elapsed: Tensor) -> Tensor:
        """Return values, shape (B,), of observations (B, F) at times t / H in [0, 1], (B,)."""
        scaled = ((observed - self.mean) / self.deviation).clamp(-10.0, 10.0)
        time = elapsed[:, None]
        value: Tensor = self._layers(torch.cat((scaled, time, time * time), dim=1))
        return value[:, 0]

    @torch.no_grad()
    def values(self, observed: Tensor, elapsed: Tensor) -> Tensor:
        """Return the values of any number of observations, without gradient."""
        parts = [
            self(observed[first : first + _ROWS], elapsed[first : first + _ROWS])
            for first in range(0, len(observed), _ROWS)
        ]
        return torch.cat(parts) if parts else elapsed.new_zeros(0)


class CriticLearner:
    """A critic with its optimiser."""

    def __init__(self, critic: Critic, *, learning_rate: float, gradient_clip: float) -> None:
        self.critic = critic
        self.optimiser = torch.optim.Adam(critic.parameters(), lr=learning_rate, fused=True)
        self._gradient_clip = gradient_clip

    def fit(
        self,
        observed: Tensor,
        elapsed: Tensor,
        returns: Tensor,
        *,
        epochs: int,
        minibatch: int,
        random: np.random.Generator,
    ) -> None:
        """Descend the squared error to the returns, shape (B,).

        Raises:
            TrainingError: If a gradient is not finite.
        """
        parameters = list(self.critic.parameters())
        for _ in range(epochs):
            for rows in minibatches(len(observed), minibatch, random):
                loss = (self.critic(observed[rows], elapsed[rows]) - returns[rows]).square().mean()
                descend(self.optimiser, parameters, loss, clip=self._gradient_clip, what='critic')


def explained_variance(values: Tensor, returns: Tensor) -> float | None:
    """Return 1 - Var(returns - values) / Var(returns), None where the returns do not vary."""
    spread = float(returns.var(correction=0))
    if spread < 1e-12:
        return None
    return 1.0 - float((returns - values).var(correction=0)) / spread
