"""Checkpoints of policies: a folder of safetensors, JSON and a card; nothing is unpickled.

`policy.safetensors` holds the weights and the normaliser's statistics, `config.json` the
architecture with all its dimensions, `README.md` the card: data, seeds and numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.description import CONFIG
from structrl_ros.models.description import read_description
from structrl_ros.models.description import write_description
from structrl_ros.models.whole_files import existing_folder
from structrl_ros.models.whole_files import whole_file
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.types import JsonObject

if TYPE_CHECKING:
    import torch

    from structrl_ros.models.policies.base import ChunkPolicy
    from structrl_ros.models.policies.config import PolicyConfig

WEIGHTS = 'policy.safetensors'


def save_policy(folder: Path | str, policy: ChunkPolicy, card: str) -> None:
    """Write a policy in the place of what was there; the old one stays whole until the end.

    Args:
        folder: Of the checkpoint; its parents are made.
        policy: On any device.
        card: Markdown on training data, seeds and measured numbers.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written.
    """
    from structrl_ros.models.policies.registry import config_to_json

    document = {
        'action_space': policy.config.action_space,
        'policy': config_to_json(policy.config),
    }
    with whole_folder(Path(folder)) as place:
        _write_tensors(place / WEIGHTS, policy.checkpoint_tensors(), {})
        write_description(place, document, card)


def load_policy(
    folder: Path | str,
    *,
    architecture: str | None = None,
    action_space: str | None = None,
    feature_names: tuple[str, ...] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> ChunkPolicy:
    """Return the policy of a checkpoint, on the CPU, ready to act (`eval`).

    Args:
        folder: Of `save_policy`.
        architecture: The only one to take; any by default.
        action_space: The body's; any by default.
        feature_names: Layout of the world's state vector; any by default.
        changes: Fields of the config to replace, as `exploration`, or `base` of a pi0.

    Raises:
        CheckpointError: If a file is missing, cut or of another format, or the checkpoint is of
            another architecture, action space or layout of features.
    """
    from structrl_ros.models.policies.registry import fill_policy
    from structrl_ros.models.policies.registry import make_policy
    from structrl_ros.models.policies.registry import replace_fields

    place = existing_folder(Path(folder))
    config = read_config(place)
    _compare(place, 'architecture', config.architecture, architecture)
    _compare(place, 'action space', config.action_space, action_space)
    _compare_features(place, config.feature_names, feature_names)
    tensors, _ = load_tensors(place / WEIGHTS)
    try:
        policy = make_policy(replace_fields(config, changes or {}))
        fill_policy(policy, tensors)
    except (ParameterError, CheckpointError) as error:
        raise CheckpointError(f'{place}: {error}') from None
    return policy.eval()


def read_config(folder: Path | str) -> PolicyConfig:
    """Return the config of a checkpoint, without its weights.

    Raises:
        CheckpointError: If it is missing, no JSON, of another format or architecture.
    """
    from structrl_ros.models.policies.registry import config_from_json

    place = existing_folder(Path(folder))
    document = read_description(place)
    try:
        return config_from_json(document['policy'])
    except (ParameterError, KeyError, AttributeError) as error:
        raise CheckpointError(f'{place / CONFIG}: {error}') from None


def save_tensors(
    path: Path | str, tensors: Mapping[str, torch.Tensor], details: JsonObject | None = None
) -> None:
    """Write tensors and a JSON object into one safetensors file, whole or not at all.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written.
    """
    with whole_file(Path(path)) as place:
        _write_tensors(place, tensors, details or {})


def load_tensors(path: Path | str) -> tuple[dict[str, torch.Tensor], JsonObject]:
    """Return the tensors, on the CPU, and the JSON object of `save_tensors`.

    Raises:
        CheckpointError: If the file is missing or cut.
    """
    from safetensors import SafetensorError
    from safetensors import safe_open

    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f'{path} is missing; allowed: a file of tensors that was saved')
    try:
        with safe_open(path, framework='pt') as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        details = json.loads(metadata.get('details', '{}'))
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f'{path} is cut or no safetensors file: {error}') from None
    return tensors, details


def _write_tensors(path: Path, tensors: Mapping[str, torch.Tensor], details: JsonObject) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    storages = [tensor.untyped_storage().data_ptr() for tensor in plain.values()]
    if len(set(storages)) < len(storages):  # safetensors refuses tensors that share memory
        plain = {name: tensor.clone() for name, tensor in plain.items()}
    try:
        save_file(plain, path, {'details': json.dumps(details)})
    except SafetensorError as error:
        raise OSError(str(error)) from None


def _compare(place: Path, what: str, got: str, allowed: str | None) -> None:
    if allowed is not None and got != allowed:
        raise CheckpointError(f'{place}: {what} is {got!r}; allowed: {allowed!r}')


def _compare_features(place: Path, got: tuple[str, ...], allowed: tuple[str, ...] | None) -> None:
    if allowed is None or got == allowed:
        return
    at = next((i for i, (g, a) in enumerate(zip(got, allowed, strict=False)) if g != a), None)
    words = (
        'their number' if at is None else f'entry {at} is {got[at]!r}, allowed: {allowed[at]!r}'
    )
    raise CheckpointError(
        f'{place}: features differ: {len(got)} entries, allowed: {len(allowed)}; {words}'
    )
