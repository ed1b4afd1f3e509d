"""Codecs of what moves the body: ActionChunk, ChunkDone, Intervention."""

from __future__ import annotations

import numpy as np
from structrl_msgs.msg import ActionChunk as ActionChunkMessage
from structrl_msgs.msg import ChunkDone as ChunkDoneMessage
from structrl_msgs.msg import Intervention as InterventionMessage

from structrl_ros.errors import MessageError
from structrl_ros.types import SOURCES
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Float32
from structrl_ros.types import Intervention
from structrl_ros.wire.checks import UINT32
from structrl_ros.wire.checks import as_array
from structrl_ros.wire.checks import checked_duration
from structrl_ros.wire.checks import checked_int
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.checks import checked_values
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header


def action_chunk_to_message(chunk: ActionChunk) -> ActionChunkMessage:
    """Return the message of a chunk.

    Raises:
        MessageError: If the actions are not (K, D) with K, D >= 1 and finite, the period not
            positive, or the source unknown.
    """
    actions = checked_values('ActionChunk', 'actions', chunk.actions, np.float32)
    if actions.ndim != 2 or not actions.size:
        refuse_shape('ActionChunk', 'actions', actions.shape, '(K, D) with K, D >= 1')
    return ActionChunkMessage(
        header=header_to_message(chunk.stamp_ns),
        episode=checked_int('ActionChunk', 'episode', chunk.episode, UINT32),
        chunk=checked_int('ActionChunk', 'chunk', chunk.chunk, UINT32),
        source=_checked_source(chunk.source),
        action_space=checked_text('ActionChunk', 'action_space', chunk.action_space),
        step_period=checked_duration('ActionChunk', 'step_period', chunk.step_period, zero=False),
        length=actions.shape[0],
        dimension=actions.shape[1],
        data=as_array(actions),
    )


def action_chunk_from_message(message: ActionChunkMessage) -> ActionChunk:
    """Return a chunk with actions of shape (length, dimension).

    Raises:
        MessageError: If data does not hold length x dimension finite numbers, the period is not
            positive, or the source unknown.
    """
    length, dimension = int(message.length), int(message.dimension)
    data = checked_values('ActionChunk', 'data', message.data, np.float32)
    if not data.size or data.size != length * dimension:
        raise MessageError(
            f'ActionChunk.data has {data.size} values; allowed: length x dimension = '
            f'{length} x {dimension} = {length * dimension}, at least 1'
        )
    return ActionChunk(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        source=_checked_source(message.source),
        action_space=checked_text('ActionChunk', 'action_space', message.action_space),
        step_period=checked_duration(
            'ActionChunk', 'step_period', message.step_period, zero=False
        ),
        actions=data.reshape(length, dimension),
    )


def chunk_done_to_message(done: ChunkDone) -> ChunkDoneMessage:
    """Return the message of what the body did with a chunk.

    Raises:
        MessageError: If `executed` is not (executed_steps, D) and finite.
    """
    executed = checked_values('ChunkDone', 'executed', done.executed, np.float32)
    if executed.ndim != 2 or executed.shape[0] != done.executed_steps:
        refuse_shape('ChunkDone', 'executed', executed.shape, f'({done.executed_steps}, D)')
    return ChunkDoneMessage(
        header=header_to_message(done.stamp_ns),
        episode=checked_int('ChunkDone', 'episode', done.episode, UINT32),
        chunk=checked_int('ChunkDone', 'chunk', done.chunk, UINT32),
        executed_steps=executed.shape[0],
        terminated=bool(done.terminated),
        truncated=bool(done.truncated),
        success=bool(done.success),
        executed=as_array(executed),
    )


def chunk_done_from_message(message: ChunkDoneMessage) -> ChunkDone:
    """Return what the body did with a chunk; `executed` is (0, 0) if it ran no step.

    Raises:
        MessageError: If `executed` is no whole number of rows or not finite.
    """
    return ChunkDone(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        executed_steps=int(message.executed_steps),
        terminated=bool(message.terminated),
        truncated=bool(message.truncated),
        success=bool(message.success),
        executed=_executed_rows(message),
    )


def intervention_to_message(intervention: Intervention) -> InterventionMessage:
    """Return the message of an operator's takeover or release.

    Raises:
        MessageError: If the action is not a flat array of finite numbers.
    """
    action = checked_values('Intervention', 'action', intervention.action, np.float32)
    if action.ndim != 1:
        refuse_shape('Intervention', 'action', action.shape, '(D,)')
    return InterventionMessage(
        header=header_to_message(intervention.stamp_ns),
        episode=checked_int('Intervention', 'episode', intervention.episode, UINT32),
        active=bool(intervention.active),
        device=checked_text('Intervention', 'device', intervention.device),
        action=as_array(action),
    )


def intervention_is_active(message: InterventionMessage) -> bool:
    """Return whether an operator has taken over, whatever else the message holds.

    What a device says of its action may be no number; that somebody holds it still counts.
    """
    return bool(message.active)


def intervention_from_message(message: InterventionMessage) -> Intervention:
    """Return an operator's takeover or release."""
    return Intervention(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        active=bool(message.active),
        device=checked_text('Intervention', 'device', message.device),
        action=checked_values('Intervention', 'action', message.action, np.float32),
    )


def _executed_rows(message: ChunkDoneMessage) -> Float32:
    steps = int(message.executed_steps)
    executed = checked_values('ChunkDone', 'executed', message.executed, np.float32)
    if not steps and not executed.size:
        return executed.reshape(0, 0)
    if not steps or not executed.size or executed.size % steps:
        raise MessageError(
            f'ChunkDone.executed has {executed.size} values; '
            f'allowed: a multiple of executed_steps = {steps}'
        )
    return executed.reshape(steps, -1)


def _checked_source(source: str) -> str:
    if source not in SOURCES:
        raise MessageError(f'ActionChunk.source is {source!r}; allowed: {", ".join(SOURCES)}')
    return source
