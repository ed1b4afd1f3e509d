"""All ports: what the core asks of the world; implementations raise `structrl_ros.errors`."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol
from typing import runtime_checkable

from structrl_ros.camera_types import CameraFrame
from structrl_ros.types import ActionChunk
from structrl_ros.types import ArmState
from structrl_ros.types import BodySpec
from structrl_ros.types import ChunkReward
from structrl_ros.types import Episode
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import PolicySpec
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import Subtask
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import ChunkBatch
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec


@runtime_checkable
class Clock(Protocol):
    """Source of time; nodes pass their ROS clock, tests a hand-driven one."""

    def now_ns(self) -> int:
        """Return the time of the body in nanoseconds."""


@runtime_checkable
class Planner(Protocol):
    """REVER's planner: a sentence (and an image) to the text of a plan, for `plan.parse`."""

    name: str

    def propose(self, request: PlanRequest) -> str:
        """Return the text of a plan, blocking.

        Raises:
            PlannerUnavailableError: If the backend cannot be reached or answers with an error.
            PlanSyntaxError: If the instruction cannot be turned into a plan (names nothing known).
        """


@runtime_checkable
class Monitor(Protocol):
    """REVER's Verify(s, o_start, o_now): has the subtask been done?"""

    name: str

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return the judgement, blocking.

        Raises:
            PlannerUnavailableError: If the backend cannot be reached or answers with an error.
            StaleDataError: If `now` lacks what the monitor looks at, this time.
            ParameterError: If the monitor can never judge this subtask.
        """


@runtime_checkable
class Policy(Protocol):
    """A controller that gives chunks of actions."""

    spec: PolicySpec

    def reset(self, episode: Episode) -> None:
        """Forget everything of the episode before; may load what the new one needs."""

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions, shape (chunk_length, action_dimension); when row 0 is, see `spec`."""

    def close(self) -> None:
        """Free devices and memory; a second call does nothing."""


@runtime_checkable
class PictureSource(Protocol):
    """Camera roles that are rendered on demand."""

    def render(self, role: str) -> UInt8:
        """Return the upright RGB image (H, W, 3) of a camera role; slow, call on demand."""

    def vertical_fov(self, role: str) -> float | None:
        """Return a role's vertical field of view (rad); None of a drawing, which has no lens."""


@runtime_checkable
class Body(PictureSource, Protocol):
    """A simulated world that is stepped one low-level action at a time."""

    spec: BodySpec

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene; the same arguments give the same scene, always.

        Raises:
            SimulationError: If the task is unknown or the initial state does not exist.
        """

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action of shape (action_dimension,) for one control period."""

    def hold_action(self) -> Float32:
        """Return the action that keeps the arm and the gripper as they are."""

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state, stamped by the caller's clock."""

    def simulator_state(self) -> Float64:
        """Return the privileged state vector that `set_simulator_state` takes."""

    def set_simulator_state(self, state: Float64) -> None:
        """Set the world to a state of the same task, seed and initial state."""

    def close(self) -> None:
        """Free the world; a second call does nothing."""


@runtime_checkable
class StateBody(Body, Protocol):
    """A body that also tells its state as one vector, for policies that need no camera."""

    feature_names: tuple[str, ...]

    def features(self) -> Float32:
        """Return the state vector, shape (F,), the same layout for every task of the body.

        The scene and `simulator_state()` alone decide it: a twin that is set to them has its bits.
        """


