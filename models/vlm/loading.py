"""A vision-language model and its processor from a folder or the Hugging Face hub.

Needs `torch` and `transformers`; `peft` for adapters and `bitsandbytes` with a CUDA device for 4
bit. torchvision is not needed for the Qwen families: only images are processed, never videos.
"""

from __future__ import annotations

import importlib.util
import threading
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError

DEVICES = ('auto', 'cpu', 'cuda', 'mps')
DTYPES = ('auto', 'float32', 'bfloat16', 'float16')

#: Families whose stock processor asks for torchvision, only to process videos.
_QWEN_PROCESSORS = {
    'qwen2_5_vl': ('qwen2_5_vl.processing_qwen2_5_vl', 'Qwen2_5_VLProcessor'),
    'qwen3_vl': ('qwen3_vl.processing_qwen3_vl', 'Qwen3VLProcessor'),
    'qwen3_vl_moe': ('qwen3_vl.processing_qwen3_vl', 'Qwen3VLProcessor'),
}
_SPECIAL_TOKENS = {
    'image': '<|image_pad|>',
    'video': '<|video_pad|>',
    'vision_start': '<|vision_start|>',
    'vision_end': '<|vision_end|>',
}
_FEWEST_PIXELS = 56 * 56


@dataclass(frozen=True, slots=True, kw_only=True)
class VlmSettings:
    """Which model, and how it is held.

    Attributes:
        model: Folder of `save_pretrained`, or an id of the Hugging Face hub.
        adapter: Folder of a LoRA adapter for that model; '' is none.
        device: 'auto' is CUDA, else Apple's MPS, else the CPU.
        dtype: 'auto' is bfloat16 on CUDA that has it, float16 on other GPUs, float32 on the CPU.
        four_bit: Weights in 4 bit by bitsandbytes.
        image_pixels: Most pixels of an image that the model sees; 0: as the model's card says.
        threads: CPU threads of torch in this process; 0 leaves them.
    """

    model: str
    adapter: str = ''
    device: str = 'auto'
    dtype: str = 'auto'
    four_bit: bool = False
    image_pixels: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        if not self.model:
            raise ParameterError('model is empty; allowed: a folder or an id of the hub')
        for name, value, allowed in (
            ('device', self.device, DEVICES),
            ('dtype', self.dtype, DTYPES),
        ):
            if value not in allowed:
                raise ParameterError(f'{name} is {value!r}; allowed: {", ".join(allowed)}')
        if self.image_pixels and self.image_pixels < _FEWEST_PIXELS:
            raise ParameterError(
                f'image_pixels is {self.image_pixels}; allowed: 0, or from {_FEWEST_PIXELS}'
            )


