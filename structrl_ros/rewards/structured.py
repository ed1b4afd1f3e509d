"""The structured reward of StructRL, one chunk at a time (Eq. 3 and 4, Algorithm 1).

The tracker and `structrl score` call `StructuredReward.step`; trainers call the twin for B
environments in `structured_batch.py`, which gives the same numbers to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.types import ChunkReward
from structrl_ros.types import RewardRule

#: Ways to set the size of an intermediate payment.
PACINGS = ('demo', 'fixed', 'uniform')


def is_grasp(name: str) -> bool:
    """Tell whether a predicate latches: its name starts with 'grasp' (StructRL Appendix B.2).

    An object that was held once counts as grasped for the rest of the episode.
    """
    return name.lower().startswith('grasp')


def check_rule(rule: RewardRule) -> None:
    """Check every field of a rule.

    Args:
        rule: The rule to check.

    Raises:
        ParameterError: Naming the field, what was got and what is allowed.
    """
    names = [name for stage in rule.stages for name in stage]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f'stages: {name!r} is listed twice; each subtask may occur once')
    if rule.pacing not in PACINGS:
        raise ParameterError(f'pacing: unknown {rule.pacing!r}; allowed: {", ".join(PACINGS)}')
    for field, value in (('beta', rule.beta), ('lambda_c', rule.lambda_c)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ParameterError(f'{field}: must be finite and >= 0, got {value}')
    if rule.cap is not None and not (math.isfinite(rule.cap) and rule.cap >= 0.0):
        raise ParameterError(f'cap: must be finite and >= 0, or none, got {rule.cap}')
    for name, value in rule.durations.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ParameterError(f'durations.{name}: must be finite and > 0 chunks, got {value}')
    horizon = rule.horizon_chunks
    if horizon is not None and not (math.isfinite(horizon) and horizon > 0.0):
        raise ParameterError(f'horizon_chunks: must be finite and > 0, got {horizon}')
    if rule.pacing == 'uniform' and horizon is None:
        raise ParameterError("horizon_chunks: pacing 'uniform' needs it, got none")
    if rule.pacing == 'demo':
        missing = [name for name in names if name not in rule.durations]
        if missing:
            raise ParameterError(f"durations.{missing[0]}: pacing 'demo' needs it, got none")


def reference_durations(rule: RewardRule) -> tuple[float, ...]:
    """Return T_d of every subtask in stage order, in chunks (1.0 where pacing is 'fixed').

    StructRL Section 3.2.2 ('demo') and Appendix C.4 ('uniform', H/N).
    """
    names = [name for stage in rule.stages for name in stage]
    if rule.pacing == 'demo':
        return tuple(float(rule.durations[name]) for name in names)
    if rule.pacing == 'uniform':
        assert rule.horizon_chunks is not None
        return tuple(rule.horizon_chunks / len(names) for _ in names)
    return tuple(1.0 for _ in names)


class StructuredReward:
    """Gate, pace and cap of one task in one episode.

    Implements StructRL Eq. 3 (each subtask pays at most once, after all of its prerequisites),
    Eq. 4 (beta / (1 + T / T_d)) and the terminal reward. Chunks count from 1. In each chunk the
    subtasks are visited in stage order, then list order; T is the number of chunks since the
    previous completion, 0 for a second one in the same chunk. Nothing is paid after success.

    Differs from the paper: a predicate that becomes true before its prerequisites and is still
    true when they complete, completes then; an optional cap bounds the intermediate sum.
    """

    def __init__(self, rule: RewardRule, at_reset: Iterable[str] = ()) -> None:
        """Start an episode.

        Args:
            rule: What is paid, see `types.RewardRule`.
            at_reset: Names true at reset: completed, unpaid, and good as prerequisites.

        Raises:
            ParameterError: If a field of the rule is wrong.
        """
        check_rule(rule)
        self._rule = rule
        self._durations = reference_durations(rule)
        self._names = tuple(name for stage in rule.stages for name in stage)
        self._needed: tuple[int, ...] = _prerequisite_counts(rule.stages)
        self._completed = set(at_reset) & set(self._names)
        self._latches = frozenset(name for name in self._names if is_grasp(name))
        self._held = self._completed & self._latches
        self._chunk = 0
        self._last = 0
        self._paid = 0.0
        self._over = False

    @property
    def completed(self) -> frozenset[str]:
        """Names that are done, those true at reset included."""
        return frozenset(self._completed)

    @property
    def chunk(self) -> int:
        """Number of chunks seen since the start of the episode."""
        return self._chunk

    def step(self, truth: Collection[str], success: bool) -> ChunkReward:
        """Return what the next chunk earns.

        Args:
            truth: Names true at any low-level step of the chunk; names not in the rule are
                ignored.
            success: Whether the whole task had succeeded by the end of the chunk.
        """
        self._chunk += 1
        if self._over:
            return ChunkReward(0.0, (), 0.0)
        self._held.update(name for name in self._latches if name in truth)
        events: list[tuple[str, float]] = []
        value = 0.0
        for index, name in enumerate(self._names):
            if name in self._completed or not (name in truth or name in self._held):
                continue
            if self._rule.gating and not self._is_open(index):
                continue
            paid = self._pay(index)
            self._completed.add(name)
            events.append((name, paid))
            value += paid
        terminal = self._rule.lambda_c if success else 0.0
        self._over = success
        return ChunkReward(value + terminal, tuple(events), terminal)

    def _is_open(self, index: int) -> bool:
        return all(name in self._completed for name in self._names[: self._needed[index]])

    def _pay(self, index: int) -> float:
        rule = self._rule
        if rule.pacing == 'fixed':
            paid = rule.beta / 2.0
        else:
            elapsed = self._chunk - self._last
            paid = rule.beta / (1.0 + elapsed / self._durations[index])
        self._last = self._chunk
        if rule.cap is not None:
            paid = min(paid, max(rule.cap - self._paid, 0.0))
        self._paid += paid
        return paid


def score_episode(
    rule: RewardRule,
    truth: Sequence[Collection[str]],
    success: Sequence[bool],
    at_reset: Iterable[str] = (),
) -> list[ChunkReward]:
    """Return the rewards of a whole recorded episode, chunk by chunk.

    Args:
        rule: What is paid.
        truth: For each chunk, the names true at any low-level step of it; length M.
        success: For each chunk, whether the task had succeeded; length M.
        at_reset: Names true at reset.

    Raises:
        ParameterError: If a field of the rule is wrong or the lengths differ.
    """
    if len(truth) != len(success):
        raise ParameterError(
            f'success: must have one entry a chunk like truth ({len(truth)}), got {len(success)}'
        )
    reward = StructuredReward(rule, at_reset)
    return [reward.step(names, won) for names, won in zip(truth, success, strict=True)]


def _prerequisite_counts(stages: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return, for every subtask, how many names stand in earlier stages: X(v) is that prefix."""
    counts: list[int] = []
    for stage in stages:
        before = len(counts)
        counts.extend(before for _ in stage)
    return tuple(counts)
