"""Exponential moving average of a policy's weights."""

from __future__ import annotations

import torch

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.policy_copy import frozen_copy


class AveragedPolicy:
    """A copy of a policy whose weights follow those of the policy slowly.

    The decay of update n is min(decay, (1 + n) / (10 + n)), so that the first weights, which
    know nothing, are soon forgotten.
    """

    def __init__(self, policy: ChunkPolicy, decay: float) -> None:
        self.policy = frozen_copy(policy)
        self._decay = decay
        pairs = zip(self.policy.parameters(), policy.parameters(), strict=True)
        followed = [(mean, now) for mean, now in pairs if mean is not now]
        self._means = [mean for mean, _ in followed]
        self._now = [now for _, now in followed]

    @torch.no_grad()
    def update(self, number: int) -> None:
        """Take the weights after update `number`, from 0, into the average."""
        decay = min(self._decay, (1.0 + number) / (10.0 + number))
        torch._foreach_lerp_(self._means, self._now, 1.0 - decay)
