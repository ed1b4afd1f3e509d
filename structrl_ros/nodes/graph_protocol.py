"""What an evaluation of a running graph plays: a protocol, with the policies that run."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.params.evaluator import EvaluatorParameters
from structrl_ros.training.evaluated_policy import policy_fingerprint
from structrl_ros.training.protocol_document import read_protocol

#: Nodes of the first and of the second policy.
POLICY_NODES = ('policy_node', 'other_policy_node')


def graph_policies(p: EvaluatorParameters) -> tuple[PolicyChoice, ...]:
    """Return what the policy nodes run, unnamed ones called after their nodes."""
    first = PolicyChoice(
        name=p.name or POLICY_NODES[0],
        policy=p.policy,
        checkpoint=p.checkpoint,
        server=p.server,
    )
    if p.other_policy == 'none':
        return (first,)
    other = PolicyChoice(
        name=p.other_name or POLICY_NODES[1],
        policy=p.other_policy,
        checkpoint=p.other_checkpoint,
        server=p.other_server,
    )
    return first, other


def graph_protocol(p: EvaluatorParameters) -> Protocol:
    """Return the protocol with the policies that the graph runs.

    Raises:
        ParameterError: If protocol or folder are not given, or a running body cannot do it.
        CheckpointError: If a checkpoint is missing.
    """
    for name in ('protocol', 'out'):
        if not getattr(p, name):
            raise ParameterError(f'{name} must be given, {name}:=PATH')
    protocol = read_protocol(Path(p.protocol).expanduser())
    if protocol.body_options:
        raise ParameterError(
            'body_options: a running body takes none; allowed: structrl evaluate policy'
        )
    choices = graph_policies(p)
    names = [_named(choice, protocol).name for choice in choices]
    if len(set(names)) != len(names):
        raise ParameterError(f'both policies are called {names[0]!r}; give name and other_name')
    return replace(
        protocol,
        policies=tuple(replace(c, name=n) for c, n in zip(choices, names, strict=True)),
    )


def policy_nodes(
    policies: Sequence[PolicyChoice], choices: Mapping[str, PolicyChoice]
) -> dict[str, str]:
    """Return code to node, where there are two policies; one alone is never switched.

    Args:
        policies: Of `graph_protocol`, in the order of the nodes.
        choices: Code to policy; names are those of `policies`.
    """
    if len(policies) == 1:
        return {}
    names = dict(zip((policy.name for policy in policies), POLICY_NODES, strict=True))
    return {code: names[choice.name] for code, choice in choices.items()}


def _named(choice: PolicyChoice, protocol: Protocol) -> PolicyChoice:
    """Return a policy under the name that the protocol gives to the same weights."""
    if choice.name not in POLICY_NODES:
        return choice
    mine = policy_fingerprint(choice, protocol.body)
    for known in protocol.policies:
        if policy_fingerprint(known, protocol.body) == mine:
            return known
    return choice
