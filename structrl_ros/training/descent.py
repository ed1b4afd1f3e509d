"""One gradient step."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch import nn

from structrl_ros.errors import TrainingError


def descend(
    optimiser: torch.optim.Optimizer,
    parameters: Sequence[Tensor],
    loss: Tensor,
    *,
    clip: float,
    what: str,
) -> None:
    """Step down the gradient of a loss, its norm clipped; `what` is learning, for the error.

    Raises:
        TrainingError: If the gradient is not finite; nothing moved then.
    """
    optimiser.zero_grad()
    loss.backward()
    step_down(optimiser, parameters, clip=clip, what=what)


def step_down(
    optimiser: torch.optim.Optimizer, parameters: Sequence[Tensor], *, clip: float, what: str
) -> None:
    """Step down the gradients that the parameters have, their norm clipped.

    Raises:
        TrainingError: If a gradient is not finite; nothing moved then.
    """
    norm = nn.utils.clip_grad_norm_(parameters, clip)
    if not bool(torch.isfinite(norm)):
        raise TrainingError(f'a gradient of the {what} is not finite')
    optimiser.step()
