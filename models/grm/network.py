"""The small GRM: images to tokens, a transformer over them, one signed hop (Robo-Dopamine 2.0).

Every view and every cell of a panel is a token; cells and views that are not there are masked, so
padding cannot be told from its absence. A regression head, which reads the question and both
endpoints, replaces the paper's text output.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch import nn

from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.models.grm.distinct import DistinctInput
from structrl_ros.models.grm.inputs import GrmInput
from structrl_ros.progress.hop import LABEL_SCALE

#: Start, goal, before, after; each with three view slots.
_PARTS, _SLOTS = 4, 3
_BEFORE = 2
#: Channels of the convolutions, in those of the first.
_WIDENING = (1, 2, 3, 4)


class GrmNetwork(nn.Module):
    """f_theta of Eq. 1, with a regression head."""

    def __init__(self, config: GrmConfig) -> None:
        """Make a network with random weights."""
        super().__init__()
        self.config = config
        width = config.width
        self.view_encoder = _Encoder(width, config.channels, pool=4)
        self.cell_encoder = _Encoder(width, config.channels, pool=2)
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
        read = (5 if self._reads_windows else 3) * width
        self.head = nn.Sequential(nn.Linear(read, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, inputs: GrmInput) -> Tensor:
        """Return the estimates of 100 x hop (Eq. 9), shape (B,); not clipped."""
        views = _encode(self.view_encoder, inputs.views, inputs.view_mask)
        cells = _encode(self.cell_encoder, inputs.cells, inputs.cell_mask)
        return self._answer(views, inputs.view_mask, cells, inputs.cell_mask, inputs.words)

    def answer_distinct(self, inputs: DistinctInput) -> Tensor:
        """Return what `forward` returns; each distinct image is encoded once."""
        views = _look_up(self.view_encoder, inputs.views, inputs.view_index)
        cells = _look_up(self.cell_encoder, inputs.cells, inputs.cell_index)
        view_mask, cell_mask = inputs.view_index >= 0, inputs.cell_index >= 0
        return self._answer(views, view_mask, cells, cell_mask, inputs.words)

    def _answer(
        self, views: Tensor, view_mask: Tensor, cells: Tensor, cell_mask: Tensor, words: Tensor
    ) -> Tensor:
        batch = len(words)
        views = views + (self.part + self.slot)
        cells = cells + self.cell
        present = (words > 0).float().unsqueeze(-1)
        meant = (self.word(words) * present).sum(1) / present.sum(1).clamp(min=1.0)
        question = self.question.expand(batch, -1, -1) + meant.unsqueeze(1)
        tokens = torch.cat([question, views.flatten(1, 2), cells], dim=1)
        always = torch.ones(batch, 1, dtype=torch.bool, device=tokens.device)
        there = torch.cat([always, view_mask.flatten(1), cell_mask], dim=1)
        seen = self.transformer(tokens, src_key_padding_mask=~there)
        ends = _mean_of_slots(seen[:, 1 : 1 + _PARTS * _SLOTS], view_mask)[:, _BEFORE:]
        told = torch.cat([seen[:, 0], ends.flatten(1)], dim=1)
        if self._reads_windows:
            windows = self._sums_of_windows(seen[:, 1 + _PARTS * _SLOTS :], cell_mask)
            told = torch.cat([told, windows], dim=1)
        answer: Tensor = LABEL_SCALE * self.head(told).squeeze(-1).float()
        return answer

    @property
    def _reads_windows(self) -> bool:
        return self.config.pooled_panels > 0 and self.config.cells > 0

    def _sums_of_windows(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the tokens of each window, summed over its cells: how full it is is told."""
        shown = tokens * mask.unsqueeze(-1)
        first = self.config.pre_panels * self.config.grid**2
        windows = (shown[:, :first], shown[:, first:])
        cells = self.config.grid**2
        return torch.cat([window.sum(1) / cells for window in windows], dim=1)


class _Encoder(nn.Module):
    """Images (N, 3, S, S) in [-1, 1] to tokens (N, width)."""

    def __init__(self, width: int, first: int, pool: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for channels in [first * factor for factor in _WIDENING]:
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
    shown = images[mask]
    width = encoder.layers[-1].out_features
    tokens = torch.zeros(*mask.shape, width, device=images.device)
    if len(shown):
        tokens[mask] = encoder(_scaled(shown)).float()
    return tokens


def _look_up(encoder: _Encoder, images: Tensor, index: Tensor) -> Tensor:
    """Encode all images, and return those of the index; -1 is zeros, (*index.shape, width)."""
    width = encoder.layers[-1].out_features
    nothing = torch.zeros(1, width, device=images.device)
    table = torch.cat([encoder(_scaled(images)).float(), nothing]) if len(images) else nothing
    return table.index_select(0, (index % len(table)).flatten()).unflatten(0, index.shape)


def _mean_of_slots(tokens: Tensor, mask: Tensor) -> Tensor:
    """Return the mean token of each part over the views that are there, (B, parts, width)."""
    weights = mask.to(tokens.dtype).unsqueeze(-1)
    return (tokens.unflatten(1, mask.shape[1:]) * weights).sum(2) / weights.sum(2).clamp(min=1.0)


def _scaled(images: Tensor) -> Tensor:
    """Return images (N, S, S, 3) of bytes as (N, 3, S, S) in [-1, 1]."""
    return images.permute(0, 3, 1, 2).float() / 127.5 - 1.0
