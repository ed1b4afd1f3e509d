"""The directory of one run of a trainer: settings, numbers, and a checkpoint that is whole.

    config.json       what was asked for
    metrics.jsonl     one line an iteration (an update for sft)
    tensorboard/      the same as events
    checkpoint/       policy/ (for `load_policy`), trainer.safetensors

The checkpoint is made beside the old one and takes its place when all of it is on the disk.
"""

from __future__ import annotations

import json
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_policy
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.whole_files import existing_folder
from structrl_ros.models.whole_files import whole_file
from structrl_ros.models.whole_files import whole_folder
from structrl_ros.training.folder_lock import FolderLock
from structrl_ros.training.trainer_state import TrainerState
from structrl_ros.types import JsonObject

CONFIG = 'config.json'
CHECKPOINT = 'checkpoint'
POLICY = 'policy'
TRAINER = 'trainer.safetensors'


class RunDirectory:
    """Where a trainer keeps what it made; one process at a time may hold it."""

    def __init__(self, path: Path, config: JsonObject) -> None:
        """Hold a directory whose config is known; see `create_run` and `open_run`.

        Raises:
            ParameterError: If another process holds it.
        """
        self.path = path
        self.config = config
        self._lock = FolderLock(path, 'run directory')

    @property
    def has_checkpoint(self) -> bool:
        """Whether a checkpoint was ever saved."""
        try:
            existing_folder(self.path / CHECKPOINT)
        except CheckpointError:
            return False
        return True

    @property
    def policy_folder(self) -> Path:
        """The policy of the newest checkpoint, for `load_policy`."""
        return self.path / CHECKPOINT / POLICY

    def change_config(self, config: JsonObject) -> None:
        """Keep another config, as when a run is prolonged.

        Raises:
            CheckpointError: If it cannot be written.
        """
        _write_config(self.path, config)
        self.config = config

    def save(self, policy: ChunkPolicy, state: TrainerState, card: str) -> None:
        """Put a new checkpoint in the place of the old one.

        Raises:
            CheckpointError: If it cannot be written; the old one stays.
        """
        with whole_folder(self.path / CHECKPOINT) as folder:
            save_policy(folder / POLICY, policy, card)
            save_tensors(folder / TRAINER, state.tensors, state.numbers)

    def load_policy(self) -> ChunkPolicy:
        """Return the policy of the checkpoint.

        Raises:
            CheckpointError: If there is none, or it is cut.
        """
        return load_policy(existing_folder(self.path / CHECKPOINT) / POLICY)

    def load_state(self) -> TrainerState:
        """Return what the trainer kept beside its policy.

        Raises:
            CheckpointError: If there is none, or it is cut.
        """
        folder = existing_folder(self.path / CHECKPOINT)
        return TrainerState(*load_tensors(folder / TRAINER))

    def close(self) -> None:
        """Let another process have it; a second call does nothing."""
        self._lock.close()


def create_run(path: Path, config: JsonObject) -> RunDirectory:
    """Return a new run directory.

    Args:
        path: Made with its parents; it must be empty.
        config: What was asked for, plain JSON; `open_run` gives it back.

    Raises:
        ParameterError: If the directory is not empty.
        CheckpointError: If it cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = not any(path.iterdir())
    except OSError as error:
        raise CheckpointError(f'run directory {path}: {error.strerror}') from None
    if not is_empty:
        raise ParameterError(
            f'run directory {path} is not empty; --resume goes on with a run, or give a new one'
        )
    _write_config(path, config)
    return RunDirectory(path, config)


def open_run(path: Path) -> RunDirectory:
    """Return an old run directory, to go on with it.

    Raises:
        CheckpointError: If there is none, or its config cannot be read.
    """
    place = path / CONFIG
    try:
        config = json.loads(place.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise CheckpointError(f'{path} is no run directory: {CONFIG} is missing') from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f'{place} cannot be read: {error}') from None
    if not isinstance(config, dict):
        raise CheckpointError(f'{place}: must be an object, got {type(config).__name__}')
    return RunDirectory(path, config)


def _write_config(path: Path, config: JsonObject) -> None:
    with whole_file(path / CONFIG) as place:
        place.write_text(f'{json.dumps(config, indent=2)}\n', encoding='utf-8')
