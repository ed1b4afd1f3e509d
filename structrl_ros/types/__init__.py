"""Frozen dataclasses that pass between the rooms; each mirrors a message of `structrl_msgs`.

May enter: numpy alone; names are imported from here, never from the modules below.
Times are integer nanoseconds of the body's clock (`stamp_ns`, the time of the observation that a
value is about). Quaternions are xyzw, lengths metres, angles radians. Arrays are read-only by
agreement: who needs to change one copies it.
"""

from structrl_ros.types.arm import ArmMode
from structrl_ros.types.arm import ArmState
from structrl_ros.types.arm import Safety
from structrl_ros.types.arm import SafetyState
from structrl_ros.types.arrays import Float32
from structrl_ros.types.arrays import Float64
from structrl_ros.types.arrays import JsonObject
from structrl_ros.types.arrays import UInt8
from structrl_ros.types.body import BodySpec
from structrl_ros.types.body import Episode
from structrl_ros.types.body import StepOutcome
from structrl_ros.types.body import TaskInfo
from structrl_ros.types.chunk import SOURCES
from structrl_ros.types.chunk import ActionChunk
from structrl_ros.types.chunk import ChunkDone
from structrl_ros.types.chunk import Intervention
from structrl_ros.types.chunk import MeasuredRate
from structrl_ros.types.chunk import PolicySpec
from structrl_ros.types.event import ERROR_TYPES
from structrl_ros.types.event import OUTCOMES
from structrl_ros.types.event import RECOVERIES
from structrl_ros.types.event import SPECIFIC_ERRORS
from structrl_ros.types.event import EventReview
from structrl_ros.types.event import FailedRollout
from structrl_ros.types.observation import ROLES
from structrl_ros.types.observation import Observation
from structrl_ros.types.observation import Predicates
from structrl_ros.types.observation import Proprioception
from structrl_ros.types.observation import SimulatorState
from structrl_ros.types.operator import OperatorCommand
from structrl_ros.types.plan import FailedAttempt
from structrl_ros.types.plan import Judgement
from structrl_ros.types.plan import Plan
from structrl_ros.types.plan import PlanRequest
from structrl_ros.types.plan import Subtask
from structrl_ros.types.plan import SubtaskStatus
from structrl_ros.types.plan import Verdict
from structrl_ros.types.reward import SUCCESS_TERM
from structrl_ros.types.reward import ChunkReward
from structrl_ros.types.reward import Progress
from structrl_ros.types.reward import Reward
from structrl_ros.types.reward import RewardRule

__all__ = [
    'ERROR_TYPES',
    'OUTCOMES',
    'RECOVERIES',
    'ROLES',
    'SOURCES',
    'SPECIFIC_ERRORS',
    'SUCCESS_TERM',
    'ActionChunk',
    'ArmMode',
    'ArmState',
    'BodySpec',
    'ChunkDone',
    'ChunkReward',
    'Episode',
    'EventReview',
    'FailedAttempt',
    'FailedRollout',
    'Float32',
    'Float64',
    'Intervention',
    'JsonObject',
    'Judgement',
    'MeasuredRate',
    'Observation',
    'OperatorCommand',
    'Plan',
    'PlanRequest',
    'PolicySpec',
    'Predicates',
    'Progress',
    'Proprioception',
    'Reward',
    'RewardRule',
    'Safety',
    'SafetyState',
    'SimulatorState',
    'StepOutcome',
    'Subtask',
    'SubtaskStatus',
    'TaskInfo',
    'UInt8',
    'Verdict',
]
