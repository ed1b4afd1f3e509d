"""A stand-in for a learned progress model: the true progress plus noise.

Robometer itself is a vision-language model of 4 billion parameters (StructRL Appendix F). For
worlds without pictures, what it would predict is replaced by the share of the task's subtasks that
are completed, in their order, with Gaussian noise. It says how a dense, noisy, order-aware
progress reward learns; nothing about Robometer's own errors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.training.reward_configurations import find_reward
from structrl_ros.training.reward_source import StructuredRewards
from structrl_ros.training.reward_source import success_chunks
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float64


class TrueProgress:
    """Progress p_k in [0, 1] after each chunk: completed subtasks over all, 1 at success.

    The noise of an episode is a function of the seed and of what was done in it, so that it
    depends neither on the order of the episodes nor on the number of workers.
    """

    def __init__(
        self, decompositions: Mapping[str, Decomposition], *, noise: float, seed: int = 0
    ) -> None:
        """Take the decomposition of each task, by `TaskInfo.task`.

        Args:
            decompositions: What counts as progress.
            noise: Standard deviation, 0 or more; the sum is clipped to [0, 1], the range of the
                model's expectation over its bins.
            seed: Of the noise.

        Raises:
            ParameterError: If the noise is negative or not finite.
        """
        if not 0.0 <= noise < np.inf:
            raise ParameterError(f'noise: must be 0 or more, got {noise}')
        self._counter = StructuredRewards(decompositions, find_reward('fixed_gated'))
        self._noise = noise
        self._seed = seed

    def __call__(self, rollouts: Rollouts) -> Float64:
        """Return the progress, shape (E, M); zero where no chunk was played."""
        paid = self._counter(rollouts)
        done = np.cumsum((paid.payments > 0.0).sum(axis=2), axis=1)
        totals = np.array([max(len(names), 1) for names in paid.names])
        progress = np.asarray(done / totals[:, None], dtype=np.float64)
        progress[success_chunks(rollouts)] = 1.0
        if self._noise > 0.0:
            progress = progress + self._noise * self._draw(rollouts)
        return np.where(rollouts.valid, np.clip(progress, 0.0, 1.0), 0.0)

    def _draw(self, rollouts: Rollouts) -> Float64:
        noise = np.zeros(rollouts.valid.shape)
        for episode, start in enumerate(rollouts.starts):
            chunks = int(rollouts.lengths[episode])
            words = f'{self._seed} {start.task} {start.seed} {start.initial_state}'.encode()
            done = np.ascontiguousarray(rollouts.executed[episode, :chunks]).tobytes()
            digest = hashlib.blake2b(done, digest_size=8, key=words[:64]).digest()
            random = np.random.default_rng(int.from_bytes(digest, 'little'))
            noise[episode, :chunks] = random.standard_normal(chunks)
        return noise
