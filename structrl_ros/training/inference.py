"""A policy asked in batches of one fixed size, so that the company in a batch changes no bit.

A matrix product of another size may sum in another order. So a network here always sees G rows:
episode e of an iteration stands in row e mod G, and the other rows are padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.types import Float32
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool

#: G, rows of a batch, where nothing else is asked for.
BATCH = 32


@dataclass(frozen=True, slots=True)
class Seen:
    """What n lanes see: features (n, F), pictures by role (n, H, W, 3), sentences (n)."""

    features: Float32
    images: Mapping[str, UInt8]
    instructions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a policy drew for n lanes, zero in rows that were not asked for.

    Attributes:
        actions: In the body's action space, shape (n, L, D).
        chain: The denoising chain, shape (n, S + 1, L, A).
        log_prob: By element, shape (n, L, A).
    """

    actions: Float32
    chain: Float32
    log_prob: Float32


def draw_noise(
    shape: tuple[int, ...], chunks: int, *, seed: int, iteration: int, episodes: range
) -> Float32:
    """Return the standard normal numbers of whole episodes, shape (episodes, chunks, *shape).

    They are a function of seed, iteration and number of the episode alone, and a longer episode
    begins with those of a shorter one.
    """
    noise = np.empty((len(episodes), chunks, *shape), dtype=np.float32)
    for row, episode in zip(noise, episodes, strict=True):
        key = np.random.SeedSequence((seed, iteration, episode))
        np.random.Generator(np.random.Philox(key)).standard_normal(out=row, dtype=np.float32)
    return noise


class FixedBatch:
    """A policy behind batches of G rows; use within `torch.inference_mode()` or not."""

    def __init__(self, policy: ChunkPolicy, size: int = BATCH) -> None:
        """Take the policy; `size` is G, 1 or more.

        Raises:
            ParameterError: If the size is not positive.
        """
        if size < 1:
            raise ParameterError(f'inference batch of {size} rows; allowed: 1 and more')
        self._policy = policy
        self._size = size
        tensors = [*policy.parameters(), *policy.buffers()]
        self._device = tensors[0].device if tensors else torch.device('cpu')

    def draw(self, seen: Seen, noise: Float32, asked: Bool, *, first: int, explore: bool) -> Drawn:
        """Draw a chunk for every lane that is asked for.

        Args:
            seen: What the n lanes see.
            noise: Standard normal, shape (n, draws, L, A).
            asked: Lanes that need a chunk, shape (n,).
            first: Number of the episode in lane 0; lane i plays episode first + i.
            explore: Whether to add the exploration noise.

        Raises:
            PolicyError: If the policy got or gave NaN; the line names policy, lane and episode.
        """
        size, skipped = self._size, first % self._size
        drawn = None
        for batch in range(-(-(skipped + len(asked)) // size)):
            low, high = batch * size - skipped, (batch + 1) * size - skipped
            lanes = slice(max(0, low), min(len(asked), high))
            if not asked[lanes].any():
                continue
            rows = slice(lanes.start - low, lanes.stop - low)
            parts = self._ask(seen, noise, asked, lanes, rows, first, explore)
            drawn = drawn or _empty(len(asked), parts)
            kept = asked[lanes]
            for whole, part in zip(
                (drawn.actions, drawn.chain, drawn.log_prob), parts, strict=True
            ):
                whole[lanes][kept] = part[kept]
        if drawn is None:
            raise PolicyError('a chunk was asked for in no lane; allowed: one or more')
        return drawn

    def _ask(
        self,
        seen: Seen,
        noise: Float32,
        asked: Bool,
        lanes: slice,
        rows: slice,
        first: int,
        explore: bool,
    ) -> tuple[Float32, Float32, Float32]:
        """Return actions, chain and log-probabilities of one batch's lanes."""
        policy, lane = self._policy, lanes.start
        kept = asked[lanes]
        inputs = PolicyInput(
            self._padded(seen.features[lanes], rows, kept),
            {role: self._padded(image[lanes], rows, kept) for role, image in seen.images.items()},
            self._sentences(seen.instructions[lanes], rows),
        )
        try:
            sample = policy.sample(inputs, self._padded(noise[lanes], rows, kept), explore=explore)
            own, chain, log_prob = (
                tensor[rows].detach().cpu().numpy()
                for tensor in (sample.actions, sample.chain, sample.log_prob)
            )
            return policy.to_body(own), chain, log_prob
        except PolicyError as error:
            if error.row is None:
                raise
            lane = min(max(lane, lane + error.row - rows.start), lanes.stop - 1)
            raise PolicyError(
                f'lane {lane}, episode {first + lane}: {error}; nothing was sent', row=lane
            ) from None

    def _padded(self, values: Any, rows: slice, kept: Bool) -> torch.Tensor:
        """Return G rows with the values of lanes that are asked for in their rows, else zero."""
        padded = np.zeros((self._size, *values.shape[1:]), dtype=values.dtype)
        padded[rows][kept] = values[kept]
        return torch.from_numpy(padded).to(self._device)

    def _sentences(self, instructions: Sequence[str], rows: slice) -> tuple[str, ...]:
        after = self._size - rows.stop
        return ('',) * rows.start + tuple(instructions) + ('',) * after


def _empty(lanes: int, parts: tuple[Float32, Float32, Float32]) -> Drawn:
    return Drawn(*(np.zeros((lanes, *part.shape[1:]), dtype=np.float32) for part in parts))
