"""Codecs of what is true and what is paid: Predicates, Reward, Progress."""

from __future__ import annotations

import math

from structrl_msgs.msg import Predicates as PredicatesMessage
from structrl_msgs.msg import Progress as ProgressMessage
from structrl_msgs.msg import Reward as RewardMessage
from structrl_msgs.msg import RewardTerm as RewardTermMessage

from structrl_ros.errors import MessageError
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.wire.checks import MAX_NAMES
from structrl_ros.wire.checks import UINT32
from structrl_ros.wire.checks import checked_count
from structrl_ros.wire.checks import checked_duration
from structrl_ros.wire.checks import checked_float
from structrl_ros.wire.checks import checked_int
from structrl_ros.wire.checks import checked_names
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.checks import checked_unit
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header


def predicates_to_message(predicates: Predicates) -> PredicatesMessage:
    """Return the message of simulator truth over a chunk.

    Raises:
        MessageError: If there is not one value a name, or a name stands there twice.
    """
    names = _checked_predicate_names(predicates.names, len(predicates.values))
    return PredicatesMessage(
        header=header_to_message(predicates.stamp_ns),
        episode=checked_int('Predicates', 'episode', predicates.episode, UINT32),
        chunk=checked_int('Predicates', 'chunk', predicates.chunk, UINT32),
        step=checked_int('Predicates', 'step', predicates.step, UINT32),
        names=list(names),
        values=[bool(value) for value in predicates.values],
        success=bool(predicates.success),
    )


def predicates_from_message(message: PredicatesMessage) -> Predicates:
    """Return simulator truth over a chunk.

    Raises:
        MessageError: If there is not one value a name, or a name stands there twice.
    """
    return Predicates(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        step=int(message.step),
        names=_checked_predicate_names(tuple(message.names), len(message.values)),
        values=tuple(bool(value) for value in message.values),
        success=bool(message.success),
    )


def reward_to_message(reward: Reward) -> RewardMessage:
    """Return the message of one page of the ledger."""
    checked_count('Reward', 'terms', len(reward.terms), MAX_NAMES)
    return RewardMessage(
        header=header_to_message(reward.stamp_ns),
        episode=checked_int('Reward', 'episode', reward.episode, UINT32),
        chunk=checked_int('Reward', 'chunk', reward.chunk, UINT32),
        value=checked_float('Reward', 'value', reward.value),
        terms=[
            RewardTermMessage(
                name=checked_text('Reward', 'terms.name', name),
                value=checked_float('Reward', f'terms[{name}]', value),
            )
            for name, value in reward.terms
        ],
        episode_return=checked_float('Reward', 'episode_return', reward.episode_return),
        terminated=bool(reward.terminated),
        truncated=bool(reward.truncated),
    )


def reward_from_message(message: RewardMessage) -> Reward:
    """Return one page of the ledger."""
    checked_count('Reward', 'terms', len(message.terms), MAX_NAMES)
    return Reward(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        value=checked_float('Reward', 'value', message.value),
        terms=tuple(
            (
                checked_text('Reward', 'terms.name', term.name),
                checked_float('Reward', f'terms[{term.name}]', term.value),
            )
            for term in message.terms
        ),
        episode_return=checked_float('Reward', 'episode_return', message.episode_return),
        terminated=bool(message.terminated),
        truncated=bool(message.truncated),
    )


def progress_to_message(progress: Progress) -> ProgressMessage:
    """Return the message of what the reward model says of a step; latency becomes float32.

    NaN in `hop_backward` says that there is no goal, hence no backward term.

    Raises:
        MessageError: If a hop or the potential is outside [-1, 1].
    """
    return ProgressMessage(
        header=header_to_message(progress.stamp_ns),
        episode=checked_int('Progress', 'episode', progress.episode, UINT32),
        step=checked_int('Progress', 'step', progress.step, UINT32),
        hop_forward=checked_unit('Progress', 'hop_forward', progress.hop_forward, -1.0),
        hop_backward=_checked_backward(progress.hop_backward),
        hop_incremental=checked_unit(
            'Progress', 'hop_incremental', progress.hop_incremental, -1.0
        ),
        negative_branch=bool(progress.negative_branch),
        potential=checked_unit('Progress', 'potential', progress.potential, -1.0),
        shaping=checked_float('Progress', 'shaping', progress.shaping),
        latency=checked_duration('Progress', 'latency', progress.latency),
        valid=bool(progress.valid),
    )


def progress_from_message(message: ProgressMessage) -> Progress:
    """Return what the reward model says of a step.

    Raises:
        MessageError: If a hop or the potential is outside [-1, 1].
    """
    return Progress(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        step=int(message.step),
        hop_forward=checked_unit('Progress', 'hop_forward', message.hop_forward, -1.0),
        hop_backward=_checked_backward(message.hop_backward),
        hop_incremental=checked_unit('Progress', 'hop_incremental', message.hop_incremental, -1.0),
        negative_branch=bool(message.negative_branch),
        potential=checked_unit('Progress', 'potential', message.potential, -1.0),
        shaping=checked_float('Progress', 'shaping', message.shaping),
        latency=checked_duration('Progress', 'latency', message.latency),
        valid=bool(message.valid),
    )


def _checked_backward(hop: float) -> float:
    return math.nan if math.isnan(hop) else checked_unit('Progress', 'hop_backward', hop, -1.0)


def _checked_predicate_names(names: tuple[str, ...], values: int) -> tuple[str, ...]:
    checked = tuple(checked_names('Predicates', 'names', names))
    if len(checked) != values:
        raise MessageError(
            f'Predicates.values has {values} entries; allowed: one a name, {len(checked)}'
        )
    if len(set(checked)) != len(checked):
        twice = next(name for name in checked if checked.count(name) > 1)
        raise MessageError(f'Predicates.names holds {twice!r} twice; allowed: each name once')
    return checked
