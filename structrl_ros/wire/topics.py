"""Names of the contract, each written once. Relative: a namespace is one arm or one world.

The table with types, directions and QoS is in docs/architecture.md; `wire.qos` holds the profiles.
"""

from __future__ import annotations

from structrl_ros.errors import ParameterError
from structrl_ros.types import ROLES

JOINT_STATES = 'observation/joint_states'
EE_POSE = 'observation/ee_pose'
WRENCH = 'observation/wrench'
PREDICATES = 'predicates'
ACTION_CHUNK = 'action_chunk'
CHUNK_DONE = 'chunk_done'
PLAN = 'plan'
EPISODE = 'episode'
SUBTASK = 'subtask'
SAFETY = 'safety'
VERDICT = 'verdict'
REWARD = 'reward'
PROGRESS = 'progress'
INTERVENTION = 'intervention'
TELEOP_TWIST = 'teleop/twist'
TELEOP_JOY = 'teleop/joy'
HEARTBEAT = 'heartbeat'
EMERGENCY_STOP_SIGNAL = 'emergency_stop_signal'
PRIVILEGED_STATE = 'privileged/state'

#: Graph-wide, hence absolute.
CLOCK = '/clock'
DIAGNOSTICS = '/diagnostics'

RESET_EPISODE = 'reset_episode'
RESET_SAFETY = 'reset_safety'
EMERGENCY_STOP = 'emergency_stop'
EXECUTE_TASK = 'execute_task'
RECORD = 'record'
MARK_EPISODE = 'mark_episode'


def image_topic(role: str) -> str:
    """Return the topic of a camera role's images.

    Raises:
        ParameterError: If the role is none of the contract's.
    """
    return f'observation/{_known(role)}/image'


def camera_info_topic(role: str) -> str:
    """Return the topic of a camera role's intrinsics.

    Raises:
        ParameterError: If the role is none of the contract's.
    """
    return f'observation/{_known(role)}/camera_info'


def depth_topic(role: str) -> str:
    """Return the topic of a camera role's depth, on the pixels of its images.

    Raises:
        ParameterError: If the role is none of the contract's.
    """
    return f'observation/{_known(role)}/depth'


def overlay_topic(role: str) -> str:
    """Return the topic of a role's pictures over a reference; it is looked at, never recorded.

    Raises:
        ParameterError: If the role is none of the contract's.
    """
    return f'overlay/{_known(role)}/image'


def overlay_score_topic(role: str) -> str:
    """Return the topic that tells how well a role's pictures match the reference, [0, 1].

    Raises:
        ParameterError: If the role is none of the contract's.
    """
    return f'overlay/{_known(role)}/score'


def _known(role: str) -> str:
    if role not in ROLES:
        raise ParameterError(f'unknown camera role {role!r}; known: {", ".join(ROLES)}')
    return role


IMAGES = tuple(image_topic(role) for role in ROLES)
CAMERA_INFOS = tuple(camera_info_topic(role) for role in ROLES)
DEPTHS = tuple(depth_topic(role) for role in ROLES)
