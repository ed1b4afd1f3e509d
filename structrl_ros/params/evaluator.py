"""Parameters of evaluator_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter

_POLICIES = ('none', 'expert', 'flow', 'checkpoint', 'remote')


@dataclass(frozen=True, kw_only=True)
class EvaluatorParameters:
    """Which protocol is played through the running graph, and what its policy nodes run."""

    protocol: str = parameter('', description='Protocol, a YAML file; it must be given.')
    out: str = parameter(
        '', description='Folder of the evaluation, which goes on if it has begun; must be given.'
    )
    policy: str = parameter('expert', description='What policy_node runs.', choices=_POLICIES[1:])
    checkpoint: str = parameter('', description='Its checkpoint, where one is used.')
    server: str = parameter('', description='Its server, where one is used.')
    name: str = parameter(
        '', description="Name of this policy; empty takes the protocol's, told by its contents."
    )
    other_policy: str = parameter(
        'none',
        description='What other_policy_node runs, for two policies in one evaluation.',
        choices=_POLICIES,
    )
    other_checkpoint: str = parameter('', description='Its checkpoint, where one is used.')
    other_server: str = parameter('', description='Its server, where one is used.')
    other_name: str = parameter('', description='Name of the other policy; as for the first.')
    attended: bool = parameter(
        False,
        description='Wait for ~/ready before each episode; an arm and a rule person always do.',
    )
    patience_s: float = parameter(
        60.0,
        description='Wall time for the graph to come up, and for a reset.',
        bounds=(1.0, 3600.0),
    )
    linger: bool = parameter(
        True, description='Stay up when everything is played, so that the graph does.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
