"""The conditional 1-D U-Net of a diffusion policy (Chi et al. 2023), and its schedule of noise.

FiLM: what is seen scales and shifts every channel of every block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from structrl_ros.models.policies.network import TimedNetwork

#: Steps of the schedule that training draws from.
TRAINING_STEPS = 100
_GROUPS = 8
_KERNEL = 5
_LARGEST_BETA = 0.999
_TIME_DIMENSION = 32


def cosine_alphas() -> torch.Tensor:
    """Return the product of 1 - beta up to each training step, shape (100,), float32.

    Nichol and Dhariwal 2021, Eq. 17; the same numbers as diffusers' `squaredcos_cap_v2`.
    """

    def bar(time: float) -> float:
        return math.cos((time + 0.008) / 1.008 * math.pi / 2.0) ** 2

    count = TRAINING_STEPS
    betas = [min(1.0 - bar((i + 1) / count) / bar(i / count), _LARGEST_BETA) for i in range(count)]
    return torch.cumprod(1.0 - torch.tensor(betas, dtype=torch.float32), dim=0)


def denoising_times(steps: int) -> torch.Tensor:
    """Return the training steps that a sample of `steps` denoising steps visits, descending."""
    return torch.arange(steps).mul(TRAINING_STEPS // steps).flip(0)


def ddim_step(
    point: torch.Tensor, clean: torch.Tensor, alpha: torch.Tensor, next_alpha: torch.Tensor
) -> torch.Tensor:
    """Return the next point of the noise-free chain (Song et al. 2021, Eq. 12 with sigma 0).

    Args:
        point: x_t.
        clean: x_0 as the network predicts it.
        alpha: Product of 1 - beta up to t, a number.
        next_alpha: The same of the next, less noisy step; 1 at the end.
    """
    noise = (point - alpha.sqrt() * clean) / (1.0 - alpha).sqrt()
    return next_alpha.sqrt() * clean + (1.0 - next_alpha).sqrt() * noise


class FilmBlock(torch.nn.Module):
    """Two convolutions over the rows of a chunk; between them what is seen scales and shifts."""

    def __init__(self, inputs: int, channels: int, condition: int) -> None:
        super().__init__()
        self.first = _convolution(inputs, channels)
        self.film = torch.nn.Linear(condition, 2 * channels)
        self.second = _convolution(channels, channels)
        same = inputs == channels
        self.skip = torch.nn.Identity() if same else torch.nn.Conv1d(inputs, channels, 1)

    def forward(self, rows: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        """Return rows (B, channels, L) of rows (B, inputs, L) and a condition (B, C)."""
        scale, shift = self.film(condition)[:, :, None].chunk(2, dim=1)
        inner = self.second(self.first(rows) * (1.0 + scale) + shift)
        result: torch.Tensor = inner + self.skip(rows)
        return result


class ChunkUNet(TimedNetwork):
    """Predicts the clean chunk of a noisy one: (B, L, A) to (B, L, A), any L.

    Its times are training steps.
    """

    def __init__(self, action_dimension: int, channels: Sequence[int], seen: int) -> None:
        super().__init__()
        self.time = torch.nn.Sequential(
            torch.nn.Linear(_TIME_DIMENSION, seen), torch.nn.SiLU(), torch.nn.Linear(seen, seen)
        )
        widths = [action_dimension, *channels]
        self.down, self.up, self.shrink = (torch.nn.ModuleList() for _ in range(3))
        for level, (inputs, width) in enumerate(zip(widths, channels, strict=False)):
            self.down.append(FilmBlock(inputs, width, seen))
            if level < len(channels) - 1:
                self.shrink.append(torch.nn.Conv1d(width, width, 3, stride=2, padding=1))
        self.middle = FilmBlock(channels[-1], channels[-1], seen)
        for level in range(len(channels) - 2, -1, -1):
            self.up.append(FilmBlock(channels[level + 1] + channels[level], channels[level], seen))
        self.out = torch.nn.Conv1d(channels[0], action_dimension, 1)
        half = _TIME_DIMENSION // 2
        frequencies = torch.exp(-math.log(10_000.0) * torch.arange(half) / (half - 1))
        self.register_buffer('frequencies', frequencies, persistent=False)

    def forward(self, point: torch.Tensor, seen: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        """Return the clean chunk.

        Args:
            point: x_t, shape (B, L, A).
            seen: Encoding, shape (B, seen).
            time: `embed_times`, shape (B, seen) or (seen,).
        """
        condition = functional.silu(seen + time)
        rows = point.shape[1]
        whole = 2 ** len(self.shrink)
        signal = functional.pad(point.transpose(1, 2), (0, -rows % whole))
        kept: list[torch.Tensor] = []
        for level, block in enumerate(self.down):
            signal = block(signal, condition)
            if level < len(self.shrink):
                kept.append(signal)
                signal = self.shrink[level](signal)
        signal = self.middle(signal, condition)
        for block in self.up:
            wide = signal.repeat_interleave(2, dim=2)
            signal = block(torch.cat((wide, kept.pop()), dim=1), condition)
        clean: torch.Tensor = self.out(signal)[:, :, :rows].transpose(1, 2)
        return clean


def _convolution(inputs: int, channels: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Conv1d(inputs, channels, _KERNEL, padding=_KERNEL // 2),
        torch.nn.GroupNorm(_GROUPS, channels),
        torch.nn.SiLU(),
    )
