"""What a driver and its process say to each other: small messages on a local socket.

The process that speaks to a Franka imports nothing of ROS, and the node nothing of the vendor.
Messages keep their borders (SOCK_SEQPACKET); each begins with a byte that says what it is.
Nothing is pickled.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState
from structrl_ros.types import Float64

JOINTS = 7
#: Longest message, bytes.
LONGEST = 4096

_NUMBERS = struct.Struct(f'<qBBd{3 * JOINTS + 6}d')
_WAYPOINT = struct.Struct(f'<{JOINTS}d')


class Ask(Enum):
    """What the driver asks of its process."""

    START = b'B'
    WAYPOINT = b'W'
    STOP = b'S'
    RECOVER = b'R'
    GRIP = b'G'
    QUIT = b'Q'


class Tell(Enum):
    """What the process tells."""

    STATE = b'T'
    DUE = b'D'
    ANSWER = b'A'
    HALT = b'H'
    WIDTH = b'O'
    END = b'E'


@dataclass(frozen=True, slots=True)
class Report:
    """A state and the share of commands that the arm received in time, in [0, 1]."""

    state: ArmState
    success_rate: float


def open_link() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a new link."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(link: socket.socket, kind: Ask | Tell, payload: bytes = b'') -> bool:
    """Send a message; return False where the other side is gone or does not read."""
    try:
        link.send(kind.value + payload[: LONGEST - 1], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except OSError:
        return False
    return True


def receive(link: socket.socket, *, wait: bool) -> tuple[bytes, bytes] | None:
    """Return kind and payload of the next message, None where there is none yet.

    Raises:
        ArmError: If the other side is gone.
    """
    try:
        message = link.recv(LONGEST, 0 if wait else socket.MSG_DONTWAIT)
    except (BlockingIOError, TimeoutError):
        return None
    except OSError:
        message = b''
    if not message:
        raise ArmError('the other end of the link is gone')
    return message[:1], message[1:]


def pack_waypoint(position: Float64) -> bytes:
    """Return the payload of a waypoint, shape (7,)."""
    return _WAYPOINT.pack(*position.tolist())


def unpack_waypoint(payload: bytes) -> Float64:
    """Return a waypoint, shape (7,)."""
    return np.array(_WAYPOINT.unpack(payload))


def pack_report(report: Report) -> bytes:
    """Return the payload of a report; the opening of the gripper is not in it."""
    state = report.state
    wrench = np.full(6, np.nan) if state.wrench is None else state.wrench
    numbers = np.concatenate([state.position, state.velocity, state.reference, wrench])
    head = _NUMBERS.pack(
        state.time_ns, state.mode, state.is_still, report.success_rate, *numbers.tolist()
    )
    return head + ','.join(state.errors).encode()


def unpack_report(payload: bytes, opening: float) -> Report:
    """Return a report with an opening of the gripper, metres."""
    time_ns, mode, is_still, success_rate, *numbers = _NUMBERS.unpack_from(payload)
    position, velocity, reference, wrench = np.split(
        np.array(numbers), [JOINTS, 2 * JOINTS, 3 * JOINTS]
    )
    errors = payload[_NUMBERS.size :].decode()
    state = ArmState(
        time_ns=time_ns,
        mode=ArmMode(mode),
        position=position,
        velocity=velocity,
        reference=reference,
        is_still=bool(is_still),
        opening=opening,
        wrench=None if np.isnan(wrench).any() else wrench,
        errors=tuple(errors.split(',')) if errors else (),
    )
    return Report(state, success_rate)


def pack_json(value: Any) -> bytes:
    """Return settings or an answer as JSON."""
    return json.dumps(value).encode()


def unpack_json(payload: bytes) -> Any:
    """Return what `pack_json` packed."""
    return json.loads(payload)
