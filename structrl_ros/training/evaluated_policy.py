"""The policies of a protocol: what they are, to the last bit, and how they are made here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import fingerprint_of
from structrl_ros.ports import Policy

#: Rows of the expert's chunks in lock-step, where none are named.
EXPERT_ROWS = 8
#: Environment variable with the key of a policy server; a key is never a parameter.
KEY_VARIABLE = 'STRUCTRL_POLICY_KEY'


def policy_of_word(word: str, known: Mapping[str, PolicyChoice]) -> PolicyChoice:
    """Return the policy that a word of the command line names.

    Args:
        word: Name of a policy of the protocol, or NAME=WHAT, where WHAT is 'expert', 'flow',
            a server ws://HOST:PORT, or the folder of a checkpoint or of a run.
        known: Policies of the protocol.

    Raises:
        ParameterError: If it is neither.
    """
    name, separator, what = word.partition('=')
    if not separator:
        if name not in known:
            names = ', '.join(known) or 'none'
            raise ParameterError(
                f'policy {name!r} is not in the protocol; there: {names}, or NAME=CHECKPOINT'
            )
        return known[name]
    if not name or not what:
        raise ParameterError(f'policy {word!r}; allowed: NAME, or NAME=CHECKPOINT')
    if what in ('expert', 'flow'):
        return PolicyChoice(name=name, policy=what)
    if what.startswith(('ws://', 'wss://')):
        return PolicyChoice(name=name, policy='remote', server=what)
    path = str(Path(what).expanduser().absolute())
    return PolicyChoice(name=name, policy='checkpoint', checkpoint=path)


def checkpoint_folder(choice: PolicyChoice, body: str) -> Path:
    """Return the folder with the weights: of a checkpoint, of a run, or of what is shipped.

    Raises:
        CheckpointError: If nothing is shipped for the body.
    """
    if choice.policy == 'flow':
        from structrl_ros.training.learned_policy import shipped_checkpoint

        return shipped_checkpoint(body)
    folder = Path(choice.checkpoint)
    inside = folder / 'checkpoint' / 'policy'
    return inside if inside.is_dir() else folder


def policy_fingerprint(choice: PolicyChoice, body: str) -> str:
    """Return the SHA-256 of what a policy is: weights and config, or who else acts.

    Raises:
        CheckpointError: If the checkpoint is missing.
    """
    if choice.policy not in ('flow', 'checkpoint'):
        return fingerprint_of({'policy': choice.policy, 'server': choice.server})
    folder = checkpoint_folder(choice, body)
    found = hashlib.sha256()
    for name in ('config.json', 'policy.safetensors'):
        try:
            with (folder / name).open('rb') as file:
                found.update(hashlib.file_digest(file, 'sha256').digest())
        except OSError as error:
            raise CheckpointError(
                f'policy {choice.name}: {folder / name}: {error.strerror}; allowed: the folder of '
                'a checkpoint or of a run'
            ) from None
    return found.hexdigest()


def chunk_rows(choice: PolicyChoice, body: str) -> int:
    """Return the rows of a policy's chunks, for the pace of the reward; of a server 8.

    Raises:
        CheckpointError: If the checkpoint cannot be read.
    """
    if choice.policy not in ('flow', 'checkpoint'):
        return EXPERT_ROWS
    from structrl_ros.models.checkpoint import read_config

    return int(read_config(checkpoint_folder(choice, body)).chunk_length)


def make_evaluated(choice: PolicyChoice, body: str, options: Mapping[str, Any]) -> Policy:
    """Return the policy, ready to act on a body of this process.

    Raises:
        CheckpointError: If the checkpoint cannot be read, or does not fit the body.
        ParameterError: If the body has no expert or tells no state vector that is needed.
    """
    if choice.policy == 'expert':
        from structrl_ros.sim.registry import make_expert

        return make_expert(body, chunk_length=EXPERT_ROWS)
    if choice.policy == 'remote':
        from structrl_ros.models.policies.remote import RemotePolicy
        from structrl_ros.models.policies.remote import RemoteSettings

        key = os.environ.get(KEY_VARIABLE, '')
        return RemotePolicy(
            RemoteSettings(uri=choice.server, chunk_length=EXPERT_ROWS, api_key=key)
        )
    import torch

    from structrl_ros.training.learned_policy import LearnedPolicy

    torch.set_num_threads(1)
    return LearnedPolicy(checkpoint_folder(choice, body), body, **options)