@dataclass(frozen=True, slots=True)
class LoadedVlm:
    """A model with its processor; whoever calls the model holds `lock`."""

    name: str
    model: Any
    processor: Any
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the processor."""
        return self.processor.tokenizer


def load_vlm(settings: VlmSettings) -> LoadedVlm:
    """Return the model, ready to answer (`eval`), with its adapter merged into it.

    Raises:
        ParameterError: If a package is missing, or the device does not exist here.
        CheckpointError: If the model or adapter is missing, cut, or of another kind.
    """
    torch = _torch()
    if settings.threads:
        torch.set_num_threads(settings.threads)
    device = _device(torch, settings.device)
    if settings.four_bit:
        check_four_bit(device)
    family = read_family(settings.model)
    processor = load_processor(settings.model, family, settings.image_pixels)
    model = _load_model(torch, settings, device)
    if settings.adapter:
        from structrl_ros.models.vlm.adapters import attach_adapter

        model = attach_adapter(model, Path(settings.adapter), settings.model)
    parts = [settings.model, settings.adapter] if settings.adapter else [settings.model]
    name = '+'.join(Path(part).name for part in parts)
    return LoadedVlm(name, model.eval(), processor)


def read_family(model: str) -> str:
    """Return the family of a model as its config names it, such as 'qwen2_5_vl'.

    Raises:
        CheckpointError: If there is no config, or it is unreadable.
    """
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig

    folder = Path(model)
    if folder.is_dir() and not (folder / 'config.json').is_file():
        is_adapter = (folder / 'adapter_config.json').is_file()
        hint = 'it is a LoRA adapter: give it as adapter, and its base as model'
        why = hint if is_adapter else 'config.json is missing'
        raise CheckpointError(f'{model} is no vision-language model: {why}')
    try:
        return str(AutoConfig.from_pretrained(model).model_type)
    except (OSError, ValueError, KeyError, StrictDataclassError) as error:
        raise CheckpointError(f'model {model} cannot be had: {first_line(error)}') from None


def load_processor(model: str, family: str, image_pixels: int = 0) -> Any:
    """Return the processor of text and images.

    Raises:
        ParameterError: If the family's own processor needs a package that is not here.
        CheckpointError: If a file is missing or cut.
    """
    try:
        processor = _processor_class(family).from_pretrained(model)
    except ImportError as error:
        raise ParameterError(f'model {model} ({family}): {first_line(error)}') from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(f'processor of {model}: {first_line(error)}') from None
    if not hasattr(processor, 'image_processor') or not hasattr(processor, 'tokenizer'):
        raise CheckpointError(
            f'{model} ({family}) is no vision-language model: it takes no images'
        )
    if image_pixels:
        size = {'shortest_edge': _FEWEST_PIXELS, 'longest_edge': image_pixels}
        processor.image_processor.size = size
    return processor


def image_only(base: Any) -> Any:
    """Return the processor class of a Qwen family without its part for videos.

    Transformers reads the parts of a processor from the signature of `__init__`; without
    `video_processor` in it nothing asks for torchvision.
    """
    from transformers.processing_utils import ProcessorMixin

    class Processor(base):
        def __init__(
            self,
            image_processor: Any = None,
            tokenizer: Any = None,
            chat_template: Any = None,
            **kwargs: Any,
        ) -> None:
            for name, token in _SPECIAL_TOKENS.items():
                setattr(self, f'{name}_token', token)
                setattr(self, f'{name}_token_id', tokenizer.convert_tokens_to_ids(token))
            ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    Processor.__name__ = base.__name__  # the saved config names the class
    return Processor


def first_line(error: BaseException) -> str:
    """Return the first line of an error that is no blank, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]


def _processor_class(family: str) -> Any:
    if family in _QWEN_PROCESSORS:
        module, name = _QWEN_PROCESSORS[family]
        return image_only(getattr(importlib.import_module(f'transformers.models.{module}'), name))
    from transformers import AutoProcessor

    return AutoProcessor


def _torch() -> Any:
    for name in ('torch', 'transformers'):
        if importlib.util.find_spec(name) is None:
            raise ParameterError(
                f'a local model needs {name}; install it with: make install, or pip install {name}'
            )
    return importlib.import_module('torch')


def _device(torch: Any, wished: str) -> str:
    """Return the device that is used."""
    is_here = {
        'cuda': torch.cuda.is_available(),
        'mps': torch.backends.mps.is_available(),
        'cpu': True,
    }
    if wished == 'auto':
        return next(name for name, here in is_here.items() if here)
    if not is_here[wished]:
        found = ', '.join(name for name, here in is_here.items() if here)
        raise ParameterError(f'device is {wished!r}, which is not here; found: {found}')
    return wished


def _dtype(torch: Any, wished: str, device: str) -> Any:
    """Return the type of the weights."""
    if wished != 'auto':
        return getattr(torch, wished)
    if device == 'cpu':
        return torch.float32
    if device == 'cuda' and torch.cuda.is_bf16_supported():
        return torch.bfloat16
    return torch.float16


def check_four_bit(device: str) -> None:
    """Refuse weights in 4 bit where they cannot be had.

    Raises:
        ParameterError: If the device is not CUDA, or bitsandbytes is not installed.
    """
    if device != 'cuda':
        raise ParameterError(f'four_bit needs a CUDA device, got {device}; allowed: four_bit off')
    if importlib.util.find_spec('bitsandbytes') is None:
        raise ParameterError(
            'four_bit needs bitsandbytes; install it with: pip install bitsandbytes'
        )


def _load_model(torch: Any, settings: VlmSettings, device: str) -> Any:
    """Return the model on its device."""
    from safetensors import SafetensorError
    from transformers import AutoModelForImageTextToText
    from transformers.utils import logging

    logging.disable_progress_bar()
    dtype = _dtype(torch, settings.dtype, device)
    more: dict[str, Any] = {}
    if settings.four_bit:
        from transformers import BitsAndBytesConfig

        more['quantization_config'] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype=dtype
        )
        more['device_map'] = {'': device}
    try:
        model = AutoModelForImageTextToText.from_pretrained(settings.model, dtype=dtype, **more)
        return model if settings.four_bit else model.to(device)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(f'model {settings.model}: {first_line(error)}') from None
