"""Policies by name, for policy_node."""

from __future__ import annotations

from collections.abc import Callable

from structrl_ros.errors import CheckpointError
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.ports import Policy
from structrl_ros.sim.registry import make_expert

#: Makes the policy that the parameters name, for a body (`Episode.body`).
PolicyMaker = Callable[[PolicyParameters, str], Policy]

#: Rows of the expert's chunks where none are named.
LOCKSTEP_ROWS = 8
REAL_TIME_ROWS = 16


def check_policy(parameters: PolicyParameters) -> None:
    """Refuse at once what can never work, whatever the body.

    Raises:
        CheckpointError: If a checkpoint is asked for; learned policies are not in this version.
    """
    if parameters.policy == 'checkpoint':
        named = parameters.checkpoint or 'no folder given'
        raise CheckpointError(
            f'policy checkpoint ({named}): this version has no learned policy; allowed: expert'
        )


def make_policy(parameters: PolicyParameters, body: str) -> Policy:
    """Return the policy that the parameters name.

    Raises:
        CheckpointError: If a checkpoint is asked for.
        ParameterError: If the body has no expert.
    """
    check_policy(parameters)
    rows = LOCKSTEP_ROWS if parameters.lockstep else REAL_TIME_ROWS
    return make_expert(body, chunk_length=parameters.chunk_length or rows)
