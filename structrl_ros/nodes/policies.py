"""Policies by name, for policy_node: scripted, from a checkpoint, or of a server."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.ports import Policy
from structrl_ros.sim.registry import make_expert
from structrl_ros.training.evaluated_policy import EXPERT_ROWS
from structrl_ros.training.evaluated_policy import KEY_VARIABLE
from structrl_ros.training.learned_policy import SHIPPED as SHIPPED
from structrl_ros.training.learned_policy import LearnedPolicy as LearnedPolicy
from structrl_ros.training.learned_policy import ShippedDiffusion as ShippedDiffusion
from structrl_ros.training.learned_policy import shipped_checkpoint as shipped_checkpoint

#: Makes the policy that the parameters name, for a body (`Episode.body`).
PolicyMaker = Callable[[PolicyParameters, str], Policy]

#: Rows of the expert's chunks in real time, where none are named.
REAL_TIME_ROWS = 16
#: Seconds that the expert's chunks last in real time, whatever the body's rate.
REAL_TIME_S = 0.8


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
    rows = EXPERT_ROWS if parameters.lockstep else REAL_TIME_ROWS
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
    if parameters.policy == 'diffusion':
        return ShippedDiffusion(body)
    if parameters.policy in SHIPPED:
        return LearnedPolicy(shipped_checkpoint(body, parameters.policy), body)
    return LearnedPolicy(Path(parameters.checkpoint).expanduser(), body)


def _make_expert(parameters: PolicyParameters, body: str) -> Policy:
    expert = make_expert(body, chunk_length=parameters.chunk_length or EXPERT_ROWS)
    rows = round(REAL_TIME_S * expert.spec.control_rate_hz)
    if parameters.chunk_length or parameters.lockstep or rows == EXPERT_ROWS:
        return expert
    expert.close()
    return make_expert(body, chunk_length=rows)
