"""Frozen dataclasses that pass between the rooms; each mirrors a message of `structrl_msgs`.

Times are integer nanoseconds of the body's clock (`stamp_ns`, the time of the observation that a
value is about). Quaternions are xyzw, lengths metres, angles radians. Arrays are read-only by
agreement: who needs to change one copies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
UInt8 = NDArray[np.uint8]

#: Camera roles of the contract; a policy names roles, never devices.
ROLES = ('head', 'left_wrist', 'right_wrist')

#: Name of the term that pays StructRL's lambda_c.
SUCCESS_TERM = 'success'

#: Who may be the source of a chunk.
SOURCES = ('policy', 'teleop', 'expert', 'replay')


@dataclass(frozen=True, slots=True)
class Subtask:
    """One step of a plan: `verb(arguments)`, in a stage (from 0); stages are done in order."""

    id: str
    phrase: str
    verb: str
    arguments: tuple[str, ...]
    stage: int


@dataclass(frozen=True, slots=True)
class Plan:
    """An ordered list of subtasks. Revision 1 opens a task, each retry or replan adds one.

    An empty list of subtasks means: nothing to do, hold.
    """

    stamp_ns: int
    revision: int
    instruction: str
    subtasks: tuple[Subtask, ...]
    reasoning: str = ''
    planner: str = ''

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """Ids of the subtasks, grouped by stage in ascending order."""
        numbers = sorted({s.stage for s in self.subtasks})
        return tuple(tuple(s.id for s in self.subtasks if s.stage == n) for n in numbers)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A monitor's answer on one subtask: REVER's Verify(s, o_start, o_now).

    `stop` ends this attempt without success: the body holds until the next plan revision.
    `latency` is in seconds, `confidence` in [0, 1].
    """

    stamp_ns: int
    revision: int
    index: int
    subtask_id: str
    done: bool
    confidence: float
    latency: float
    monitor: str
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Predicates:
    """Simulator truth over one chunk: a name is true if it held at any low-level step of it."""

    stamp_ns: int
    episode: int
    chunk: int
    step: int
    names: tuple[str, ...]
    values: tuple[bool, ...]
    success: bool

    @property
    def truth(self) -> frozenset[str]:
        """Names that are true."""
        return frozenset(n for n, v in zip(self.names, self.values, strict=True) if v)


@dataclass(frozen=True, slots=True)
class SubtaskStatus:
    """Where the plan stands after a chunk; `current` is '' when there is nothing to do."""

    stamp_ns: int
    episode: int
    chunk: int
    revision: int
    current: str
    completed: tuple[str, ...]
    open: tuple[str, ...]
    blocked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reward:
    """One page of the ledger: the terms sum to `value`, the values to `episode_return`."""

    stamp_ns: int
    episode: int
    chunk: int
    value: float
    terms: tuple[tuple[str, float], ...]
    episode_return: float
    terminated: bool
    truncated: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """What the reward model says of one step; hops in [-1, 1], `latency` in seconds.

    `step` counts the questions of an episode, from 1. A step that is not `valid` has no hops (0)
    and repeats potential and gate. `hop_backward` is NaN where there is no goal.
    """

    stamp_ns: int
    episode: int
    step: int
    hop_forward: float
    hop_backward: float
    hop_incremental: float
    negative_branch: bool
    potential: float
    shaping: float
    latency: float
    valid: bool


@dataclass(frozen=True, slots=True)
class Episode:
    """Start or end of an episode, with the names of the movable and fixed things in the scene."""

    stamp_ns: int
    episode: int
    ended: bool
    body: str
    task: str
    instruction: str
    seed: int
    initial_state: int
    success: bool = False
    end_reason: str = ''
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Intervention:
    """An operator's takeover (active) or release."""

    stamp_ns: int
    episode: int
    active: bool
    device: str
    action: Float32


class SafetyState(IntEnum):
    """State of the body; anything but OK means that no chunk moves it."""

    OK = 0
    HOLD = 1
    STOPPED = 2
    EMERGENCY = 3


@dataclass(frozen=True, slots=True)
class Safety:
    """Safety state of the body and why."""

    stamp_ns: int
    state: SafetyState
    reason: str


@dataclass(frozen=True, slots=True)
class ActionChunk:
    """K actions of D dimensions from one observation; row i is meant for stamp + i * step_period.

    `actions` has shape (K, D), float32. For `action_space` 'ee_delta_pose' D is 7: three
    translations (1 = 0.05 m), three rotations (axis-angle, 1 = 0.5 rad), both in [-1, 1] per step
    in the base frame, and the gripper (-1 open, +1 close).
    """

    stamp_ns: int
    episode: int
    chunk: int
    source: str
    action_space: str
    step_period: float
    actions: Float32


@dataclass(frozen=True, slots=True)
class ChunkDone:
    """What the body really did with a chunk: `executed` has shape (executed_steps, D)."""

    stamp_ns: int
    episode: int
    chunk: int
    executed_steps: int
    terminated: bool
    truncated: bool
    success: bool
    executed: Float32


@dataclass(frozen=True, slots=True)
class Proprioception:
    """The arm's own state. `ee_pose` is position (m) and quaternion xyzw in the base frame, (7,).

    `gripper` holds the two finger positions in metres, shape (2,), both positive when open.
    """

    stamp_ns: int
    joint_names: tuple[str, ...]
    joint_positions: Float64
    joint_velocities: Float64
    ee_pose: Float64
    gripper: Float64
    wrench: Float64 | None = None


