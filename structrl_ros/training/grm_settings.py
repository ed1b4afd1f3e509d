"""Settings of `structrl train grm`: what may be set, its range, and the value that is used.

`CurriculumSettings` is what both sizes of the GRM share.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from structrl_ros.models.grm.config import GrmConfig
from structrl_ros.progress.curriculum import REPLAY_SHARE
from structrl_ros.progress.strip import Layout
from structrl_ros.training.checked_model import CheckedModel

Control = Literal['E0', 'E1', 'E2', 'E3', 'E4']
LayoutName = Literal['panel', 'static']


class CurriculumSettings(CheckedModel):
    """What a run over pairs depends on, whatever network learns from them."""

    seed: int = Field(0, ge=0, lt=2**31, description='Of weights, pairs, order and augmentation.')
    control: Control = Field('E4', description='Order of the pairs: the paper, or a control.')
    layout: LayoutName = Field('panel', description='Input with panels, or static (Eq. 3).')
    ood: bool = Field(True, description='Whether pairs with an edited endpoint are trained on.')
    pairs: int = Field(20000, ge=1, description='Distinct draws of pairs that pools are made of.')
    stage_samples: int = Field(10000, ge=1, description='Pairs of each of the two stages.')
    batch: int = Field(32, ge=1, description='Pairs of a gradient step.')
    replay_share: float = Field(
        REPLAY_SHARE, ge=0, le=1, description='Large pairs in stage 2 of E4 and E1 (Eq. 11).'
    )
    learning_rate: float = Field(1e-3, gt=0, description='Peak of a warm-up and a cosine; AdamW.')
    warmup_share: float = Field(0.05, ge=0, lt=1, description='Share of updates that warm up.')
    weight_decay: float = Field(0.05, ge=0, description='Of AdamW.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    drop_wrists: float = Field(0.25, ge=0, le=1, description='Queries without wrist views.')
    drop_panels: float = Field(0.15, ge=0, le=1, description='Queries without panels.')
    validation_share: float = Field(
        0.12, ge=0, lt=1, description='Share of training episodes that choose the best update.'
    )
    held_out_pairs: int = Field(720, ge=9, description='Pairs of a measurement, all families.')
    checkpoint_every: int = Field(125, ge=1, description='Updates between two checkpoints.')
    view_px: int = Field(64, ge=16, description='Side of a view, pixels, a multiple of 16.')
    cell_px: int = Field(24, ge=16, description="Side of a panel's cell, pixels.")
    grid: int = Field(3, ge=1, description='Cells along a side of a panel.')
    pre_panels: int = Field(1, ge=0, description='K, panels before the pair.')
    between_panels: int = Field(1, ge=0, description='L, panels between the endpoints.')

    @property
    def updates(self) -> int:
        """Gradient steps of both stages."""
        return 2 * self.stage_updates

    @property
    def stage_updates(self) -> int:
        """Gradient steps of a stage; the last one may have fewer pairs."""
        return -(-self.stage_samples // self.batch)

    @property
    def panels(self) -> tuple[int, int]:
        """Panels before the pair and between its endpoints, none in the static layout."""
        return (0, 0) if self.layout == 'static' else (self.pre_panels, self.between_panels)

    @property
    def strip_layout(self) -> Layout:
        """Panels of the queries."""
        pre_panels, between_panels = self.panels
        return Layout(
            pre_panels=pre_panels,
            between_panels=between_panels,
            grid=self.grid,
            cell_px=self.cell_px,
        )


class GrmSettings(CurriculumSettings):
    """What a run of the small GRM's trainer depends on, besides the sets."""

    shift_px: int = Field(2, ge=0, description='Largest random shift of an image, pixels.')
    brightness: float = Field(0.1, ge=0, lt=1, description='Largest random gain of an image.')
    device: str = Field('cpu', description="Where the network is: 'cpu', 'cuda:0', ...")
    precision: Literal['auto', 'float32', 'bfloat16'] = Field(
        'auto', description='Of autocast; auto is bfloat16 on a GPU and float32 elsewhere.'
    )
    pooled_panels: int = Field(0, ge=0, le=1, description='Whether the head reads the windows.')
    width: int = Field(128, ge=8, description='Of a token.')
    layers: int = Field(2, ge=1, description='Of the transformer.')
    heads: int = Field(4, ge=1, description='Of its attention.')
    channels: int = Field(16, ge=8, description='Of the first convolution, a multiple of 8.')

    def grm_config(self) -> GrmConfig:
        """Return the architecture.

        Raises:
            ParameterError: If its numbers do not go together.
        """
        pre_panels, between_panels = self.panels
        return GrmConfig(
            view_px=self.view_px,
            cell_px=self.cell_px,
            grid=self.grid,
            pre_panels=pre_panels,
            between_panels=between_panels,
            pooled_panels=self.pooled_panels,
            width=self.width,
            layers=self.layers,
            heads=self.heads,
            channels=self.channels,
        )
