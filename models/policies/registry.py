"""Architectures by name; a module is imported when its architecture is asked for."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.types import JsonObject

#: Architecture to module, class of its config and of its policy.
ARCHITECTURES = {
    'diffusion': ('diffusion', 'DiffusionConfig', 'DiffusionPolicy'),
    'flow': ('flow', 'FlowConfig', 'FlowPolicy'),
    'gaussian': ('gaussian', 'GaussianConfig', 'GaussianPolicy'),
    'image_flow': ('image_flow', 'ImageFlowConfig', 'ImageFlowPolicy'),
    'pi0': ('pi0', 'Pi0Config', 'Pi0Policy'),
}


def make_policy(config: PolicyConfig) -> ChunkPolicy:
    """Return a policy with fresh weights, drawn from torch's global generator.

    Raises:
        ParameterError: If the architecture is unknown or the config does not suit it.
    """
    policy: ChunkPolicy = _classes(config.architecture)[1](config)
    return policy


def reconfigure(policy: ChunkPolicy, **changes: Any) -> ChunkPolicy:
    """Return a policy with the same weights and other fields, as `exploration=...`.

    Raises:
        ParameterError: If a field is unknown or wrong.
        CheckpointError: If the change makes tensors of another shape.
    """
    config = replace_fields(policy.config, changes)
    changed = make_policy(config)
    fill_policy(changed, policy.checkpoint_tensors())
    return changed.train(policy.training)


def replace_fields(config: PolicyConfig, changes: Mapping[str, Any]) -> PolicyConfig:
    """Return the config with other fields.

    Raises:
        ParameterError: If a field is unknown or wrong.
    """
    try:
        return dataclasses.replace(config, **changes)
    except TypeError as error:
        raise ParameterError(f'config of {config.architecture}: {error}') from None


def fill_policy(policy: ChunkPolicy, tensors: dict[str, Any]) -> None:
    """Set every weight and buffer of a checkpoint.

    Raises:
        CheckpointError: If a tensor is missing, left over or of another shape.
    """
    own = policy.checkpoint_tensors()
    wrong = sorted(set(own) ^ set(tensors))
    if wrong:
        where = 'missing' if wrong[0] in own else 'unknown'
        raise CheckpointError(
            f'{len(wrong)} tensors do not match the {policy.config.architecture} architecture, '
            f'first {wrong[0]!r} ({where})'
        )
    for name, tensor in tensors.items():
        if own[name].shape != tensor.shape:
            raise CheckpointError(
                f'tensor {name!r} has shape {tuple(tensor.shape)}; '
                f'allowed: {tuple(own[name].shape)} ({policy.config.architecture})'
            )
    policy.load_state_dict(tensors, strict=False)


def config_to_json(config: PolicyConfig) -> JsonObject:
    """Return the fields of a config as JSON, the architecture among them."""
    return {'architecture': config.architecture, **dataclasses.asdict(config)}


def config_from_json(document: JsonObject) -> PolicyConfig:
    """Return the config of `config_to_json`.

    Raises:
        ParameterError: If the architecture or a field is unknown, missing or wrong.
    """
    fields = {name: _plain(value) for name, value in document.items() if name != 'architecture'}
    architecture = document.get('architecture')
    made = _classes(architecture)[0]
    if isinstance(fields.get('exploration'), dict):
        fields['exploration'] = _build(Exploration, fields['exploration'])
    config: PolicyConfig = _build(made, fields)
    return config


def _build(made: Any, fields: JsonObject) -> Any:
    try:
        return made(**fields)
    except TypeError as error:
        text = str(error).replace('__init__() ', '')
        raise ParameterError(f'{made.__name__}: {text}') from None


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_plain(v) for v in value)
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    return value


def _classes(architecture: object) -> tuple[Any, Any]:
    if architecture not in ARCHITECTURES:
        raise ParameterError(
            f'unknown policy architecture {architecture!r}; known: {", ".join(ARCHITECTURES)}'
        )
    module_name, config, policy = ARCHITECTURES[str(architecture)]
    module = importlib.import_module(f'structrl_ros.models.policies.{module_name}')
    return getattr(module, config), getattr(module, policy)
