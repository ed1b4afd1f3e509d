"""Does it help to stop failure feedback at the last error that was not made good (MART-GRPO)?

The start, the world and the budget are those of the second GRPO setting of docs/learning.md;
nothing was searched for here. Arms differ in `failure_feedback` alone: the controls of Section 4.3
keep as much weight as truncation by the simulator's events did in the run of the same seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.training.experiments.mujoco_bench import MUJOCO
from structrl_ros.training.experiments.mujoco_bench import MUJOCO_QUICK
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import Evaluation
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.plan import StartRecipe
from structrl_ros.training.experiments.twin_bench import FULL as TWIN
from structrl_ros.training.experiments.twin_bench import QUICK as TWIN_QUICK
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import judge
from structrl_ros.training.experiments.verdict import paired

FULL_FEEDBACK, SIMULATOR, PROGRESS = 'full', 'MART simulator', 'MART progress'
PREFIX_RULE, UNIFORM, RANDOM_PREFIX = 'prefix rule', 'uniform scaling', 'random prefix'
#: Settings of each arm; those in `COPIES` read the account of the run of `SIMULATOR`.
FEEDBACK: Mapping[str, Mapping[str, str]] = {
    FULL_FEEDBACK: {'failure_feedback': 'full'},
    SIMULATOR: {'failure_feedback': 'truncated', 'events': 'simulator'},
    PROGRESS: {'failure_feedback': 'truncated', 'events': 'progress'},
    PREFIX_RULE: {'failure_feedback': 'prefix_rule', 'events': 'simulator'},
    UNIFORM: {'failure_feedback': 'uniform'},
    RANDOM_PREFIX: {'failure_feedback': 'random_prefix'},
}
COPIES = (UNIFORM, RANDOM_PREFIX)
#: Arms of the experiments that ask for the kind of failure.
TWO = (FULL_FEEDBACK, SIMULATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class MartBench:
    """One scale of the experiments.

    Attributes:
        start: Policy that all arms begin with.
        world: Options of its body; `loss` apart.
        practice: Settings of all arms.
        sigma: Exploration noise in practice.
        seeds: Of every arm.
        losses: Chance that a knock loses a thing for good, in [0, 1]: of the main experiments, and
            of the one with long doomed tails. In a third nothing is lost. None where the body does
            not have it; then there are the main experiments alone.
        evaluation_episodes: At the end of each run, without noise, on held-out scenes.
        seen: Scenes of practice that are played again at the end.
        start_episodes: For the rate of a start.
        gradient_groups: Groups of the gradient test at the start policy; 0: no such test.
        arms: Names in `FEEDBACK`.
    """

    start: StartRecipe = TWIN.competent
    world: Mapping[str, Any] = field(default_factory=lambda: dict(TWIN.world(0.013)))
    practice: Mapping[str, Any] = field(
        default_factory=lambda: {
            **TWIN.practice,
            'episodes': 128,
            'iterations': 16,
            'epochs': 2,
            'accepted': 'mixed',
        }
    )
    sigma: float = TWIN.sigma
    seeds: int = 10
    losses: tuple[float, float] | None = (0.1, 0.3)
    evaluation_episodes: int = 256
    seen: int = 256
    start_episodes: int = 512
    gradient_groups: int = 128
    arms: tuple[str, ...] = tuple(FEEDBACK)

    def experiments(self) -> tuple[Experiment, ...]:
        """Return terminal-only and structured returns, and two kinds of failure."""
        common = 0.0 if self.losses is None else self.losses[0]
        found = [
            self._experiment('terminal', 'Terminal-only returns', 'terminal', common, self.arms),
            self._experiment('structured', 'Structured returns', 'structured', common, self.arms),
        ]
        if self.losses is not None:
            words = 'a knocked thing is lost with a chance of'
            found += [
                self._experiment(
                    f'{name}_tails', f'{title}: {words} {loss:g}', 'terminal', loss, TWO
                )
                for name, title, loss in (
                    ('doomed', 'Long doomed tails', self.losses[1]),
                    ('open', 'Failures that stay open', 0.0),
                )
            ]
        return tuple(found)

    def arm(self, name: str, reward: str, loss: float) -> Arm:
        """Return an arm by its name in `FEEDBACK`."""
        return Arm(
            name=name,
            start=self.start,
            evaluation=Evaluation(episodes=self.evaluation_episodes),
            trainer='grpo',
            reward=reward,
            world=self._world(loss),
            settings={**self.practice, **FEEDBACK[name]},
            policy={'exploration': {'sigma': self.sigma}},
            keep=name == SIMULATOR,
            copies=self.arm(SIMULATOR, reward, loss) if name in COPIES else None,
            seen=self.seen,
        )

    def start_arm(self, name: str, explore: bool, loss: float) -> Arm:
        """Return the start as it is, with or without the noise of training."""
        return Arm(
            name=name,
            start=self.start,
            evaluation=Evaluation(episodes=self.start_episodes, explore=explore),
            world=self._world(loss),
            policy={'exploration': {'sigma': self.sigma}},
        )

    def _experiment(
        self, name: str, title: str, reward: str, loss: float, arms: Iterable[str]
    ) -> Experiment:
        names = tuple(arms)
        return Experiment(
            name=name,
            title=title,
            question='Does MART-GRPO end above full feedback, and above its controls (Table 2)?',
            arms=(
                self.start_arm('start ODE', False, loss),
                self.start_arm('start SDE', True, loss),
                *(self.arm(arm, reward, loss) for arm in names),
            ),
            seeds=self.seeds,
            judge=_judge_of(names),
            measures=('success', 'seen', 'training_success', 'retained', 'fallbacks'),
            note='Fallbacks are counted over all updates; nothing is demanded of any arm.',
        )

    def _world(self, loss: float) -> dict[str, Any]:
        return {**self.world, **({} if self.losses is None else {'loss': loss})}


def _judge_of(arms: Sequence[str]) -> Callable[[Outcomes], Verdict]:
    """Return what reports MART against every other arm, on held-out and on seen scenes."""

    def report(outcomes: Outcomes) -> Verdict:
        played = [arm.name for arm in outcomes.experiment.arms if arm.name in arms]
        pairs = [(SIMULATOR, FULL_FEEDBACK, 'seen')]
        pairs += [(SIMULATOR, arm, 'success') for arm in arms if arm != SIMULATOR]
        pairs.append((PROGRESS, FULL_FEEDBACK, 'success'))
        known = [pair for pair in pairs if {*pair[:2]} <= {*played}]
        claims = [paired(outcomes, first, second, measure) for first, second, measure in known]
        return judge(claims, min(len(outcomes.of(arm)) for arm in played))

    return report


def choose_arms(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """Return an experiment with its start and the arms of some names, all without any.

    Arms that others copy are run as well.

    Raises:
        ParameterError: If there is none of a name.
    """
    known = {arm.name: arm for arm in experiment.arms if arm.trainer}
    for name in names:
        if name not in known:
            raise ParameterError(
                f'experiment {experiment.name}: unknown arm {name!r}; known: {", ".join(known)}'
            )
    copied = {arm.copies.name for n in names if (arm := known[n]).copies is not None}
    wanted = {*names, *copied} or {*known}
    arms = tuple(a for a in experiment.arms if not a.trainer or a.name in wanted)
    return dataclasses.replace(experiment, arms=arms)


#: What `structrl bench mart` runs.
MART = MartBench()

#: A tiny one, to see that everything runs.
MART_QUICK = MartBench(
    start=TWIN_QUICK.competent,
    world=TWIN_QUICK.world(0.0),
    practice={**TWIN_QUICK.practice, 'episodes': 8, 'iterations': 1, 'group_size': 4},
    seeds=1,
    evaluation_episodes=8,
    seen=2,
    start_episodes=8,
    # Nothing succeeds in so short a run: no group has both outcomes, nor is there a boundary.
    gradient_groups=0,
    arms=tuple(name for name in FEEDBACK if name != RANDOM_PREFIX),
)


def mart_bench(*, mujoco: bool = False, quick: bool = False) -> MartBench:
    """Return a scale: the twin, or MuJoCo from the start and in the world of its confirmation.

    There the offset is the smaller one of docs/learning.md, at which success is sampled.
    """
    if not mujoco:
        return MART_QUICK if quick else MART
    body = MUJOCO_QUICK if quick else MUJOCO
    limit = {} if body.horizon_steps is None else {'horizon_steps': body.horizon_steps}
    whole = {'group_size': 2, 'accepted': 'mixed'} if quick else {'accepted': 'mixed'}
    own = {key: value for key, value in body.practice.items() if key != 'critic_width'}
    return MartBench(
        start=body.competent,
        world={'calibration_offset': 0.0 if quick else 0.016, **limit},
        practice={**own, **whole},
        sigma=body.sigma,
        seeds=body.seeds,
        losses=None,
        evaluation_episodes=body.evaluation_episodes,
        seen=body.evaluation_episodes,
        start_episodes=body.start_episodes,
        gradient_groups=0 if quick else 64,
        arms=MART_QUICK.arms if quick else MART.arms,
    )
