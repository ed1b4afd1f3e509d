"""Gaussian noise over the rows of a chunk: white, or correlated between neighbouring rows."""

from __future__ import annotations

import math

import torch

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class RowNoise(torch.nn.Module):
    """Noise sigma C z over L rows, z standard normal, (C C^T)_ij = correlation^|i - j|.

    Density: z = C^-1 residual / sigma, and with C lower triangular z_i is row i given the rows
    before it. The log-density of an element is log N(z_i) - log(sigma C_ii); the sum over the
    first rows of a chunk is therefore that of a chunk cut there.
    """

    factor: torch.Tensor
    whitener: torch.Tensor

    def __init__(self, correlation: float, chunk_length: int) -> None:
        """Prepare chunks of `chunk_length` rows; `correlation` is in [0, 1)."""
        super().__init__()
        self.white = correlation == 0.0
        rows = torch.arange(chunk_length, dtype=torch.float64)
        factor = torch.linalg.cholesky(correlation ** (rows[:, None] - rows).abs())
        self.register_buffer('factor', factor.float(), persistent=False)
        self.register_buffer('whitener', torch.linalg.inv(factor).float(), persistent=False)

    def colour(self, white: torch.Tensor) -> torch.Tensor:
        """Return C z of z, shape (B, L, A)."""
        return white if self.white else self.factor @ white

    def covary(self, values: torch.Tensor) -> torch.Tensor:
        """Return C C^T times values, shape (B, L, A)."""
        return values if self.white else self.factor @ (self.factor.T @ values)

    def log_density(self, residual: torch.Tensor, sigma: torch.Tensor | float) -> torch.Tensor:
        """Return the log-density by element of residuals, shape (B, L, A).

        Args:
            residual: Value minus mean.
            sigma: Standard deviation, a number or of shape (A,).
        """
        scaled = residual / sigma
        logarithm = sigma.log() if isinstance(sigma, torch.Tensor) else math.log(sigma)
        if self.white:
            return scaled.square().mul(-0.5) - (logarithm + _HALF_LOG_TWO_PI)
        rows = self.factor.diagonal().log()[:, None]
        return (self.whitener @ scaled).square().mul(-0.5) - (rows + logarithm + _HALF_LOG_TWO_PI)
