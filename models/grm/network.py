"""The small GRM: images to tokens, a transformer over them, one signed hop (Robo-Dopamine 2.0).

Every view and every cell of a panel is a token; cells and views that are not there are masked, so
padding cannot be told from its absence. The regression head replaces the paper's text output.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch import nn

from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.inputs import GrmInput
from structrl_ros.progress.hop import LABEL_SCALE

#: Start, goal, before, after; each with three view slots.
_PARTS, _SLOTS = 4, 3
_CHANNELS = (32, 64, 96, 128)


class GrmNetwork(nn.Module):
    """f_theta of Eq. 1, with a regression head."""

    def __init__(self, config: GrmConfig) -> None:
        """Make a network with random weights."""
        super().__init__()
        self.config = config
        width = config.width
        self.view_encoder = _Encoder(width, pool=4)
        self.cell_encoder = _Encoder(width, pool=2)
        self.part = nn.Parameter(0.02 * torch.randn(_PARTS, 1, width))
        self.slot = nn.Parameter(0.02 * torch.randn(1, _SLOTS, width))
        self.cell = nn.Parameter(0.02 * torch.randn(config.cells, width))
        self.word = nn.Embedding(config.vocabulary, width, padding_idx=0)
        self.question = nn.Parameter(0.02 * torch.randn(1, 1, width))
        layer = nn.TransformerEncoderLayer(
            width,
            config.heads,
            dim_feedforward=2 * width,
            dropout=0.0,
            activation='gelu',
            batch_first=True,
            norm_first=True,
        )
        self.transformer = nn.TransformerEncoder(
            layer, config.layers, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, inputs: GrmInput) -> Tensor:
        """Return the estimates of 100 x hop (Eq. 9), shape (B,); not clipped."""
        batch = inputs.views.shape[0]
        views = _encode(self.view_encoder, inputs.views, inputs.view_mask)
        views = views + (self.part + self.slot)
        cells = _encode(self.cell_encoder, inputs.cells, inputs.cell_mask) + self.cell
        present = (inputs.words > 0).float().unsqueeze(-1)
        words = (self.word(inputs.words) * present).sum(1) / present.sum(1).clamp(min=1.0)
        question = self.question.expand(batch, -1, -1) + words.unsqueeze(1)
        tokens = torch.cat([question, views.flatten(1, 2), cells], dim=1)
        there = torch.cat(
            [
                torch.ones(batch, 1, dtype=torch.bool, device=tokens.device),
                inputs.view_mask.flatten(1),
                inputs.cell_mask,
            ],
            dim=1,
        )
        seen = self.transformer(tokens, src_key_padding_mask=~there)
        answer: Tensor = LABEL_SCALE * self.head(seen[:, 0]).squeeze(-1)
        return answer


class _Encoder(nn.Module):
    """Images (N, 3, S, S) in [-1, 1] to tokens (N, width)."""

    def __init__(self, width: int, pool: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels in _CHANNELS:
            layers += [
                nn.Conv2d(before, channels, 3, stride=2, padding=1),
                nn.GroupNorm(8, channels),
                nn.SiLU(),
            ]
            before = channels
        layers += [nn.AdaptiveAvgPool2d(pool), nn.Flatten(), nn.Linear(before * pool**2, width)]
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Tensor) -> Tensor:
        tokens: Tensor = self.layers(images)
        return tokens


def _encode(encoder: _Encoder, images: Tensor, mask: Tensor) -> Tensor:
    """Encode the images that are there; the others get zeros, shape (*mask.shape, width)."""
    shown = images[mask].permute(0, 3, 1, 2).float() / 127.5 - 1.0
    width = encoder.layers[-1].out_features
    tokens = torch.zeros(*mask.shape, width, dtype=shown.dtype, device=images.device)
    if shown.shape[0]:
        tokens[mask] = encoder(shown)
    return tokens
