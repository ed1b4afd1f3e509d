"""A checkpoint as the policy of a simulated body, for policy_node and for evaluations here."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.sim.state_twin import StateTwin
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Subtask

#: Words for the policies that are shipped: what begins the name of a body's folder.
SHIPPED = {'flow': '', 'diffusion': 'diffusion_'}


def shipped_checkpoint(body: str, policy: str = 'flow') -> Path:
    """Return the folder of the policy that is shipped for a body.

    Args:
        body: Name in the registry of bodies.
        policy: 'flow' or 'diffusion'.

    Raises:
        CheckpointError: If none is.
    """
    from structrl_ros.models import checkpoints

    folder, begin = Path(checkpoints.__path__[0]), SHIPPED[policy]
    found = sorted(
        path.parent.name.removeprefix(begin)
        for path in folder.glob(f'{begin}*/policy.safetensors')
        if begin or '_' not in path.parent.name
    )
    if body not in found:
        raise CheckpointError(
            f'no {policy} policy is shipped for body {body!r}; '
            f'shipped for: {", ".join(found) or "none"}'
        )
    return folder / f'{begin}{body}'


class LearnedPolicy:
    """A checkpoint that acts on a body; one that sees state vectors reads them off a twin.

    Such a policy is privileged: its body must be a simulated one that tells a state vector. The
    twin plays what is on its way already, so that its chunks continue from there in real time.
    One that sees the arm's own state (`PROPRIOCEPTION`) and pictures needs none of that.
    """

    def __init__(self, folder: Path, body: str, **options: Any) -> None:
        """Load the checkpoint.

        Args:
            folder: Of the checkpoint.
            body: Name in the registry of bodies.
            **options: Of the body, for its twin.

        Raises:
            CheckpointError: If it cannot be read, or was trained on another state vector.
            ParameterError: If it needs a state vector and the body tells none.
        """
        from structrl_ros.models.checkpoint import load_policy
        from structrl_ros.models.checkpoint import read_config
        from structrl_ros.models.policies.card import read_card
        from structrl_ros.models.policies.deployed import DeployedPolicy
        from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
        from structrl_ros.models.policies.proprioception import read_proprioception

        self._twin: StateTwin | None = None
        names = read_config(folder).feature_names
        sees_itself = names == PROPRIOCEPTION
        if names and not sees_itself:
            self._twin = StateTwin(body, **options)
        policy = load_policy(
            folder, feature_names=self._twin.feature_names if self._twin else None
        )
        reader = read_proprioception if sees_itself else None
        card = read_card(folder)
        self._policy = DeployedPolicy(
            policy,
            name=f'{policy.config.architecture} of {folder.name}',
            features=self._twin.observe if self._twin else reader,
            privileged=self._twin is not None,
            prompt=getattr(policy.config, 'prompt', 'instruction'),
            measured=card.measured,
            trained_by=card.trained_by,
        )
        self.spec: PolicySpec = dataclasses.replace(
            self._policy.spec, continues=self._twin is not None
        )

    def reset(self, episode: Episode) -> None:
        """Build the twin's scene, and begin the policy's noise anew."""
        if self._twin is not None:
            self._twin.place(episode.task, episode.seed, episode.initial_state)
        self._policy.reset(episode)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions, shape (chunk_length, 7)."""
        return self._policy.act(observation, subtask, instruction)

    def close(self) -> None:
        """Free the network and the twin; a second call does nothing."""
        self._policy.close()
        if self._twin is not None:
            self._twin.close()
