"""Checkpoints of the small GRM: `grm.safetensors`, `config.json` and a card."""

from __future__ import annotations

from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.description import read_description
from structrl_ros.models.description import write_description
from structrl_ros.models.grm.config import config_from_json
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.models.whole_files import existing_folder
from structrl_ros.models.whole_files import whole_folder

WEIGHTS = 'grm.safetensors'


def save_grm(folder: Path | str, network: GrmNetwork, card: str) -> None:
    """Write a network in the place of what was there; the old one stays whole until the end.

    Args:
        folder: Of the checkpoint; its parents are made.
        network: On any device.
        card: Markdown on training data, seeds and measured numbers.

    Raises:
        CheckpointError: If the disk is full or the place cannot be written.
    """
    with whole_folder(Path(folder)) as place:
        save_tensors(place / WEIGHTS, network.state_dict())
        write_description(place, {'grm': network.config.to_json()}, card)


def load_grm(folder: Path | str) -> GrmNetwork:
    """Return the network of a checkpoint, on the CPU, ready to be asked (`eval`).

    Raises:
        CheckpointError: If a file is missing, cut, of another format or another architecture.
    """
    place = existing_folder(Path(folder))
    document = read_description(place)
    try:
        network = GrmNetwork(config_from_json(document['grm']))
    except (ValueError, KeyError, TypeError, ParameterError) as error:
        raise CheckpointError(f'{place}: no config of a GRM: {error}') from None
    tensors, _ = load_tensors(place / WEIGHTS)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).split('\n')[1].strip()
        raise CheckpointError(f'{place}: weights of another architecture: {reason}') from None
    return network.eval()
