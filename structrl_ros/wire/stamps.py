"""Stamps: integer nanoseconds of the body's clock to ROS times and back, and the ROS clock."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from rclpy.clock import Clock as RclpyClock
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Header

from structrl_ros.errors import MessageError

_SECOND_NS = 1_000_000_000
_MAX_SECONDS = 2**31 - 1


def time_to_message(stamp_ns: int) -> Time:
    """Return the ROS time of a stamp in nanoseconds, from 0 to 2^31 seconds.

    Raises:
        MessageError: If the stamp is negative or beyond the range of the message.
    """
    seconds, nanoseconds = divmod(int(stamp_ns), _SECOND_NS)
    if not 0 <= seconds <= _MAX_SECONDS:
        raise MessageError(f'stamp is {stamp_ns} ns; allowed: 0 to {_MAX_SECONDS} s')
    return Time(sec=seconds, nanosec=nanoseconds)


def time_from_message(message: Time) -> int:
    """Return a ROS time in nanoseconds.

    Raises:
        MessageError: If it is negative or its nanoseconds reach a second.
    """
    if message.sec < 0 or not 0 <= message.nanosec < _SECOND_NS:
        raise MessageError(
            f'stamp is sec {message.sec}, nanosec {message.nanosec}; '
            f'allowed: sec from 0, nanosec below {_SECOND_NS}'
        )
    return int(message.sec) * _SECOND_NS + int(message.nanosec)


def header_to_message(stamp_ns: int, frame_id: str = '') -> Header:
    """Return a header with the time of the observation a message is about."""
    return Header(stamp=time_to_message(stamp_ns), frame_id=frame_id)


def stamp_from_header(header: Header) -> int:
    """Return the stamp of a header in nanoseconds."""
    return time_from_message(header.stamp)


def clock_to_message(stamp_ns: int) -> Clock:
    """Return the `/clock` message of a simulated time."""
    return Clock(clock=time_to_message(stamp_ns))


def clock_from_message(message: Clock) -> int:
    """Return the simulated time of a `/clock` message in nanoseconds."""
    return time_from_message(message.clock)


class RosClock:
    """`ports.Clock` of a node: wall time, or `/clock` where `use_sim_time` is set."""

    def __init__(self, source: Node | RclpyClock) -> None:
        """Keep the clock of a node, or a clock of rclpy."""
        self._clock: RclpyClock = source if isinstance(source, RclpyClock) else source.get_clock()

    def now_ns(self) -> int:
        """Return the time of the body in nanoseconds."""
        return int(self._clock.now().nanoseconds)
