"""Settings of `structrl train grm-vlm`: what may be set, its range, and the value that is used.

The numbers of training are of no study of ours: no vision-language model with real weights was
trained here. They are customary for adapters.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field

from structrl_ros.models.grm.vlm_config import LORA_TARGETS
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.progress.curriculum import REPLAY_SHARE
from structrl_ros.training.grm_settings import Control
from structrl_ros.training.grm_settings import GrmSettings
from structrl_ros.training.grm_settings import LayoutName


class VlmGrmSettings(BaseModel):
    """What a run of the trainer depends on, besides the sets."""

    model_config = ConfigDict(frozen=True, extra='forbid', allow_inf_nan=False)

    base: str = Field('', description='Folder of a vision-language model, or its id on the hub.')
    answer: Literal['regression', 'text'] = Field(
        'regression', description='A head on the last hidden state, or <score>+NN%</score>.'
    )
    seed: int = Field(0, ge=0, lt=2**31, description='Of adapters, pairs and order.')
    control: Control = Field('E4', description='Order of the pairs: the paper, or a control.')
    layout: LayoutName = Field('panel', description='Input with panels, or static (Eq. 3).')
    ood: bool = Field(True, description='Whether pairs with an edited endpoint are trained on.')
    pairs: int = Field(16000, ge=1, description='Distinct draws of pairs that pools are made of.')
    stage_samples: int = Field(8000, ge=1, description='Pairs of each of the two stages.')
    batch: int = Field(32, ge=1, description='Pairs of a gradient step.')
    rows: int = Field(4, ge=1, description='Pairs that go through the network at a time.')
    replay_share: float = Field(
        REPLAY_SHARE, ge=0, le=1, description='Large pairs in stage 2 of E4 and E1 (Eq. 11).'
    )
    learning_rate: float = Field(1e-4, gt=0, description='Peak of a warm-up and a cosine; AdamW.')
    head_learning_rate: float = Field(1e-3, gt=0, description='The same, of the head.')
    warmup_share: float = Field(0.05, ge=0, lt=1, description='Share of updates that warm up.')
    weight_decay: float = Field(0.0, ge=0, description='Of AdamW.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    drop_wrists: float = Field(0.25, ge=0, le=1, description='Queries without wrist views.')
    drop_panels: float = Field(0.15, ge=0, le=1, description='Queries without panels.')
    validation_share: float = Field(
        0.12, ge=0, lt=1, description='Share of training episodes that choose the best update.'
    )
    held_out_pairs: int = Field(180, ge=9, description='Pairs of a measurement, all families.')
    checkpoint_every: int = Field(50, ge=1, description='Updates between two checkpoints.')
    device: str = Field('auto', description='auto, cpu, cuda or mps.')
    dtype: str = Field('auto', description='Of the base; auto is bfloat16 on a GPU that has it.')
    gradient_checkpointing: bool = Field(
        False, description='Compute activations twice: slower, in less memory.'
    )
    lora_rank: int = Field(16, ge=1, description='Of the adapters.')
    lora_alpha: float = Field(32.0, gt=0, description='Scale of the adapters, times 1 / rank.')
    lora_targets: tuple[str, ...] = Field(
        LORA_TARGETS, description='Ends of the names of modules with adapters.'
    )
    image_pixels: int = Field(0, ge=0, description='Most pixels of an image; 0: as the base says.')
    view_px: int = Field(128, ge=16, description='Side of a view, pixels, a multiple of 16.')
    cell_px: int = Field(42, ge=16, description="Side of a panel's cell, pixels.")
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

    def vlm_config(self) -> VlmGrmConfig:
        """Return what the network is.

        Raises:
            ParameterError: If there is no base.
        """
        is_static = self.layout == 'static'
        return VlmGrmConfig(
            base=self.base,
            answer=self.answer,
            lora_rank=self.lora_rank,
            lora_alpha=self.lora_alpha,
            lora_targets=self.lora_targets,
            image_pixels=self.image_pixels,
            view_px=self.view_px,
            cell_px=self.cell_px,
            grid=self.grid,
            pre_panels=0 if is_static else self.pre_panels,
            between_panels=0 if is_static else self.between_panels,
        )

    def data_settings(self) -> GrmSettings:
        """Return what decides the pairs, as `load_data` takes it: both sizes share the loader."""
        shared = (
            *('seed', 'layout', 'ood', 'pairs', 'validation_share', 'held_out_pairs'),
            *('view_px', 'cell_px', 'grid', 'pre_panels', 'between_panels'),
        )
        return GrmSettings.model_validate({name: getattr(self, name) for name in shared})
