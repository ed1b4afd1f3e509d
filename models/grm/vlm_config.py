"""What a GRM on a vision-language model is, as its checkpoint keeps it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.query_config import QueryConfig
from structrl_ros.models.grm.query_config import check_fields
from structrl_ros.progress.prompt import PROMPT_VERSION
from structrl_ros.types import JsonObject

#: A head on the last hidden state, or the words `<score>+NN%</score>`.
ANSWERS = ('regression', 'text')
#: Ends of the names of modules: the language model of the Qwen families, not its vision tower.
LORA_TARGETS = ('q_proj', 'k_proj', 'v_proj', 'o_proj')


@dataclass(frozen=True, slots=True, kw_only=True)
class VlmGrmConfig(QueryConfig):
    """The base model, what of it trains, and how its queries are made.

    Attributes:
        base: Folder of `save_pretrained`, or id on the hub.
        answer: One of ANSWERS.
        lora_rank: Of peft's adapters.
        lora_alpha: Scale of the adapters, times 1 / rank.
        lora_targets: Ends of the names of the modules that get adapters.
        image_pixels: Most pixels of an image that the model sees; 0: as the base says.
        prompt_version: Of the words that it was trained on.
    """

    base: str
    answer: str = 'regression'
    lora_rank: int = 16
    lora_alpha: float = 32.0
    lora_targets: tuple[str, ...] = LORA_TARGETS
    image_pixels: int = 0
    prompt_version: int = PROMPT_VERSION

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is outside its range.
        """
        if not self.base:
            raise ParameterError('base is empty; allowed: a folder of a model, or its id')
        if self.answer not in ANSWERS:
            raise ParameterError(f'answer {self.answer!r}; allowed: {", ".join(ANSWERS)}')
        for name in ('lora_rank', 'view_px', 'cell_px', 'grid'):
            if getattr(self, name) < 1:
                raise ParameterError(f'{name} {getattr(self, name)}; allowed: from 1')
        for name in ('pre_panels', 'between_panels', 'image_pixels'):
            if getattr(self, name) < 0:
                raise ParameterError(f'{name} {getattr(self, name)}; allowed: from 0')
        if not self.lora_targets or not self.lora_alpha > 0.0:
            raise ParameterError(
                f'lora_targets {list(self.lora_targets)}, lora_alpha {self.lora_alpha:g}; '
                'allowed: one and more, above 0'
            )
        if self.prompt_version != PROMPT_VERSION:
            raise ParameterError(
                f'trained on prompt version {self.prompt_version}; allowed: {PROMPT_VERSION}'
            )

    def to_json(self) -> JsonObject:
        """Return the fields."""
        return {**dataclasses.asdict(self), 'lora_targets': list(self.lora_targets)}


def vlm_config_from_json(document: JsonObject) -> VlmGrmConfig:
    """Return the config of a document.

    Raises:
        ParameterError: If a field is unknown or missing, or its value not allowed.
    """
    check_fields(document, VlmGrmConfig)
    if 'base' not in document:
        raise ParameterError('field base is missing; allowed: a folder of a model, or its id')
    targets = tuple(document.get('lora_targets', LORA_TARGETS))
    return VlmGrmConfig(**{**document, 'lora_targets': targets})
