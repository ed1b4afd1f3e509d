"""Settings of `structrl train planner`: what may be set, its range, and the value that is used.

The defaults of stage grpo are REVER's (Section IV-A): eight completions a prompt, 8 a forward
pass and 12 passes an update, KL weight 0.04, rate 1e-5 with cosine decay, 3 epochs, 2048 tokens.
The paper names no clipping threshold, LoRA rank or weights of the reward: these are customary, or
this project's own.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic import model_validator

from structrl_ros.models.grm.vlm_config import LORA_TARGETS
from structrl_ros.training.checked_model import CheckedModel

#: Prompt that stands for the questions of the set as they are.
SET_PROMPT = 'set'


class PlannerSettings(CheckedModel):
    """What both stages have."""

    base: str = Field('', description='Folder of a vision-language model, or its id on the hub.')
    adapter: str = Field('', description='LoRA adapter of that base to go on from.')
    seed: int = Field(0, ge=0, lt=2**31, description='Of adapters, order and sampled answers.')
    kinds: tuple[str, ...] = Field(
        ('plan', 'completion'), description='What is asked: plan, completion.'
    )
    prompt: str = Field(
        'plan_blocks_v1',
        description="Prompt of planner_node; 'set': the questions of the set as they are.",
    )
    part: Literal['all', 'first', 'second'] = Field(
        'all', description='Half of the tasks that are trained on, of those not held out.'
    )
    held_out: float = Field(
        0.1, ge=0, lt=1, description='Share of tasks of the training split to measure on.'
    )
    split_seed: int = Field(0, ge=0, description='Of the draw of halves and held-out tasks.')
    updates: int = Field(0, ge=0, description='Gradient steps; 0: as many as the epochs have.')
    epochs: float = Field(3.0, gt=0, description='Passes over the questions.')
    rows: int = Field(8, ge=1, description='Answers that go through the model at a time.')
    accumulation: int = Field(12, ge=1, description='Forward passes of a gradient step.')
    learning_rate: float = Field(1e-5, gt=0, description='Peak of a cosine; AdamW.')
    warmup: int = Field(0, ge=0, description='First updates, in which the rate rises.')
    weight_decay: float = Field(0.0, ge=0, description='Of AdamW.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    max_tokens: int = Field(2048, ge=1, description='Longest answer.')
    evaluate_every: int = Field(0, ge=0, description='Updates between measurements; 0: the ends.')
    checkpoint_every: int = Field(50, ge=1, description='Updates between two checkpoints.')
    device: str = Field('auto', description='auto, cpu, cuda or mps.')
    dtype: str = Field('auto', description='Of the base; auto is bfloat16 on a GPU that has it.')
    four_bit: bool = Field(False, description='Hold the base in 4 bit; needs bitsandbytes.')
    gradient_checkpointing: bool = Field(
        False, description='Compute activations twice: slower, in less memory.'
    )
    image_pixels: int = Field(0, ge=0, description='Most pixels of an image; 0: as the base says.')
    lora_rank: int = Field(16, ge=1, description='Of the adapter.')
    lora_alpha: float = Field(32.0, gt=0, description='Scale of the adapter, times 1 / rank.')
    lora_targets: tuple[str, ...] = Field(
        LORA_TARGETS, description='Ends of the names of modules with adapters.'
    )
    lora_whole: tuple[str, ...] = Field(
        (), description='Ends of the names of modules that train whole beside it, as norm.'
    )

    @model_validator(mode='after')
    def _known_kinds(self) -> PlannerSettings:
        unknown = [kind for kind in self.kinds if kind not in ('plan', 'completion')]
        if unknown or not self.kinds:
            got = repr(unknown[0]) if unknown else 'nothing'
            raise ValueError(f'kinds: got {got}; allowed: plan, completion or both')
        return self


class PlannerSftSettings(PlannerSettings):
    """Imitation of the true answers, so that GRPO has something to sharpen."""

    weights: Literal['lora', 'all'] = Field(
        'lora', description='What is trained: an adapter, or the whole model (a tiny one).'
    )
    accumulation: int = Field(1, ge=1, description='Forward passes of a gradient step.')
    learning_rate: float = Field(1e-4, gt=0, description='Peak of a cosine; AdamW.')

    @model_validator(mode='after')
    def _one_start(self) -> PlannerSftSettings:
        if self.weights == 'all' and (self.adapter or self.four_bit):
            raise ValueError('weights all: go with no adapter and no four_bit; allowed: lora')
        return self


class PlannerGrpoSettings(PlannerSettings):
    """GRPO by the verifiable reward (REVER, Section III-B2)."""

    completions: int = Field(8, ge=2, description='Answers to a prompt, G of GRPO.')
    kl: float = Field(0.04, ge=0, description='Weight of the KL to the start.')
    clip: float = Field(0.2, gt=0, lt=1, description='Clipping threshold of the ratio.')
    temperature: float = Field(1.0, gt=0, description='Of the answers that are practised on.')
    w_format: float = Field(0.1, ge=0, description='Weight of R_format; no value in the paper.')
    w_content: float = Field(0.9, ge=0, description='Weight of R_content; no value in the paper.')

    @model_validator(mode='after')
    def _whole_groups(self) -> PlannerGrpoSettings:
        count = self.rows * self.accumulation
        if count % self.completions:
            raise ValueError(
                f'rows x accumulation: must be a multiple of completions {self.completions}, '
                f'got {count}'
            )
        return self


#: Settings of each stage.
STAGES: dict[str, type[PlannerSettings]] = {
    'sft': PlannerSftSettings,
    'grpo': PlannerGrpoSettings,
}
