"""LoRA adapters of peft on a vision-language model. Needs `peft`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError


def attach_adapter(model: Any, folder: Path, base: str) -> Any:
    """Return the model with the adapter merged into it; one in 4 bit keeps it beside.

    Args:
        model: The base.
        folder: Of the adapter: adapter_config.json and adapter_model.safetensors.
        base: Folder or id that the base was loaded from.

    Raises:
        ParameterError: If peft is not installed.
        CheckpointError: If a file is missing or cut, or the adapter is for another base model.
    """
    adapted = open_adapter(model, folder, base, is_trainable=False)
    is_quantised = getattr(model, 'quantization_method', None) is not None
    return adapted if is_quantised else adapted.merge_and_unload()


def open_adapter(model: Any, folder: Path, base: str, *, is_trainable: bool = True) -> Any:
    """Return the model with the adapter beside it, to train it further or to merge it.

    Args:
        model: The base.
        folder: Of the adapter: adapter_config.json and adapter_model.safetensors.
        base: Folder or id that the base was loaded from.
        is_trainable: Whether its weights take gradients.

    Raises:
        ParameterError: If peft is not installed.
        CheckpointError: If a file is missing or cut, or the adapter is for another base model.
    """
    try:
        from peft import PeftModel
    except ImportError:
        raise ParameterError('adapters need peft; install it with: pip install peft') from None
    check_base(folder, base)
    from safetensors import SafetensorError

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=is_trainable)
    except (RuntimeError, ValueError, KeyError, OSError, SafetensorError) as error:
        why = ' '.join(str(error).split())[:160]
        raise CheckpointError(f'adapter {folder} does not fit model {base}: {why}') from None
    missing = [w for w in caught if 'missing adapter keys' in str(w.message)]
    if missing:
        raise CheckpointError(
            f'adapter {folder} does not fit model {base}: its tensors have other names'
        )
    return adapted


def check_base(folder: Path, base: str) -> None:
    """Refuse an adapter whose config names another base model; only last names are compared.

    Raises:
        CheckpointError: If it does, or there is no config.
    """
    path = folder / 'adapter_config.json'
    try:
        document = json.loads(path.read_text(encoding='utf-8'))
        made_for = str(document.get('base_model_name_or_path') or '')
    except FileNotFoundError:
        raise CheckpointError(f'{path} is missing; allowed: a folder of a LoRA adapter') from None
    except (OSError, ValueError, AttributeError) as error:
        raise CheckpointError(f'{path} cannot be read: {error}') from None
    if made_for and _last_name(made_for) != _last_name(base):
        raise CheckpointError(
            f'adapter {folder} was made for {made_for!r}, the model is {base!r}; '
            'give that model, or correct base_model_name_or_path in adapter_config.json'
        )


def _last_name(name: str) -> str:
    return Path(name.rstrip('/')).name.lower()
