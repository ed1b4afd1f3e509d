"""Any reward plus potential-based shaping (Robo-Dopamine 2.0, Eq. 18)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.shaping import shape_rewards
from structrl_ros.training.reward_source import PaidRollouts
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float64

#: Name of the shaping term among the payments.
SHAPING_TERM = 'shaping'

#: Phi_0 = 0, ..., Phi_M at the ends of the chunks, shape (E, M + 1).
PotentialFunction = Callable[[Rollouts], Float64]


class ShapedRewards:
    """`RewardSource` that adds gamma Phi(s') - Phi(s) to what another one pays.

    Phi(s') is 0 where an episode terminated; one that is truncated keeps its potential, since its
    return is bootstrapped. Episodes are whole and begin at Phi_0 = 0, so none leaks into the next.

    Attributes:
        source: What is shaped.
        roles: Cameras that it or the potential looks at.
    """

    def __init__(
        self,
        source: RewardSource,
        potential: PotentialFunction,
        *,
        gamma: float,
        roles: tuple[str, ...] = (),
    ) -> None:
        """Take what is shaped.

        Args:
            source: Pays the task.
            potential: Of each observation.
            gamma: Discount a chunk of whoever learns from the rewards, in (0, 1].
            roles: Cameras that the potential looks at.

        Raises:
            ParameterError: If gamma is out of range.
        """
        if not 0.0 < gamma <= 1.0:
            raise ParameterError(f'gamma: must be in (0, 1], got {gamma}')
        self.source, self._potential, self._gamma = source, potential, gamma
        self.roles = tuple(dict.fromkeys((*source.roles, *roles)))

    def __call__(self, rollouts: Rollouts) -> PaidRollouts:
        """Return what each chunk earned; the shaping is one more payment.

        Raises:
            ParameterError: If a potential is not finite.
        """
        paid, phi = self.source(rollouts), self._potential(rollouts)
        rewards = paid.rewards.copy()
        extra = np.zeros((*paid.payments.shape[:2], 1))
        payments = np.concatenate([paid.payments, extra], axis=2)
        for episode, chunks in enumerate(rollouts.lengths.tolist()):
            own = slice(0, chunks)
            rewards[episode, own] = shape_rewards(
                paid.rewards[episode, own],
                phi[episode, : chunks + 1],
                gamma=self._gamma,
                terminal=bool(rollouts.terminated[episode]),
            )
            term = rewards[episode, own] - paid.rewards[episode, own]
            payments[episode, own, len(paid.names[episode])] = term
        names = tuple((*own, SHAPING_TERM) for own in paid.names)
        return PaidRollouts(rewards, payments, names, paid.terminal)

    def checkpoints(self, task: str) -> tuple[str, ...]:
        """Return what the shaped source asks for."""
        return self.source.checkpoints(task)
