"""Settings of `structrl train grm-vlm`: what may be set, its range, and the value that is used.

The numbers of training are of no study of ours: no vision-language model with real weights was
trained here. They are customary for adapters.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from structrl_ros.models.grm.vlm_config import LORA_TARGETS
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.training.grm_settings import CurriculumSettings


class VlmGrmSettings(CurriculumSettings):
    """What a run of the trainer depends on, besides the sets."""

    base: str = Field('', description='Folder of a vision-language model, or its id on the hub.')
    answer: Literal['regression', 'text'] = Field(
        'regression', description='A head on the last hidden state, or <score>+NN%</score>.'
    )
    pairs: int = Field(16000, ge=1, description='Distinct draws of pairs that pools are made of.')
    stage_samples: int = Field(8000, ge=1, description='Pairs of each of the two stages.')
    rows: int = Field(4, ge=1, description='Pairs that go through the network at a time.')
    learning_rate: float = Field(1e-4, gt=0, description='Peak of a warm-up and a cosine; AdamW.')
    head_learning_rate: float = Field(1e-3, gt=0, description='The same, of the head.')
    weight_decay: float = Field(0.0, ge=0, description='Of AdamW.')
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

    def vlm_config(self) -> VlmGrmConfig:
        """Return what the network is.

        Raises:
            ParameterError: If there is no base.
        """
        pre_panels, between_panels = self.panels
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
            pre_panels=pre_panels,
            between_panels=between_panels,
        )
