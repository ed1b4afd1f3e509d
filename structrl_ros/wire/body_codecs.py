"""Codecs of what the body says of itself: Episode, Safety, SimulatorState, and its reset."""

from __future__ import annotations

import numpy as np
from structrl_msgs.msg import Episode as EpisodeMessage
from structrl_msgs.msg import Safety as SafetyMessage
from structrl_msgs.msg import SimulatorState as SimulatorStateMessage
from structrl_msgs.srv import ResetEpisode

from structrl_ros.errors import MessageError
from structrl_ros.types import Episode
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.wire.checks import UINT32
from structrl_ros.wire.checks import UINT64
from structrl_ros.wire.checks import as_array
from structrl_ros.wire.checks import checked_int
from structrl_ros.wire.checks import checked_names
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.checks import checked_values
from structrl_ros.wire.checks import refuse_shape
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header

_INT32 = 2**31 - 1


def episode_to_message(episode: Episode) -> EpisodeMessage:
    """Return the message of the start or end of an episode."""
    ended = EpisodeMessage.PHASE_END if episode.ended else EpisodeMessage.PHASE_START
    return EpisodeMessage(
        header=header_to_message(episode.stamp_ns),
        episode=checked_int('Episode', 'episode', episode.episode, UINT32),
        phase=ended,
        body=checked_text('Episode', 'body', episode.body),
        task=checked_text('Episode', 'task', episode.task),
        instruction=checked_text('Episode', 'instruction', episode.instruction),
        seed=checked_int('Episode', 'seed', episode.seed, UINT64),
        initial_state=_checked_initial_state('Episode', episode.initial_state),
        success=bool(episode.success),
        end_reason=checked_text('Episode', 'end_reason', episode.end_reason),
        objects=checked_names('Episode', 'objects', episode.objects),
    )


def episode_from_message(message: EpisodeMessage) -> Episode:
    """Return the start or end of an episode.

    Raises:
        MessageError: If the phase is neither start nor end.
    """
    phases = {EpisodeMessage.PHASE_START: False, EpisodeMessage.PHASE_END: True}
    if message.phase not in phases:
        raise MessageError(f'Episode.phase is {message.phase}; allowed: 0 (start), 1 (end)')
    return Episode(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        ended=phases[message.phase],
        body=checked_text('Episode', 'body', message.body),
        task=checked_text('Episode', 'task', message.task),
        instruction=checked_text('Episode', 'instruction', message.instruction),
        seed=int(message.seed),
        initial_state=int(message.initial_state),
        success=bool(message.success),
        end_reason=checked_text('Episode', 'end_reason', message.end_reason),
        objects=tuple(checked_names('Episode', 'objects', message.objects)),
    )


def safety_to_message(safety: Safety) -> SafetyMessage:
    """Return the message of the body's safety state."""
    return SafetyMessage(
        header=header_to_message(safety.stamp_ns),
        state=int(safety.state),
        reason=checked_text('Safety', 'reason', safety.reason),
    )


def safety_from_message(message: SafetyMessage) -> Safety:
    """Return the body's safety state.

    Raises:
        MessageError: If the state is none of the contract's.
    """
    try:
        state = SafetyState(message.state)
    except ValueError:
        known = ', '.join(f'{state.value} ({state.name.lower()})' for state in SafetyState)
        raise MessageError(f'Safety.state is {message.state}; allowed: {known}') from None
    return Safety(
        stamp_ns=stamp_from_header(message.header),
        state=state,
        reason=checked_text('Safety', 'reason', message.reason),
    )


def simulator_state_to_message(state: SimulatorState) -> SimulatorStateMessage:
    """Return the message of a simulated world's whole state (privileged).

    Raises:
        MessageError: If the state is no flat array of finite numbers.
    """
    numbers = checked_values('SimulatorState', 'state', state.state, np.float64)
    if numbers.ndim != 1:
        refuse_shape('SimulatorState', 'state', numbers.shape, '(N,)')
    return SimulatorStateMessage(
        header=header_to_message(state.stamp_ns),
        episode=checked_int('SimulatorState', 'episode', state.episode, UINT32),
        chunk=checked_int('SimulatorState', 'chunk', state.chunk, UINT32),
        step=checked_int('SimulatorState', 'step', state.step, UINT32),
        task=checked_text('SimulatorState', 'task', state.task),
        seed=checked_int('SimulatorState', 'seed', state.seed, UINT64),
        initial_state=_checked_initial_state('SimulatorState', state.initial_state),
        state=as_array(numbers),
    )


def simulator_state_from_message(message: SimulatorStateMessage) -> SimulatorState:
    """Return a simulated world's whole state (privileged).

    Raises:
        MessageError: If the state holds NaN or infinity.
    """
    return SimulatorState(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        step=int(message.step),
        task=checked_text('SimulatorState', 'task', message.task),
        seed=int(message.seed),
        initial_state=int(message.initial_state),
        state=checked_values('SimulatorState', 'state', message.state, np.float64),
    )


def reset_to_request(task: str, seed: int, initial_state: int) -> ResetEpisode.Request:
    """Return a request of `reset_episode`; an empty task keeps the task."""
    return ResetEpisode.Request(
        task=checked_text('ResetEpisode', 'task', task),
        seed=checked_int('ResetEpisode', 'seed', seed, UINT64),
        initial_state=_checked_initial_state('ResetEpisode', initial_state),
    )


def reset_from_request(request: ResetEpisode.Request) -> tuple[str, int, int]:
    """Return task ('' keeps it), seed and initial state of a request of `reset_episode`."""
    task = checked_text('ResetEpisode', 'task', request.task)
    return task, int(request.seed), int(request.initial_state)


def _checked_initial_state(message: str, value: int) -> int:
    return checked_int(message, 'initial_state', value, _INT32, -_INT32 - 1)
