"""Actions: chunks on their way to a body, what it did with them, and who made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from structrl_ros.types.arrays import Float32

#: Who may be the source of a chunk.
SOURCES = ('policy', 'teleop', 'expert', 'replay')


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
class Intervention:
    """An operator's takeover (active) or release."""

    stamp_ns: int
    episode: int
    active: bool
    device: str
    action: Float32


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
