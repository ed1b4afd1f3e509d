"""Policies by name, for policy_node: scripted, from a checkpoint, or of a server."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.ports import Policy
from structrl_ros.sim.registry import make_expert
from structrl_ros.sim.state_twin import StateTwin
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Subtask

#: Makes the policy that the parameters name, for a body (`Episode.body`).
PolicyMaker = Callable[[PolicyParameters, str], Policy]

#: Rows of the expert's chunks where none are named.
LOCKSTEP_ROWS = 8
REAL_TIME_ROWS = 16
#: Seconds that the expert's chunks last in real time, whatever the body's rate.
REAL_TIME_S = 0.8
#: Environment variable with the key of a policy server; a key is never a parameter.
KEY_VARIABLE = 'STRUCTRL_POLICY_KEY'


def shipped_checkpoint(body: str) -> Path:
    """Return the folder of the policy that is shipped for a body.

    Raises:
        CheckpointError: If none is.
    """
    from structrl_ros.models import checkpoints

    folder = Path(checkpoints.__path__[0])
    found = sorted(p.parent.name for p in folder.glob('*/config.json'))
    if body not in found:
        raise CheckpointError(
            f'no policy is shipped for body {body!r}; shipped for: {", ".join(found) or "none"}'
        )
    return folder / body


def check_policy(parameters: PolicyParameters) -> None:
    """Refuse at once what can never work, whatever the body.

    Raises:
        CheckpointError: If the checkpoint is not one.
        ParameterError: If what the policy needs is not named.
    """
    if parameters.policy == 'checkpoint':
        if not parameters.checkpoint:
            raise ParameterError('policy checkpoint: give its folder, checkpoint:=DIRECTORY')
        from structrl_ros.models.checkpoint import read_config

        read_config(Path(parameters.checkpoint).expanduser())
    if parameters.policy == 'remote' and not parameters.server:
        raise ParameterError('policy remote: give its server, policy_server:=ws://host:port')


def make_policy(parameters: PolicyParameters, body: str) -> Policy:
    """Return the policy that the parameters name.

    Raises:
        CheckpointError: If the checkpoint cannot be read.
        ParameterError: If the body has no expert, or tells no state vector that is needed.
    """
    check_policy(parameters)
    rows = LOCKSTEP_ROWS if parameters.lockstep else REAL_TIME_ROWS
    if parameters.policy == 'expert':
        return _make_expert(parameters, body)
    if parameters.policy == 'remote':
        from structrl_ros.models.policies.remote import RemotePolicy
        from structrl_ros.models.policies.remote import RemoteSettings

        settings = RemoteSettings(
            uri=parameters.server,
            chunk_length=parameters.chunk_length or rows,
            api_key=os.environ.get(KEY_VARIABLE, ''),
        )
        return RemotePolicy(settings)
    if parameters.policy == 'flow':
        return LearnedPolicy(shipped_checkpoint(body), body)
    return LearnedPolicy(Path(parameters.checkpoint).expanduser(), body)


def _make_expert(parameters: PolicyParameters, body: str) -> Policy:
    expert = make_expert(body, chunk_length=parameters.chunk_length or LOCKSTEP_ROWS)
    rows = round(REAL_TIME_S * expert.spec.control_rate_hz)
    if parameters.chunk_length or parameters.lockstep or rows == LOCKSTEP_ROWS:
        return expert
    expert.close()
    return make_expert(body, chunk_length=rows)


class LearnedPolicy:
    """A checkpoint that acts on a body; one that sees state vectors reads them off a twin.

    Such a policy is privileged: its body must be a simulated one that tells a state vector. The
    twin plays what is on its way already, so that its chunks continue from there in real time.
    """

    def __init__(self, folder: Path, body: str) -> None:
        """Load the checkpoint.

        Raises:
            CheckpointError: If it cannot be read, or was trained on another state vector.
            ParameterError: If it needs a state vector and the body tells none.
        """
        from structrl_ros.models.checkpoint import load_policy
        from structrl_ros.models.checkpoint import read_config
        from structrl_ros.models.policies.card import read_card
        from structrl_ros.models.policies.deployed import DeployedPolicy

        self._twin: StateTwin | None = None
        if read_config(folder).feature_names:
            self._twin = StateTwin(body)
        policy = load_policy(
            folder, feature_names=self._twin.feature_names if self._twin else None
        )
        card = read_card(folder)
        self._policy = DeployedPolicy(
            policy,
            name=f'{policy.config.architecture} of {folder.name}',
            features=self._twin.observe if self._twin else None,
            privileged=self._twin is not None,
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
