"""pi0's weights, adapters and tokenizer by the real `from_pretrained`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.models.policies.pi0 import Pi0Config


def load_network(config: Pi0Config) -> Any:
    """Return `PI0ForConditionalGeneration`, with adapters where the config asks for them.

    Raises:
        CheckpointError: If the base weights cannot be had.
        ParameterError: If no module or parameter has a name that the config gives.
    """
    from transformers import PI0ForConditionalGeneration

    network = _pretrained(PI0ForConditionalGeneration, config, dtype=getattr(torch, config.dtype))
    network.config.chunk_size = config.chunk_length
    network.config.loss_reduction = 'none'
    for prefix in config.frozen:
        held = [p for name, p in network.named_parameters() if name.startswith(prefix)]
        if not held:
            raise ParameterError(f'frozen {prefix!r} starts no name of a parameter of pi0')
        for parameter in held:
            parameter.requires_grad_(False)
    return _adapted(network, config) if config.lora_rank else network


def load_tokenizer(config: Pi0Config) -> Any:
    """Return the tokenizer that lies beside the base weights.

    Raises:
        CheckpointError: If it cannot be had.
    """
    from transformers import AutoTokenizer

    return _pretrained(AutoTokenizer, config)


def _adapted(network: Any, config: Pi0Config) -> Any:
    """Put adapters inside the network, so that its own methods stay reachable."""
    from peft import LoraConfig
    from peft import inject_adapter_in_model

    adapters = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(config.lora_targets),
    )
    try:
        network = inject_adapter_in_model(adapters, network)
    except ValueError as error:
        raise ParameterError(f'lora_targets {list(config.lora_targets)}: {error}') from None
    for name, parameter in network.named_parameters():
        whole = any(f'.{name}'.rpartition('.')[0].endswith(f'.{end}') for end in config.trained)
        parameter.requires_grad_('lora_' in name or whole)
    return network


def _pretrained(loader: Any, config: Pi0Config, **options: Any) -> Any:
    try:
        return loader.from_pretrained(config.base, revision=config.revision or 'main', **options)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = ' '.join(str(error).split())[:300]
        raise CheckpointError(f'cannot load pi0 from {config.base!r}: {reason}') from None