@runtime_checkable
class VectorWorld(Protocol):
    """B worlds side by side that run whole chunks: a trainer's side of a body."""

    spec: WorldSpec

    @property
    def tasks(self) -> tuple[TaskInfo | None, ...]:
        """What each lane's last reset gave, None before the first; length B."""

    def reset(self, starts: Mapping[int, EpisodeStart]) -> None:
        """Begin episodes in the lanes that are named; the others go on.

        Raises:
            SimulationError: If a task or initial state is unknown, or a world has died.
        """

    def features(self) -> Float32:
        """Return the state vectors, shape (B, F); rows of lanes without a scene are zero."""

    def images(self, role: str) -> UInt8:
        """Return the pictures of a camera role, shape (B, H, W, 3), drawn now."""

    def run_chunk(self, actions: Float32, active: Bool) -> ChunkBatch:
        """Run a chunk in every active lane, until its end or the end of the episode.

        Args:
            actions: In the body's action space, shape (B, L, D).
            active: Lanes whose episode goes on, shape (B,).

        Raises:
            SimulationError: If a shape is wrong, a number is not finite, or a world has died.
        """

    def close(self) -> None:
        """Free all worlds; a second call does nothing."""


@runtime_checkable
class ChunkRewardModel(Protocol):
    """A reward that is asked one chunk at a time; the tracker's side of `rewards.structured`."""

    @property
    def completed(self) -> frozenset[str]:
        """Names that are done, those true at reset included."""

    def step(self, truth: Collection[str], success: bool) -> ChunkReward:
        """Return what the next chunk earns, from the names true at any step of it."""


@runtime_checkable
class ProgressModel(Protocol):
    """The GRM: signed hops for pairs of frames with their history (Robo-Dopamine 2.0)."""

    name: str

    def hops(self, contexts: Sequence[object]) -> Float64:
        """Return one hop in [-1, 1] for each context, shape (B,)."""


@runtime_checkable
class EventModel(Protocol):
    """MART: the last error of a failed rollout that was not made good (Section 3.1)."""

    name: str

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return what went wrong; where that fails (StructRLError), keep all feedback."""


@runtime_checkable
class Camera(Protocol):
    """A real camera behind a role, from the moment it is opened to `close`."""

    name: str

    def read(self, timeout_s: float) -> CameraFrame:
        """Return the newest frame, each at most once; wait for one for `timeout_s`.

        Raises:
            StaleDataError: If none came in that time.
            CameraError: If the camera is gone; it must be opened anew.
        """

    def reset(self) -> None:
        """Restart the device itself, where it can; it must then be opened anew."""

    def close(self) -> None:
        """Free the device; a second call does nothing."""


@runtime_checkable
class Arm(Protocol):
    """A real arm: takes one waypoint a control period and never leaves its limits by itself.

    Positions are of shape (J,), rad. The driver turns waypoints into commands at the rate of the
    arm. Without waypoints the arm comes to rest at the last one.
    """

    name: str
    joint_names: tuple[str, ...]
    is_hardware: bool

    def start(self, on_period: Callable[[], None]) -> None:
        """Take waypoints from now on, standing where the arm is.

        Args:
            on_period: Called once a control period, from any thread, when a waypoint is due.

        Raises:
            ArmError: If the arm does not answer or may not be moved.
        """

    def state(self) -> ArmState | None:
        """Return the newest state; None before the first."""

    @property
    def age_s(self) -> float:
        """Seconds since the newest state came, on a steady clock; infinite before the first."""

    def follow(self, waypoint: Float64) -> None:
        """Be at a position one control period after the last waypoint.

        Raises:
            ArmError: If the arm takes no waypoint now.
        """

    def stop(self) -> None:
        """Stop as fast as the limits allow and forget all waypoints; may be called at any time."""

    def grip(self, closed: bool) -> None:
        """Close or open the gripper; returns at once, a newer wish replaces one that waits."""

    def recover(self) -> None:
        """Clear errors and take waypoints again from where the arm is; one attempt, blocking.

        Raises:
            ArmError: If the arm did not recover, with what to do about it.
        """

    def close(self) -> None:
        """Come to rest and free the arm; a second call does nothing."""


@runtime_checkable
class Teleop(Protocol):
    """A device in an operator's hand."""

    name: str

    def read(self) -> ActionChunk | None:
        """Return the operator's command, or None while the dead-man switch is released."""
