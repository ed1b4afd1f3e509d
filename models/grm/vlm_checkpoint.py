"""Checkpoints of a GRM on a vision-language model: adapters, head, config and a card.

`adapter/` is peft's own format, without the base's weights; `head.safetensors` is there where a
head answers. `config.json` keeps the fingerprint of the base: adapters fit no other one.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.description import CARD
from structrl_ros.models.description import read_description
from structrl_ros.models.description import write_description
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.models.grm.vlm_config import vlm_config_from_json
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.models.whole_files import existing_folder
from structrl_ros.models.whole_files import whole_folder

ADAPTER, HEAD = 'adapter', 'head.safetensors'
_ADAPTER_WEIGHTS = 'adapter_model.safetensors'


def save_vlm_grm(folder: Path | str, network: VlmGrmNetwork, card: str) -> None:
    """Write adapters and head in the place of what was there; the old stays whole until the end.

    Args:
        folder: Of the checkpoint; its parents are made.
        network: On any device.
        card: Markdown on training data, seeds and measured numbers.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written.
    """
    document = {
        'vlm_grm': network.config.to_json(),
        'base_fingerprint': network.fingerprint,
    }
    with whole_folder(Path(folder)) as place:
        network.adapted.save_pretrained(str(place / ADAPTER), save_embedding_layers=False)
        (place / ADAPTER / CARD).unlink(missing_ok=True)  # peft's, without a word on this one
        if network.config.answer == 'regression':
            save_tensors(place / HEAD, network.head.state_dict())
        write_description(place, document, card)


def read_vlm_config(folder: Path | str) -> tuple[VlmGrmConfig, str]:
    """Return the config of a checkpoint and the fingerprint of its base, without any weights.

    Raises:
        CheckpointError: If it is missing, of another format, or of no such model.
    """
    place = existing_folder(Path(folder))
    document = read_description(place)
    try:
        return vlm_config_from_json(document['vlm_grm']), str(document['base_fingerprint'])
    except (ValueError, KeyError, TypeError, ParameterError) as error:
        reason = f'{error}' if isinstance(error, ParameterError) else f'{type(error).__name__}'
        raise CheckpointError(
            f'{place}: no config of a GRM on a vision-language model ({reason})'
        ) from None


def load_vlm_grm(
    folder: Path | str, *, base: str = '', device: str = 'auto', dtype: str = 'auto'
) -> VlmGrmNetwork:
    """Return the network of a checkpoint, ready to be asked (`eval`).

    Args:
        folder: Of the checkpoint.
        base: Folder or id of the base, where it is no longer the one that was trained on.
        device: See `VlmGrmNetwork`.
        dtype: See `VlmGrmNetwork`.

    Raises:
        CheckpointError: If a file is missing or cut, or the base is another one.
        ParameterError: If a package or device is missing.
    """
    place = existing_folder(Path(folder))
    config, fingerprint = read_vlm_config(place)
    if base:
        config = dataclasses.replace(config, base=base)
    network = VlmGrmNetwork(config, device=device, dtype=dtype)
    if network.fingerprint != fingerprint:
        raise CheckpointError(
            f'{place}: adapters of a base with fingerprint {fingerprint[:12]}; {config.base} has '
            f'{network.fingerprint[:12]}; allowed: the base that they were trained on'
        )
    _fill_adapter(network, place / ADAPTER / _ADAPTER_WEIGHTS)
    if config.answer == 'regression':
        _fill_head(network, place / HEAD)
    return network.eval()


def weight_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of a checkpoint that hold what was trained."""
    files = (folder / ADAPTER / _ADAPTER_WEIGHTS, folder / HEAD)
    return tuple(path for path in files if path.is_file())


def _fill_adapter(network: VlmGrmNetwork, path: Path) -> None:
    from peft import get_peft_model_state_dict
    from peft import set_peft_model_state_dict

    tensors, _ = load_tensors(path)
    own = get_peft_model_state_dict(network.adapted, save_embedding_layers=False)
    _compare(path, _shapes(own), _shapes(tensors))
    set_peft_model_state_dict(network.adapted, tensors)


def _fill_head(network: VlmGrmNetwork, path: Path) -> None:
    tensors, _ = load_tensors(path)
    _compare(path, _shapes(network.head.state_dict()), _shapes(tensors))
    network.head.load_state_dict(tensors)


def _shapes(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _compare(
    path: Path, wanted: dict[str, tuple[int, ...]], got: dict[str, tuple[int, ...]]
) -> None:
    if wanted == got:
        return
    name = next(n for n in sorted({*wanted, *got}) if wanted.get(n) != got.get(n))
    raise CheckpointError(
        f'{path}: {name!r} has shape {got.get(name)}; allowed: {wanted.get(name)}, as the config '
        'says'
    )
