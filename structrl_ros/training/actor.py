"""The policy's side of PPO and GRPO: epochs of the surrogate, with a stop and a way back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.descent import descend
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.minibatches import minibatches
from structrl_ros.training.samples import ChunkSamples
from structrl_ros.training.samples import device_of
from structrl_ros.training.settings import PracticeSettings
from structrl_ros.training.surrogate import clipped_surrogate
from structrl_ros.training.trainer_state import TrainerState

#: A further loss of a minibatch: (log-probabilities (B, L, A), row numbers (B,)) to a scalar.
ExtraLoss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class ActorReport:
    """What the epochs of an iteration did.

    Attributes:
        kl: KL to the policy that acted, nats a chunk: mean over the last epoch, or that of the
            minibatch that was too far.
        clip_fraction: Share of ratios that were clipped, of the same minibatches.
        is_rolled_back: Whether a minibatch went past `kl_stop` and all steps were undone.
    """

    kl: float
    clip_fraction: float
    is_rolled_back: bool

    def metrics(self) -> Metrics:
        """Return the numbers for the log."""
        return {
            'actor/skipped': 0.0,
            'actor/kl': self.kl if math.isfinite(self.kl) else None,
            'actor/clip_fraction': self.clip_fraction,
            'actor/rolled_back': float(self.is_rolled_back),
        }


#: The numbers of an iteration in which the policy did not move.
AT_REST: Metrics = {
    'actor/skipped': 1.0,
    'actor/kl': None,
    'actor/clip_fraction': None,
    'actor/rolled_back': 0.0,
}


class Actor:
    """A policy with its optimiser."""

    def __init__(self, policy: ChunkPolicy, settings: PracticeSettings) -> None:
        self.policy = policy
        self._settings = settings
        self._device = device_of(policy)
        self._parameters = [p for p in policy.parameters() if p.requires_grad]
        self._optimiser = torch.optim.Adam(self._parameters, lr=settings.learning_rate, fused=True)
        steps = settings.rate_warmup
        self._warmup = torch.optim.lr_scheduler.LinearLR(
            self._optimiser, start_factor=1.0 / (steps + 1), total_iters=steps
        )

    def improve(
        self,
        samples: ChunkSamples,
        weights: Tensor,
        random: np.random.Generator,
        extra_loss: ExtraLoss | None = None,
    ) -> ActorReport:
        """Descend the clipped surrogate for the epochs of the settings.

        Where a minibatch shows a KL above `kl_stop`, the parameters go back to what they were
        before: single spikes of 30 and more occur, and no later step mends them. The moments of
        the optimiser stay, so that the next steps are smaller.

        Args:
            samples: Chunks that were executed, N of them.
            weights: Advantage of each chunk, shape (N,).
            random: For the order of the chunks.
            extra_loss: Added to the surrogate of every minibatch.

        Raises:
            TrainingError: If a gradient is not finite.
            PolicyError: If the policy gives a number that is not finite.
        """
        before = [p.detach().clone() for p in self._parameters]
        seen: list[tuple[float, float]] = []
        for _ in range(self._settings.epochs):
            seen = []
            for rows in minibatches(len(samples), self._settings.minibatch, random):
                inputs, chain, old = samples.minibatch(rows, self._device)
                log_prob = self.policy.log_prob(inputs, chain)
                surrogate = clipped_surrogate(
                    log_prob,
                    old,
                    weights[rows].to(self._device),
                    clip=self._settings.clip,
                    ratio=self._settings.ratio,
                )
                seen.append((float(surrogate.kl), float(surrogate.clip_fraction)))
                if not seen[-1][0] <= self._settings.kl_stop:
                    self._go_back(before)
                    return ActorReport(*seen[-1], is_rolled_back=True)
                extra = extra_loss(log_prob, rows) if extra_loss is not None else 0.0
                self._descend(surrogate.loss + extra)
        kl, clip_fraction = (float(mean) for mean in np.mean(seen, axis=0))
        return ActorReport(kl, clip_fraction, is_rolled_back=False)

    def put_state(self, state: TrainerState) -> None:
        """Keep the optimiser, the policy apart."""
        state.put_optimiser('policy_optimiser', self._optimiser)
        state.numbers['policy_warmup'] = self._warmup.state_dict()

    def get_state(self, state: TrainerState) -> None:
        """Go back to a state.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        state.get_optimiser('policy_optimiser', self._optimiser)
        self._warmup.load_state_dict(state.numbers['policy_warmup'])

    def _descend(self, loss: Tensor) -> None:
        clip = self._settings.gradient_clip
        descend(self._optimiser, self._parameters, loss, clip=clip, what='policy')
        self._warmup.step()

    @torch.no_grad()
    def _go_back(self, parameters: list[Tensor]) -> None:
        for parameter, old in zip(self._parameters, parameters, strict=True):
            parameter.copy_(old)
