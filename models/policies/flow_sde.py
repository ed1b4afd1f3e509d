"""Sampling of a flow as an ODE, or as an SDE whose chain has a likelihood.

StructRL, section 2: a noise-free ODE has no tractable pi(a | o), so Gaussian noise is injected
into denoising steps. Internal time t runs from 0 (noise) to 1 (data) in S equal Euler steps, with
x_t = (1 - t) x_0 + t x_1, x_0 standard normal, and the velocity v(x, t) = E[x_1 - x_0 | x_t = x].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.row_noise import RowNoise

#: Velocity of points x (B, L, A) at step s, time s / S.
Velocity = Callable[[torch.Tensor, int], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """Which noise is injected into a chain.

    Attributes:
        sigma: Standard deviation of the noise of one noisy step, in the units of the actions;
            0 is the ODE.
        steps: Noisy denoising steps; negative ones count from the last.
        correlation: Between the noise of neighbouring rows of the chunk, in [0, 1); rows i and j
            have correlation^|i - j|; 0 is white.
        drift_correction: Whether noisy steps add 1/2 sigma^2 Sigma grad log p_t (see `FlowSDE`).
    """

    sigma: float = 0.1
    steps: tuple[int, ...] = (-1,)
    correlation: float = 0.0
    drift_correction: bool = False

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            ParameterError: If a field is out of range.
        """
        if not 0.0 <= self.sigma < math.inf:
            raise ParameterError(f'sigma is {self.sigma}; allowed: finite numbers from 0 on')
        if not 0.0 <= self.correlation < 1.0:
            raise ParameterError(f'correlation is {self.correlation}; allowed: [0, 1)')

    def noisy_steps(self, count: int) -> tuple[int, ...]:
        """Return the noisy ones of `count` denoising steps, ascending from 0.

        Raises:
            ParameterError: If one does not exist or is named twice.
        """
        if any(not -count <= s < count for s in self.steps):
            raise ParameterError(
                f'noisy steps are {list(self.steps)}; allowed: {-count} to {count - 1}'
            )
        steps = tuple(sorted(s % count for s in self.steps))
        if len(set(steps)) < len(steps):
            raise ParameterError(f'noisy steps are {list(self.steps)}; allowed: each once')
        return steps


class FlowSDE(torch.nn.Module):
    """Euler steps of a flow, some of them noisy, and the log-density of the chain they leave.

    A noisy step is x' = m(x) + sigma C z with z standard normal and C C^T = Sigma, the correlation
    matrix over the L rows. White noise with m = x + v dt changes the marginals: it widens them by
    about sigma.

    Drift correction. The density of dx = v dt obeys dp/dt = -div(v p). For any constant G,
    dx = (v + 1/2 G G^T grad log p) dt + G dw has, by Fokker-Planck,
    dp/dt = -div(v p) - 1/2 div(G G^T p grad log p) + 1/2 div(G G^T grad p), and since
    p grad log p = grad p the last two cancel: the same marginals. With G = sigma C / sqrt(dt) a
    step of length dt carries noise sigma C z and the drift 1/2 sigma^2 Sigma grad log p. The score
    follows from the velocity: grad log p_t(x) = -E[x_0 | x] / (1 - t), because x_t given x_1 is
    normal with deviation 1 - t, and E[x_0 | x] = x - t v since x_t = x_0 + t (x_1 - x_0). The
    equality is that of the limit of small steps; with few steps an error of order dt stays.

    Likelihood: that of the noise of each noisy step (see `RowNoise`), summed over them.
    """

    def __init__(self, exploration: Exploration, steps: int, chunk_length: int) -> None:
        """Prepare `steps` denoising steps of chunks of `chunk_length` rows."""
        super().__init__()
        if steps < 1:
            raise ParameterError(f'denoising_steps is {steps}; allowed: 1 and more')
        self.exploration = exploration
        self.steps = steps
        self.noisy = exploration.noisy_steps(steps)
        self.noise = RowNoise(exploration.correlation, chunk_length)

    @property
    def draws(self) -> int:
        """Standard normal draws a chunk: the first noise, and one for each noisy step."""
        return 1 + len(self.noisy)

    def sample(
        self, velocity: Velocity, noise: torch.Tensor, *, explore: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Integrate from `noise[:, 0]`, noise of shape (B, draws, L, A).

        Returns:
            The chain (B, S + 1, L, A) and its log-density by element (B, L, A), which is zero
            where no noise was injected. At sigma 0 the chain equals the ODE's to the last bit.
        """
        point = noise[:, 0]
        chain = [point]
        log_prob = torch.zeros_like(point)
        noisy = self._live if explore else ()
        for step in range(self.steps):
            mean = self._mean(point, velocity(point, step), step, step in noisy)
            point = mean
            if step in noisy:
                white = noise[:, 1 + self.noisy.index(step)]
                point = torch.add(mean, self.noise.colour(white), alpha=self.exploration.sigma)
                log_prob = log_prob + self.noise.log_density(point - mean, self.exploration.sigma)
            chain.append(point)
        return torch.stack(chain, dim=1), log_prob

    def log_prob(self, velocity: Velocity, chain: torch.Tensor) -> torch.Tensor:
        """Return the log-density by element (B, L, A) of chains (B, S + 1, L, A).

        Raises:
            PolicyError: If the chain has another number of steps.
        """
        if chain.shape[1] != self.steps + 1:
            raise PolicyError(
                f'chain has {chain.shape[1]} points; allowed: {self.steps + 1} '
                f'({self.steps} denoising steps)'
            )
        log_prob = torch.zeros_like(chain[:, 0])
        for step in self._live:
            point = chain[:, step]
            mean = self._mean(point, velocity(point, step), step, True)
            log_prob = log_prob + self.noise.log_density(
                chain[:, step + 1] - mean, self.exploration.sigma
            )
        return log_prob

    @property
    def _live(self) -> tuple[int, ...]:
        return self.noisy if self.exploration.sigma > 0.0 else ()

    def _mean(
        self, point: torch.Tensor, velocity: torch.Tensor, step: int, noisy: bool
    ) -> torch.Tensor:
        mean = torch.add(point, velocity, alpha=1.0 / self.steps)
        if not (noisy and self.exploration.drift_correction):
            return mean
        time = step / self.steps
        score = (time * velocity - point) / (1.0 - time)
        return torch.add(mean, self.noise.covary(score), alpha=0.5 * self.exploration.sigma**2)
