"""Settings of `structrl train events`: what may be set, its range, and the value that is used.

MART-GRPO tells LoRA on a frozen backbone, selection by validation IoU and stopping after four
checks without a better one (Sections 3.1, E.3); the other numbers are customary.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic import model_validator

from structrl_ros.models.grm.vlm_config import LORA_TARGETS
from structrl_ros.training.checked_model import CheckedModel
from structrl_ros.training.planner_settings import PlannerSftSettings


class EventSettings(CheckedModel):
    """What the trainer of an event model has."""

    base: str = Field('', description='Folder of a vision-language model, or its id on the hub.')
    adapter: str = Field('', description='LoRA adapter of that base to go on from.')
    weights: Literal['lora', 'all'] = Field(
        'lora', description='What is trained: an adapter, or the whole model (a tiny one).'
    )
    seed: int = Field(0, ge=0, lt=2**31, description='Of adapters and order.')
    frames: int = Field(8, ge=2, le=64, description='Frames of each camera that are shown.')
    updates: int = Field(600, ge=1, description='Gradient steps, unless it stops before.')
    rows: int = Field(8, ge=1, description='Rollouts of a gradient step.')
    learning_rate: float = Field(1e-4, gt=0, description='Peak of a cosine; AdamW.')
    weight_decay: float = Field(0.0, ge=0, description='Of AdamW.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    evaluate_every: int = Field(50, ge=1, description='Updates between checks on validation.')
    validation_rollouts: int = Field(
        0, ge=0, description='Failed rollouts of a check, of every task alike; 0: all.'
    )
    patience: int = Field(4, ge=1, description='Checks without a better one that end training.')
    max_tokens: int = Field(400, ge=16, description='Longest answer.')
    device: str = Field('auto', description='auto, cpu, cuda or mps.')
    dtype: str = Field('auto', description='Of the base; auto is bfloat16 on a GPU that has it.')
    four_bit: bool = Field(False, description='Hold the base in 4 bit; needs bitsandbytes.')
    image_pixels: int = Field(0, ge=0, description='Most pixels of an image; 0: as the base says.')
    lora_rank: int = Field(16, ge=1, description='Of the adapter.')
    lora_alpha: float = Field(32.0, gt=0, description='Scale of the adapter, times 1 / rank.')
    lora_targets: tuple[str, ...] = Field(
        LORA_TARGETS, description='Ends of the names of modules with adapters.'
    )

    @model_validator(mode='after')
    def _one_start(self) -> EventSettings:
        if self.weights == 'all' and (self.adapter or self.four_bit):
            raise ValueError('weights all: go with no adapter and no four_bit; allowed: lora')
        return self

    def of_model(self) -> PlannerSftSettings:
        """Return what `planner_model` needs to load the base and its adapter."""
        shared = set(type(self).model_fields) & set(PlannerSftSettings.model_fields)
        return PlannerSftSettings(**{name: getattr(self, name) for name in shared})
