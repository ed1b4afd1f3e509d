"""Normalisation of state vectors, with its statistics as buffers inside the checkpoint."""

from __future__ import annotations

import torch

from structrl_ros.errors import PolicyError

#: An entry whose deviation is below this did not vary: it is shifted, not divided.
SMALLEST_DEVIATION = 1e-6

#: Normalised entries stay within this many deviations.
LARGEST = 10.0


class FeatureNormaliser(torch.nn.Module):
    """(features - mean) / deviation, clipped to [-10, 10]; the identity until `fit`.

    Attributes:
        mean: Shape (F,), float32.
        deviation: Shape (F,), float32, 1 where the data did not vary.
    """

    mean: torch.Tensor
    deviation: torch.Tensor

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.register_buffer('mean', torch.zeros(dimension))
        self.register_buffer('deviation', torch.ones(dimension))

    @torch.no_grad()
    def fit(self, features: torch.Tensor) -> None:
        """Take mean and deviation (population) over the rows of features, shape (N, F).

        Raises:
            PolicyError: If the shape is wrong, there is no row, or a number is not finite.
        """
        rows = torch.as_tensor(features).to(self.mean.device, torch.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.mean) or len(rows) == 0:
            raise PolicyError(
                f'features have shape {tuple(rows.shape)}; allowed: (N, {len(self.mean)}), N >= 1'
            )
        if not bool(torch.isfinite(rows).all()):
            raise PolicyError('features hold NaN or infinity; allowed: finite numbers')
        deviation = rows.std(dim=0, correction=0)
        deviation[deviation < SMALLEST_DEVIATION] = 1.0
        self.mean.copy_(rows.mean(dim=0))
        self.deviation.copy_(deviation)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return normalised features of the same shape (B, F)."""
        return ((features - self.mean) / self.deviation).clamp(-LARGEST, LARGEST)