@dataclass(frozen=True, slots=True)
class SimulatorState:
    """Privileged: the whole state of a simulated world, enough to set a twin to it."""

    stamp_ns: int
    episode: int
    chunk: int
    step: int
    task: str
    seed: int
    initial_state: int
    state: Float64


@dataclass(frozen=True, slots=True)
class Observation:
    """What a policy, planner or monitor sees: latest images by role, and the arm's own state.

    `images` maps a role to uint8 RGB (H, W, 3), upright; `image_stamps_ns` has the same keys.
    `predicates` and `simulator` are privileged and None on a real body. `committed`, shape (M, D),
    are the actions that are on their way to the body already, from `stamp_ns` on; it is given to
    policies that continue from there (`PolicySpec.continues`). `progress` is given to a monitor
    that looks at it, and to no other.
    """

    stamp_ns: int
    episode: int
    proprioception: Proprioception | None = None
    images: Mapping[str, UInt8] = field(default_factory=dict)
    image_stamps_ns: Mapping[str, int] = field(default_factory=dict)
    predicates: Predicates | None = None
    simulator: SimulatorState | None = None
    committed: Float32 | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class BodySpec:
    """What a body is: its name, control rate, action space and camera roles."""

    name: str
    control_rate_hz: float
    action_space: str
    action_dimension: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a reset gives: the task as sentence, its horizon (low-level steps), truth, objects.

    `predicate_names` are the goal conjuncts that were false at reset, grasps, and openings of what
    is closed and in the way, in fixed order.
    """

    task: str
    instruction: str
    horizon_steps: int
    predicate_names: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Truth after one low-level step, in the order of `TaskInfo.predicate_names`."""

    values: tuple[bool, ...]
    success: bool


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A success rate that was measured of a policy: `successes` of `episodes`, and what of."""

    label: str
    successes: int
    episodes: int


@dataclass(frozen=True, slots=True)
class PolicySpec:
    """What a policy needs and gives; `max_age_s` maps a role or 'proprioception' to a limit.

    The rows of a policy that `continues` follow `Observation.committed`; those of any other begin
    at the observation, whatever the body does until they arrive. `control_rate_hz` is the rate of
    its rows, that of the body it was made for. `measured` and `trained_by` are what the card of
    its checkpoint says, for reports.
    """

    name: str
    action_space: str
    action_dimension: int
    chunk_length: int
    roles: tuple[str, ...]
    max_age_s: Mapping[str, float]
    privileged: bool = False
    continues: bool = False
    control_rate_hz: float = 20.0
    measured: tuple[MeasuredRate, ...] = ()
    trained_by: str = ''


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """Why a plan is asked for again: the plan, the index that failed, and the reason."""

    plan: Plan
    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A question to a planner. `rejected` holds earlier answers with the exact error of each."""

    instruction: str
    vocabulary: tuple[str, ...] | None
    observation: Observation | None
    failed: FailedAttempt | None = None
    rejected: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RewardRule:
    """What StructRL pays for a task (Eq. 3 and 4); `rewards.structured` checks and applies it.

    `stages` are names in order: every name of an earlier stage is a prerequisite of a later one.
    `durations` maps a name to T_d in chunks. `beta` bounds one payment, `lambda_c` is paid once
    at success. `pacing` is 'demo' (T_d), 'fixed' (half of beta) or 'uniform' (T_d is
    `horizon_chunks` over the number of names). `cap` bounds the sum of intermediate payments.
    """

    stages: tuple[tuple[str, ...], ...]
    durations: Mapping[str, float] = field(default_factory=dict)
    beta: float = 0.6
    lambda_c: float = 2.0
    gating: bool = True
    pacing: str = 'demo'
    horizon_chunks: float | None = None
    cap: float | None = None


@dataclass(frozen=True, slots=True)
class ChunkReward:
    """What one chunk earned: `events` are (name, paid) in the order of payment.

    `value` is the sum of the payments in that order, then of `terminal` (lambda_c or 0).
    """

    value: float
    events: tuple[tuple[str, float], ...]
    terminal: float

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """Terms of the ledger: the events, then 'success' if it was paid."""
        return (*self.events, (SUCCESS_TERM, self.terminal)) if self.terminal else self.events


@dataclass(frozen=True, slots=True)
class Judgement:
    """A monitor's answer before it gets a place in the plan."""

    done: bool
    confidence: float


class ArmMode(IntEnum):
    """What an arm is doing, with the numbers of the Franka Control Interface."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    RECOVERY = 6


@dataclass(frozen=True, slots=True)
class ArmState:
    """State of an arm of J joints, as its driver read it.

    `time_ns` is the arm's own clock. `position` and `velocity` are measured, `reference` is the
    commanded position, each (J,). `is_still`: nothing is commanded to move. `opening` is the
    distance between the fingers in metres. `wrench` is the external one at `ee` in the base
    frame, (6,), None where it is not known. `errors` are the arm's own names of what is wrong.
    """

    time_ns: int
    mode: ArmMode
    position: Float64
    velocity: Float64
    reference: Float64
    is_still: bool
    opening: float
    wrench: Float64 | None = None
    errors: tuple[str, ...] = ()


JsonObject = dict[str, Any]
