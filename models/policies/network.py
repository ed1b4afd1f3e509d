"""Layers that several policies share."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional


class Encoder(torch.nn.Module):
    """Two layers of SiLU, the second residual: (B, inputs) to (B, hidden)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(inputs, hidden)
        self.second = torch.nn.Linear(hidden, hidden)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the encoding."""
        first = functional.silu(self.first(values))
        return first + functional.silu(self.second(first))


class ImageEncoder(torch.nn.Module):
    """Convolutions with group norm, then where each channel sees most: uint8 to (B, outputs).

    Every channel of the last map becomes the mean position of its softmax over the picture, and
    its mean value; 0.25 M parameters with the channels and strides that are the default.
    """

    CHANNELS = (32, 64, 128, 128)
    STRIDES = (2, 2, 2, 2)

    def __init__(
        self,
        outputs: int,
        channels: Sequence[int] = CHANNELS,
        strides: Sequence[int] = STRIDES,
    ) -> None:
        super().__init__()
        layers: list[torch.nn.Module] = []
        for inputs, width, stride in zip((3, *channels), channels, strides, strict=False):
            kernel = max(3, 2 * stride - 1)
            layers += [
                torch.nn.Conv2d(inputs, width, kernel, stride=stride, padding=kernel // 2),
                torch.nn.GroupNorm(8, width),
                torch.nn.SiLU(),
            ]
        self.layers = torch.nn.Sequential(*layers)
        self.out = torch.nn.Linear(3 * channels[-1], outputs)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the encoding of upright RGB pictures, shape (B, H, W, 3), uint8."""
        pixels = images.permute(0, 3, 1, 2).to(self.out.weight.dtype).div(127.5).sub(1.0)
        maps = self.layers(pixels.contiguous())
        height, width = maps.shape[2:]
        weight = maps.flatten(2).softmax(dim=2).view_as(maps)
        down = torch.linspace(-1.0, 1.0, height, device=maps.device, dtype=maps.dtype)
        right = torch.linspace(-1.0, 1.0, width, device=maps.device, dtype=maps.dtype)
        rows = (weight.sum(dim=3) * down).sum(dim=2)
        columns = (weight.sum(dim=2) * right).sum(dim=2)
        encoded: torch.Tensor = self.out(torch.cat((rows, columns, maps.mean(dim=(2, 3))), dim=1))
        return encoded


class TimedNetwork(torch.nn.Module):
    """A network that is told times by `time`, a layer over their sines and cosines.

    Attributes:
        time: Of a network's own making, from 2 F numbers.
        frequencies: Buffer of shape (F,), rad a unit of time.
    """

    time: torch.nn.Module
    frequencies: torch.Tensor

    def embed_times(self, times: torch.Tensor) -> torch.Tensor:
        """Return what times, shape (T,), add, shape (T, outputs of `time`)."""
        phase = times[:, None] * self.frequencies
        embedded: torch.Tensor = self.time(torch.cat((phase.sin(), phase.cos()), dim=1))
        return embedded
