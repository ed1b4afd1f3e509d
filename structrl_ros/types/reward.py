"""What a task pays, what a chunk was paid, and what the reward model says of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

#: Name of the term that pays StructRL's lambda_c.
SUCCESS_TERM = 'success'


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
