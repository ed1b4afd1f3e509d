"""The structured reward for B environments at once; the vectorised twin of `structured.py`.

The arrays inside have the subtask on the first axis, so that one row (B,) is contiguous: the loop
runs over the few subtasks, in the order of visits, and every operation covers all environments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.structured import check_rule
from structrl_ros.rewards.structured import is_grasp
from structrl_ros.rewards.structured import reference_durations
from structrl_ros.types import Float64
from structrl_ros.types import RewardRule

Bool = NDArray[np.bool_]


class BatchStructuredReward:
    """StructRL Eq. 3 and 4 for B environments, each with its own rule and its own clock.

    Rules may differ in length: N is the longest, and the columns past the end of a shorter rule
    never complete. Equal to `StructuredReward` in each environment to the last bit.
    """

    def __init__(self, rules: Sequence[RewardRule]) -> None:
        """Start an episode in every environment.

        Args:
            rules: One rule an environment, length B.

        Raises:
            ParameterError: If there is no rule, or a field of one is wrong.
        """
        if not rules:
            raise ParameterError('rules: at least one environment is needed, got none')
        for rule in {id(rule): rule for rule in rules}.values():
            check_rule(rule)
        self.names = tuple(tuple(n for stage in r.stages for n in stage) for r in rules)
        size = max(len(names) for names in self.names)
        batch = len(rules)
        self._gating = np.array([rule.gating for rule in rules])
        self._fixed = np.array([rule.pacing == 'fixed' for rule in rules])
        self._beta = np.array([rule.beta for rule in rules])
        self._lambda_c = np.array([rule.lambda_c for rule in rules])
        self._cap = np.array([np.inf if r.cap is None else r.cap for r in rules])
        self._durations = np.ones((size, batch))
        self._needed = np.zeros((size, batch), dtype=np.intp)
        self._latches = np.zeros((size, batch), dtype=bool)
        self._real = np.zeros((size, batch), dtype=bool)
        for column, rule in enumerate(rules):
            self._fill(column, rule)
        self._is_capped = bool(np.isfinite(self._cap).any())
        self._any_fixed = bool(self._fixed.any())
        self._any_latch = bool(self._latches.any())
        self._free = ~self._gating
        self._environments = np.arange(batch)
        self._completed = np.zeros((size, batch), dtype=bool)
        self._held = np.zeros((size, batch), dtype=bool)
        self._chunk = np.zeros(batch)
        self._last = np.zeros(batch)
        self._paid = np.zeros(batch)
        self._running = np.ones(batch, dtype=bool)

    @property
    def completed(self) -> Bool:
        """Whether each subtask is done, shape (B, N), a copy."""
        return self._completed.T.copy()

    def reset(self, mask: Bool, at_reset: Bool | None = None) -> None:
        """Start a new episode in some environments; nothing of the old one is kept there.

        Args:
            mask: Environments to reset, shape (B,).
            at_reset: Names true at reset, shape (B, N); rows outside the mask are ignored.
        """
        done = np.zeros_like(self._completed) if at_reset is None else at_reset.T & self._real
        self._completed = np.where(mask, done, self._completed)
        self._held = np.where(mask, done & self._latches, self._held)
        self._chunk[mask] = 0.0
        self._last[mask] = 0.0
        self._paid[mask] = 0.0
        self._running |= mask

    def step(self, truth: Bool, success: Bool) -> tuple[Float64, Float64]:
        """Return what the next chunk earns in every environment.

        Args:
            truth: Names true at any low-level step of the chunk, shape (B, N).
            success: Whether the task had succeeded, shape (B,).

        Returns:
            Rewards, shape (B,), and payments of each subtask, shape (B, N).

        Raises:
            ParameterError: If a shape is wrong.
        """
        self._check_shapes(truth, success)
        self._chunk += 1.0
        true_now = np.ascontiguousarray(truth.T)
        if self._any_latch:
            self._held |= true_now & self._latches & self._running
            true_now |= self._held
        fresh = true_now & self._real & ~self._completed & self._running
        rewards = np.zeros(len(self._chunk))
        paid = np.zeros(fresh.shape)
        if fresh.any():
            self._visit(fresh, rewards, paid)
        rewards += np.where(success & self._running, self._lambda_c, 0.0)
        self._running &= ~success
        return rewards, paid.T

    def _visit(self, fresh: Bool, rewards: Float64, paid: Float64) -> None:
        """Complete what may complete, in the order of visits; adds to `rewards` and `paid`."""
        size = len(fresh)
        prefix = np.ones((size + 1, len(rewards)), dtype=bool)
        has_candidate = np.asarray(fresh.any(axis=1))
        for index in range(size):
            if has_candidate[index]:
                is_open = prefix[self._needed[index], self._environments] | self._free
                now = fresh[index] & is_open
                if now.any():
                    paid[index] = self._pay(index, now)
                    rewards += paid[index]
                    self._completed[index] |= now
            np.logical_and(prefix[index], self._completed[index], out=prefix[index + 1])

    def _pay(self, index: int, now: Bool) -> Float64:
        elapsed = self._chunk - self._last
        amount: Float64 = self._beta / (1.0 + elapsed / self._durations[index])
        if self._any_fixed:
            amount = np.where(self._fixed, self._beta / 2.0, amount)
        if self._is_capped:
            amount = np.minimum(amount, np.maximum(self._cap - self._paid, 0.0))
        amount *= now
        self._paid += amount
        np.copyto(self._last, self._chunk, where=now)
        return amount

    def _fill(self, column: int, rule: RewardRule) -> None:
        size = len(self.names[column])
        self._durations[:size, column] = reference_durations(rule)
        self._real[:size, column] = True
        self._latches[:size, column] = [is_grasp(name) for name in self.names[column]]
        before = 0
        for stage in rule.stages:
            self._needed[before : before + len(stage), column] = before
            before += len(stage)

    def _check_shapes(self, truth: Bool, success: Bool) -> None:
        expected = self._completed.T.shape
        if truth.shape != expected:
            raise ParameterError(f'truth: shape must be {expected}, got {truth.shape}')
        if success.shape != expected[:1]:
            raise ParameterError(f'success: shape must be {expected[:1]}, got {success.shape}')


def structured_rewards(
    rules: Sequence[RewardRule],
    truth: Bool,
    success: Bool,
    at_reset: Bool | None = None,
) -> tuple[Float64, Float64]:
    """Return the rewards of B whole episodes that start together.

    Args:
        rules: One rule an environment, length B.
        truth: Names true at any low-level step of each chunk, shape (T, B, N).
        success: Whether the task had succeeded, shape (T, B).
        at_reset: Names true at reset, shape (B, N), or None.

    Returns:
        Rewards, shape (T, B), and payments, shape (T, B, N).

    Raises:
        ParameterError: If a rule or a shape is wrong, or the lengths differ.
    """
    if len(truth) != len(success):
        raise ParameterError(
            f'success: must have one row a chunk like truth ({len(truth)}), got {len(success)}'
        )
    batch = BatchStructuredReward(rules)
    batch.reset(np.ones(len(rules), dtype=bool), at_reset)
    rewards = np.zeros(success.shape)
    paid = np.zeros(truth.shape)
    for step in range(len(truth)):
        rewards[step], paid[step] = batch.step(truth[step], success[step])
    return rewards, paid
