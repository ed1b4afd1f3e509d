"""The confirmation in MuJoCo: a hard start, structured against terminal-only, three seeds an arm.

A run takes about ten CPU-minutes: every run is kept on the disk and goes on where it was stopped,
and `--seeds 1`, then 2, then 3 adds one seed an arm at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from structrl_ros.evaluation.comparison import fisher_p
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import Evaluation
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.plan import StartRecipe
from structrl_ros.training.experiments.verdict import Claim
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import judge

TASK = 'pack_lunch'
#: Of the claim: smallest difference, and largest p of Fisher's test in each seed.
DIFFERENCE, LEVEL = 0.10, 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class MujocoBench:
    """One scale of the confirmation; the fields are those of `TwinBench`.

    `offset` is that of the calibration: at 0.032 m no episode of 96 succeeds with the noise of
    training (at 0.027 m 3 do, and both arms learn alike). `seeds` are the runs of an arm.
    """

    seeds: int = 3
    practice: Mapping[str, Any] = field(
        default_factory=lambda: {'episodes': 64, 'iterations': 26, 'learning_rate': 2e-4}
    )
    start: Mapping[str, Any] = field(
        default_factory=lambda: {
            'demonstrations': 150,
            'perturbed': 1.0,
            'perturbation': 0.2,
            'dagger_rounds': 1,
            'dagger_episodes': 100,
            'updates': 4000,
            'learning_rate': 3e-3,
        }
    )
    hidden: int = 256
    sigma: float = 0.15
    horizon_steps: int | None = None
    offset: float = 0.032
    evaluation_episodes: int = 128
    start_episodes: int = 64

    @property
    def competent(self) -> StartRecipe:
        """The start of both arms, and of the checkpoint that ships."""
        return StartRecipe(
            name='competent-mujoco',
            body='tabletop',
            task=TASK,
            settings=self.start,
            policy={'chunk_length': 5, 'hidden': self.hidden},
        )

    def experiments(self) -> tuple[Experiment, ...]:
        """Return the confirmation."""
        arms = (
            self._arm('start ODE', '', 'structured', self.start_episodes),
            self._arm('structured', 'ppo', 'structured', self.evaluation_episodes),
            self._arm('terminal', 'ppo', 'terminal', self.evaluation_episodes),
        )
        return (
            Experiment(
                name='mujoco_hard_start',
                title='Hard start in MuJoCo',
                question='Does the finding of the twin hold in MuJoCo (PPO)?',
                arms=arms,
                seeds=self.seeds,
                judge=_judge,
                measures=('success', 'training_success', 'steps', 'idle'),
                note=f'{self.evaluation_episodes} episodes of evaluation a run.',
            ),
        )

    def _arm(self, name: str, trainer: str, reward: str, episodes: int) -> Arm:
        world: dict[str, Any] = {'calibration_offset': self.offset}
        if self.horizon_steps is not None:
            world['horizon_steps'] = self.horizon_steps
        return Arm(
            name=name,
            start=self.competent,
            evaluation=Evaluation(episodes=episodes),
            trainer=trainer,
            reward=reward,
            world=world,
            settings=self.practice if trainer else {},
            policy={'exploration': {'sigma': self.sigma}},
            keep=bool(trainer),
        )


def _judge(outcomes: Outcomes) -> Verdict:
    claims = []
    pairs = zip(outcomes.of('structured'), outcomes.of('terminal'), strict=True)
    for seed, (first, second) in enumerate(pairs, 1):
        difference = first.measure('success') - second.measure('success')
        p = fisher_p(first.successes, first.episodes, second.successes, second.episodes)
        claims.append(
            Claim(
                f'seed {seed}: structured over terminal by {DIFFERENCE:.2f}, Fisher p < {LEVEL}',
                f'{first.successes} against {second.successes} of {second.episodes}, p = {p:.2g}',
                difference >= DIFFERENCE and p < LEVEL,
            )
        )
    return judge(claims, len(claims), needed=3)


#: What `structrl bench learning --mujoco` runs.
MUJOCO = MujocoBench()

#: A tiny one, to see that everything runs.
MUJOCO_QUICK = MujocoBench(
    seeds=1,
    practice={'episodes': 2, 'iterations': 1, 'environments': 2, 'critic_width': 16},
    start={'demonstrations': 2, 'updates': 10, 'perturbed': 0.0},
    hidden=16,
    horizon_steps=20,
    offset=0.0,
    evaluation_episodes=2,
    start_episodes=2,
)
