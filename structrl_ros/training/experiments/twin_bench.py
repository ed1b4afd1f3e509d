"""The numbers of the experiments on the kinematic twin: worlds, starts, budgets, seeds.

The offsets were searched for on seeds from 1000 on, which no table holds; docs/learning.md says
what was tried. Success is that of the start with the noise of training (`start SDE` in the
tables), in 512 episodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import Evaluation
from structrl_ros.training.experiments.plan import StartRecipe

TASK = 'pack_lunch'


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinBench:
    """One scale of the experiments.

    Attributes:
        claim_seeds: Of arms that a claim rests on.
        report_seeds: Of arms that are reported.
        practice: Settings of both trainers, `iterations` apart.
        ppo: Settings of PPO alone.
        start: Settings of the imitation.
        hidden: Width of the policy.
        sigma: Exploration noise in practice.
        horizon_steps: Of an episode.
        evaluation_episodes: At the end of each run, without noise.
        start_episodes: For the rate of a start.
        hard: Offset at which success is never sampled at the start, and iterations.
        sampled: Offset at which it is, and iterations.
        grpo: Those of the comparison of optimisers.
        reward: Offset and iterations of the comparisons of rewards that are only reported.
        gating: Offset and iterations of the start with shortcuts.
        beta_r: Scale of the progress reward; None matches it on rollouts of the start.
        loss: Chance that a thing that is knocked is lost, in `sampled` and `grpo`.
        shortcut: Share of demonstrations with the shortcut.
    """

    claim_seeds: int = 8
    report_seeds: int = 3
    practice: Mapping[str, Any] = field(
        default_factory=lambda: {'episodes': 64, 'learning_rate': 7e-4}
    )
    ppo: Mapping[str, Any] = field(
        default_factory=lambda: {'critic_width': 128, 'trace_decay': 0.8}
    )
    start: Mapping[str, Any] = field(
        default_factory=lambda: {
            'demonstrations': 600,
            'perturbed': 1.0,
            'perturbation': 0.3,
            'dagger_rounds': 1,
            'dagger_episodes': 600,
            'updates': 3500,
            'learning_rate': 5e-3,
            'checkpoint_every': 500,
        }
    )
    hidden: int = 128
    sigma: float = 0.22
    horizon_steps: int = 260
    evaluation_episodes: int = 256
    start_episodes: int = 512
    hard: tuple[float, int] = (0.03, 40)
    sampled: tuple[float, int] = (0.011, 18)
    grpo: tuple[float, int] = (0.018, 30)
    reward: tuple[float, int] = (0.024, 20)
    gating: tuple[float, int] = (0.032, 22)
    loss: float = 0.1
    beta_r: float | None = None
    shortcut: float = 0.4

    @property
    def competent(self) -> StartRecipe:
        """The start of all experiments but that on gating."""
        return StartRecipe(
            name='competent',
            body='twin',
            task=TASK,
            settings=self.start,
            policy={'chunk_length': 5, 'hidden': self.hidden},
        )

    @property
    def hasty(self) -> StartRecipe:
        """A start that saw the shortcut; no DAgger round, in which the expert takes none."""
        rounds = int(self.start['dagger_rounds']) + 1
        kept = {key: v for key, v in self.start.items() if not key.startswith('dagger')}
        settings = {
            **kept,
            'demonstrations': int(kept['demonstrations']) * 3 // 2,
            'updates': int(kept['updates']) * rounds,
        }
        return dataclasses.replace(
            self.competent, name='hasty', settings=settings, shortcut=self.shortcut
        )

    def world(self, offset: float, **options: float) -> dict[str, Any]:
        """Return the options of a world with an error of calibration, metres."""
        return {
            'horizon_steps': self.horizon_steps,
            'calibration_offset': offset,
            **options,
        }

    def arm(
        self,
        name: str,
        where: tuple[float, int],
        *,
        trainer: str = 'ppo',
        reward: str | None = None,
        start: StartRecipe | None = None,
        **options: float,
    ) -> Arm:
        """Return an arm that practises.

        Args:
            name: Of the arm, and of its reward where none is given.
            where: Offset and iterations.
            trainer: 'ppo' or 'grpo'.
            reward: Name of a configuration.
            start: None for `competent`.
            **options: Further ones of the world.
        """
        own = self.ppo if trainer == 'ppo' else {}
        return Arm(
            name=name,
            start=start or self.competent,
            evaluation=Evaluation(episodes=self.evaluation_episodes),
            trainer=trainer,
            reward=reward or name,
            world=self.world(where[0], **options),
            settings={**self.practice, **own, 'iterations': where[1]},
            policy={'exploration': {'sigma': self.sigma}},
            beta_r=self.beta_r if reward == 'robometer' else None,
        )

    def start_arms(
        self, offset: float, start: StartRecipe | None = None, **options: float
    ) -> tuple[Arm, Arm]:
        """Return the start as it is, without and with the noise of training."""
        return (
            self._start_arm('start ODE', False, offset, start, options),
            self._start_arm('start SDE', True, offset, start, options),
        )

    def _start_arm(
        self,
        name: str,
        explore: bool,
        offset: float,
        start: StartRecipe | None,
        options: Mapping[str, float],
    ) -> Arm:
        return Arm(
            name=name,
            start=start or self.competent,
            evaluation=Evaluation(episodes=self.start_episodes, explore=explore),
            world=self.world(offset, **options),
            policy={'exploration': {'sigma': self.sigma}},
        )


#: What `structrl bench learning` runs.
FULL = TwinBench()

#: A tiny run of each kind: that everything runs, and comes to the same numbers again.
QUICK = TwinBench(
    claim_seeds=2,
    report_seeds=1,
    practice={'episodes': 8, 'learning_rate': 7e-4, 'environments': 8},
    ppo={'critic_width': 16, 'warmup_epochs': 2},
    start={
        'demonstrations': 8,
        'dagger_rounds': 1,
        'dagger_episodes': 4,
        'updates': 20,
        'learning_rate': 5e-3,
    },
    hidden=16,
    horizon_steps=60,
    evaluation_episodes=8,
    start_episodes=8,
    hard=(0.0, 2),
    sampled=(0.0, 2),
    grpo=(0.0, 2),
    reward=(0.0, 2),
    gating=(0.0, 2),
    beta_r=0.05,
)
