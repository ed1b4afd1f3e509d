"""The policy a run starts from: fresh, or of a checkpoint with fields of its config changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import WEIGHTS
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.description import CONFIG
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.registry import config_from_json
from structrl_ros.models.policies.registry import config_to_json
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.models.policies.registry import reconfigure
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import POLICY
from structrl_ros.types import JsonObject
from structrl_ros.world_types import WorldSpec


def fresh_policy(options: Mapping[str, Any], spec: WorldSpec, seed: int) -> ChunkPolicy:
    """Return a policy with drawn weights that sees what the worlds show.

    Args:
        options: Fields of the policy's config; `architecture` is 'flow' by default.
        spec: Of the worlds.
        seed: Of the weights.

    Raises:
        ParameterError: If a field is unknown or wrong.
    """
    document = {
        'architecture': 'flow',
        'chunk_length': 5,
        'feature_names': list(spec.feature_names),
        'control_rate_hz': spec.body.control_rate_hz,
        **options,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_policy(config_from_json(document))


def load_start(path: str, options: Mapping[str, Any] | None = None) -> ChunkPolicy:
    """Return the policy of a checkpoint, or of the newest checkpoint of a run.

    Args:
        path: Folder of either.
        options: Fields of its config that are changed; the weights stay.

    Raises:
        CheckpointError: If it is missing or cut, or the change needs other weights.
        ParameterError: If a field is unknown or wrong.
    """
    folder = Path(path)
    inside = folder / CHECKPOINT / POLICY
    if (folder / CONFIG).is_file() and not inside.is_dir() and not (folder / WEIGHTS).is_file():
        raise CheckpointError(
            f'{folder} is a run without a policy yet; it goes on by: structrl train sft (or ppo) '
            f'--resume --run-dir {folder}'
        )
    policy = load_policy(inside if inside.is_dir() else folder)
    if not options:
        return policy
    config = config_from_json(_merge(config_to_json(policy.config), options))
    return reconfigure(policy, **{f.name: getattr(config, f.name) for f in fields(config)})


def move(policy: ChunkPolicy, device: str) -> ChunkPolicy:
    """Return the policy on a device.

    Raises:
        ParameterError: If torch knows no such device, or it is not here.
    """
    try:
        return policy.to(device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ParameterError(f'device {device!r}: {reason}') from None


def _merge(below: JsonObject, above: Mapping[str, Any]) -> JsonObject:
    """Return a document with the values of another put over it, mapping by mapping."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        is_inner = isinstance(old, dict) and isinstance(value, Mapping)
        merged[key] = _merge(merged[key], value) if is_inner else value
    return merged
