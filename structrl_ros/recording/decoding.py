"""Recorded messages to the dataclasses of `types`, by field names, without ROS."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np

from structrl_ros.errors import BagError
from structrl_ros.errors import MessageError
from structrl_ros.pixel_formats import rgb_from_rows
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import UInt8
from structrl_ros.types import Verdict

#: Nanoseconds in a second.
SECOND_NS = 1_000_000_000


def time_ns(stamp: Any) -> int:
    """Return a builtin_interfaces/Time in nanoseconds."""
    return int(stamp.sec) * SECOND_NS + int(stamp.nanosec)


def decode(msgtype: str, message: Any) -> Any:
    """Return the dataclass of a message of structrl_msgs.

    Args:
        msgtype: `structrl_msgs/msg/Name`.
        message: Object with the fields of the message.

    Raises:
        BagError: If the type has no dataclass or a field is missing or of a wrong size.
    """
    decoder = _DECODERS.get(msgtype)
    if decoder is None:
        raise BagError(f'no dataclass for {msgtype!r}; known: {", ".join(sorted(_DECODERS))}')
    try:
        return decoder(message)
    except (AttributeError, ValueError, TypeError) as error:
        raise BagError(f'recorded {msgtype} breaks the contract: {error}') from error


def is_decodable(msgtype: str) -> bool:
    """Tell whether `decode` knows a type."""
    return msgtype in _DECODERS


def decode_image(message: Any) -> UInt8:
    """Return the pixels of a sensor_msgs/Image as RGB, shape (height, width, 3).

    Raises:
        BagError: If the encoding is unknown, or sizes and data do not fit.
    """
    try:
        return rgb_from_rows(
            message.encoding,
            message.data,
            width=int(message.width),
            height=int(message.height),
            step=int(message.step),
            big_endian=bool(message.is_bigendian),
        )
    except MessageError as error:
        raise BagError(f'recorded picture: {error}') from None


def _plain(cls: type[Any], **convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decoder of a class whose fields have the names of the message's."""
    names = [name for name in cls.__dataclass_fields__ if name != 'stamp_ns']

    def decoder(message: Any) -> Any:
        values = {n: convert.get(n, _scalar)(getattr(message, n)) for n in names}
        return cls(stamp_ns=time_ns(message.header.stamp), **values)

    return decoder


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in value)


def _floats(value: Any) -> Float32:
    return np.asarray(value, dtype=np.float32)


def _subtask(message: Any) -> Subtask:
    return Subtask(
        id=message.id,
        phrase=message.phrase,
        verb=message.verb,
        arguments=_strings(message.arguments),
        stage=int(message.stage),
    )


def _episode(message: Any) -> Episode:
    return Episode(
        stamp_ns=time_ns(message.header.stamp),
        episode=int(message.episode),
        ended=int(message.phase) == 1,
        body=message.body,
        task=message.task,
        instruction=message.instruction,
        seed=int(message.seed),
        initial_state=int(message.initial_state),
        success=bool(message.success),
        end_reason=message.end_reason,
        objects=_strings(message.objects),
    )


def _action_chunk(message: Any) -> ActionChunk:
    shape = (int(message.length), int(message.dimension))
    return ActionChunk(
        stamp_ns=time_ns(message.header.stamp),
        episode=int(message.episode),
        chunk=int(message.chunk),
        source=message.source,
        action_space=message.action_space,
        step_period=float(message.step_period),
        actions=_floats(message.data).reshape(shape),
    )


def _chunk_done(message: Any) -> ChunkDone:
    steps = int(message.executed_steps)
    executed = _floats(message.executed)
    return ChunkDone(
        stamp_ns=time_ns(message.header.stamp),
        episode=int(message.episode),
        chunk=int(message.chunk),
        executed_steps=steps,
        terminated=bool(message.terminated),
        truncated=bool(message.truncated),
        success=bool(message.success),
        executed=executed.reshape(steps, -1) if steps else executed.reshape(0, 0),
    )


_DECODERS: Mapping[str, Callable[[Any], Any]] = {
    f'structrl_msgs/msg/{name}': decoder
    for name, decoder in {
        'ActionChunk': _action_chunk,
        'ChunkDone': _chunk_done,
        'Episode': _episode,
        'Intervention': _plain(Intervention, action=_floats),
        'Plan': _plain(Plan, subtasks=lambda v: tuple(_subtask(s) for s in v)),
        'Predicates': _plain(
            Predicates, names=_strings, values=lambda v: tuple(bool(b) for b in v)
        ),
        'Progress': _plain(Progress),
        'Reward': _plain(Reward, terms=lambda v: tuple((t.name, float(t.value)) for t in v)),
        'Safety': _plain(Safety, state=SafetyState),
        'SimulatorState': _plain(SimulatorState, state=lambda v: np.asarray(v, dtype=np.float64)),
        'SubtaskStatus': _plain(
            SubtaskStatus, completed=_strings, open=_strings, blocked=_strings
        ),
        'Verdict': _plain(Verdict),
    }.items()
}
