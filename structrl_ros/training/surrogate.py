"""The clipped surrogate of PPO and GRPO over chunks (StructRL, Eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Ratio = Literal['dimension', 'chunk']


@dataclass(frozen=True, slots=True)
class Surrogate:
    """`loss` to descend; `kl` in nats a chunk, and `clip_fraction` in [0, 1], without gradient."""

    loss: Tensor
    kl: Tensor
    clip_fraction: Tensor


def clipped_surrogate(
    log_prob: Tensor, old_log_prob: Tensor, weights: Tensor, *, clip: float, ratio: Ratio
) -> Surrogate:
    """Return -mean(min(rho w, clip(rho, 1 - eps, 1 + eps) w)) (StructRL, Eq. 1).

    Differs from the paper by default: rho is a ratio for each action dimension, over the rows of
    the chunk, and the mean runs over dimensions as well. One ratio for the whole chunk (the
    paper's) leaves the clip at a KL of .02 and needs a learning rate five times smaller.

    Args:
        log_prob: Log-probability of the executed chunk, shape (B, L, A), with gradient.
        old_log_prob: The same under the policy that acted, shape (B, L, A).
        weights: Advantage of each chunk, shape (B,).
        clip: Clipping threshold, in (0, 1).
        ratio: 'dimension' or 'chunk'.
    """
    by_dimension = (log_prob - old_log_prob).sum(dim=1)
    log_ratio = by_dimension if ratio == 'dimension' else by_dimension.sum(dim=1, keepdim=True)
    rho = log_ratio.exp()
    weight = weights[:, None]
    gain = torch.minimum(rho * weight, rho.clamp(1.0 - clip, 1.0 + clip) * weight)
    with torch.no_grad():
        clipped = ((rho - 1.0).abs() > clip).float().mean()
        kl = _kl(by_dimension).mean()
    return Surrogate(-gain.mean(), kl, clipped)


def reference_kl(log_prob: Tensor, reference_log_prob: Tensor) -> Tensor:
    """Return KL(policy || reference) in nats a chunk, estimated on the policy's own chunks.

    Args:
        log_prob: Shape (B, L, A), with gradient.
        reference_log_prob: The same under the reference, shape (B, L, A).
    """
    return _kl((reference_log_prob - log_prob).sum(dim=1)).mean()


def _kl(log_ratio: Tensor) -> Tensor:
    """Return the estimate rho - 1 - log rho, never negative, summed over dimensions: (B,)."""
    return (log_ratio.exp() - 1.0 - log_ratio).sum(dim=1)
