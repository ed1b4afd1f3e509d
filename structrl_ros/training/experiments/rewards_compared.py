"""Ways to pay beside each other, from one start: StructRL's ablations. All are only reported."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.twin_bench import TwinBench
from structrl_ros.training.experiments.verdict import REPORTED
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import reported


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Arms by what they are paid, and the pairs of them that are reported."""

    name: str
    title: str
    question: str
    rewards: Mapping[str, str]
    pairs: Sequence[tuple[str, str]]
    measures: tuple[str, ...] = ('success', 'training_success', 'steps', 'idle')
    note: str = ''


_COMPARISONS = (
    _Comparison(
        'components',
        'Components of the reward',
        'What do subtask rewards, pacing and gating add, one after another (Figure 3)?',
        {'terminal': 'terminal', 'fixed': 'fixed', 'paced': 'paced', 'full': 'structured'},
        (('fixed', 'terminal'), ('paced', 'fixed'), ('full', 'paced'), ('full', 'terminal')),
    ),
    _Comparison(
        'density',
        'Density of the decomposition',
        "How fine should subtasks be (Figure 4, Table 9)? Names are the paper's average N.",
        {
            'N = 0': 'terminal',
            'N = 1': 'density_1',
            'N = 2.5': 'structured',
            'N = 5': 'density_5',
            'N = 10': 'density_10',
            'N = 14': 'density_14',
            'N = 52': 'density_52',
        },
        (('N = 2.5', 'N = 0'), ('N = 5', 'N = 2.5'), ('N = 5', 'N = 52')),
        note='Pack Lunch has 4 subtasks at 2.5 and 6 at 5; from 10 on what the name says.',
    ),
    _Comparison(
        'timing_and_total',
        'Time of the signal, and total of the rewards',
        'Do earlier signals hurt, and does a cap on the total help (Table 11)?',
        {
            'N = 5, at completion': 'density_5',
            'N = 5, earlier': 'earlier_5',
            'N = 14, unbounded': 'unbounded_14',
            'N = 14, capped': 'capped_14',
        },
        (
            ('N = 5, at completion', 'N = 5, earlier'),
            ('N = 14, capped', 'N = 14, unbounded'),
        ),
    ),
    _Comparison(
        'pacing',
        'Durations for the pacing',
        'Does pacing need the durations of demonstrations, or will H / N do (Table 12)?',
        {'demonstrations': 'structured', 'H / N': 'uniform'},
        (('demonstrations', 'H / N'),),
        measures=('success', 'steps', 'idle'),
    ),
    _Comparison(
        'beta',
        'Size of the subtask rewards',
        'How large should beta be beside a terminal reward of 2 (Figure 8)?',
        {
            'beta 0.2': 'beta_0.2',
            'beta 0.6': 'structured',
            'beta 1': 'beta_1.0',
            'beta 2': 'beta_2.0',
        },
        (('beta 0.6', 'beta 0.2'), ('beta 0.6', 'beta 2')),
    ),
    _Comparison(
        'progress',
        'Structured events against a progress model',
        (
            'How does a reward of a progress model compare (Table 2, Eq. 5)? The model is a '
            'stand-in: the true share of completed subtasks, with noise of deviation 0.1.'
        ),
        {'structured': 'structured', 'progress': 'robometer', 'terminal': 'terminal'},
        (('structured', 'progress'), ('progress', 'terminal')),
        note='beta_R is matched on 64 rollouts of the start, see `match_beta_r`.',
    ),
)


def rewards_compared(bench: TwinBench) -> tuple[Experiment, ...]:
    """Return the experiments of Figures 3, 4 and 8 and Tables 2, 11 and 12."""
    return tuple(_experiment(bench, comparison) for comparison in _COMPARISONS)


def _experiment(bench: TwinBench, comparison: _Comparison) -> Experiment:
    def judge(outcomes: Outcomes) -> Verdict:
        return Verdict(REPORTED, tuple(reported(outcomes, a, b) for a, b in comparison.pairs))

    paid = comparison.rewards.items()
    arms = [bench.arm(arm, bench.reward, reward=reward) for arm, reward in paid]
    return Experiment(
        name=comparison.name,
        title=comparison.title,
        question=f'{comparison.question} (StructRL; {bench.report_seeds} seeds an arm.)',
        arms=(*bench.start_arms(bench.reward[0]), *arms),
        seeds=bench.report_seeds,
        judge=judge,
        measures=comparison.measures,
        note=comparison.note,
    )
