"""Type and QoS of every topic, for publisher and subscriber; the table of docs/architecture.md.

Silent mismatches (best-effort publisher with reliable subscriber, volatile publisher with
transient-local subscriber) cannot arise as long as both sides ask here; a test checks the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TwistStamped
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy
from rclpy.qos import HistoryPolicy
from rclpy.qos import LivelinessPolicy
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import Image
from sensor_msgs.msg import JointState
from sensor_msgs.msg import Joy
from std_msgs.msg import Bool
from std_msgs.msg import Float64
from std_msgs.msg import Header
from structrl_msgs.msg import ActionChunk
from structrl_msgs.msg import ChunkDone
from structrl_msgs.msg import Episode
from structrl_msgs.msg import Intervention
from structrl_msgs.msg import Plan
from structrl_msgs.msg import Predicates
from structrl_msgs.msg import Progress
from structrl_msgs.msg import Reward
from structrl_msgs.msg import Safety
from structrl_msgs.msg import SimulatorState
from structrl_msgs.msg import SubtaskStatus
from structrl_msgs.msg import Verdict

from structrl_ros.errors import ParameterError
from structrl_ros.types import ROLES
from structrl_ros.wire import topics


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table: depth of each side, and what deviates from reliable, volatile."""

    type: type[Any]
    publish_depth: int
    subscribe_depth: int
    subscribe_reliable: bool = True
    latched: bool = False


def _sensor(message: type[Any], subscribe_depth: int) -> _Row:
    return _Row(message, 5, subscribe_depth, subscribe_reliable=False)


def _latched(message: type[Any]) -> _Row:
    return _Row(message, 1, 1, latched=True)


def _counted(message: type[Any]) -> _Row:
    return _Row(message, 100, 100)


_TABLE: Mapping[str, _Row] = {
    **{topic: _sensor(Image, 1) for topic in topics.IMAGES},
    **{topic: _sensor(CameraInfo, 1) for topic in topics.CAMERA_INFOS},
    **{topic: _sensor(Image, 1) for topic in topics.DEPTHS},
    topics.JOINT_STATES: _sensor(JointState, 5),
    topics.EE_POSE: _sensor(PoseStamped, 5),
    topics.WRENCH: _sensor(WrenchStamped, 5),
    topics.PREDICATES: _counted(Predicates),
    topics.ACTION_CHUNK: _Row(ActionChunk, 1, 1),
    topics.CHUNK_DONE: _counted(ChunkDone),
    topics.PLAN: _latched(Plan),
    topics.EPISODE: _latched(Episode),
    topics.SUBTASK: _latched(SubtaskStatus),
    topics.SAFETY: _latched(Safety),
    topics.VERDICT: _counted(Verdict),
    topics.REWARD: _counted(Reward),
    topics.PROGRESS: _counted(Progress),
    topics.INTERVENTION: _counted(Intervention),
    topics.TELEOP_TWIST: _sensor(TwistStamped, 5),
    topics.TELEOP_JOY: _sensor(Joy, 5),
    topics.HEARTBEAT: _Row(Header, 1, 1, subscribe_reliable=False),
    topics.EMERGENCY_STOP_SIGNAL: _Row(Bool, 10, 10),
    topics.PRIVILEGED_STATE: _Row(SimulatorState, 5, 5),
    topics.CLOCK: _Row(Clock, 1, 1, subscribe_reliable=False),
    topics.DIAGNOSTICS: _Row(DiagnosticArray, 10, 10),
}

#: What only people look at: no part of the contract, and no recorder takes it.
_LOOKED_AT: Mapping[str, _Row] = {
    **{topics.overlay_topic(role): _sensor(Image, 1) for role in ROLES},
    **{topics.overlay_score_topic(role): _Row(Float64, 5, 5) for role in ROLES},
}

#: Every topic of the contract that carries a message, in the order of the table.
TOPICS = tuple(_TABLE)


def message_type(topic: str) -> type[Any]:
    """Return the message class of a topic.

    Raises:
        ParameterError: If the topic is not of the contract.
    """
    return _row(topic).type


def type_name(topic: str) -> str:
    """Return the type of a topic as bags and other tools write it: `package/msg/Name`.

    Raises:
        ParameterError: If the topic is not of the contract.
    """
    kind = message_type(topic)
    return f'{kind.__module__.partition(".")[0]}/msg/{kind.__name__}'


def is_latched(topic: str) -> bool:
    """Return whether a late subscriber of a topic gets its last message.

    Raises:
        ParameterError: If the topic is not of the contract.
    """
    return _row(topic).latched


def publisher_qos(topic: str, *, lifespan_s: float | None = None) -> QoSProfile:
    """Return the profile to publish a topic with.

    Args:
        topic: A name of `wire.topics`.
        lifespan_s: For `action_chunk` in real time: seconds (wall clock) after which a chunk that
            was not delivered is worthless, its length times its step period. None in lock-step,
            where the body may be long about a step and every chunk must arrive.

    Raises:
        ParameterError: If the topic is not of the contract or the lifespan is not positive.
    """
    row = _row(topic)
    profile = _profile(row.publish_depth, reliable=True, latched=row.latched)
    if lifespan_s is not None:
        if not 0.0 < lifespan_s < 3600.0:
            raise ParameterError(f'lifespan of {topic} is {lifespan_s} s; allowed: (0, 3600)')
        profile.lifespan = Duration(nanoseconds=round(lifespan_s * 1e9))
    return profile


def subscriber_qos(topic: str, *, lockstep: bool = False) -> QoSProfile:
    """Return the profile to subscribe to a topic with.

    Args:
        topic: A name of `wire.topics`.
        lockstep: In lock-step the graph waits for each observation, so a lost one would stop it:
            everything is then asked for reliably, with the publisher's depth.

    Raises:
        ParameterError: If the topic is not of the contract.
    """
    row = _row(topic)
    if lockstep:
        depth = max(row.publish_depth, row.subscribe_depth)
        return _profile(depth, reliable=True, latched=row.latched)
    return _profile(row.subscribe_depth, reliable=row.subscribe_reliable, latched=row.latched)


def recorder_qos(topic: str) -> QoSProfile:
    """Return the profile of a recorder: reliable and deep, so that a gap is the exception.

    Raises:
        ParameterError: If the topic is not of the contract.
    """
    row = _row(topic)
    return _profile(max(row.publish_depth, 100), reliable=True, latched=row.latched)


def _profile(depth: int, *, reliable: bool, latched: bool) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        liveliness=LivelinessPolicy.AUTOMATIC,
    )


def _row(topic: str) -> _Row:
    row = _TABLE.get(topic) or _LOOKED_AT.get(topic)
    if row is None:
        raise ParameterError(f'unknown topic {topic!r}; known: {", ".join(sorted(_TABLE))}')
    return row
