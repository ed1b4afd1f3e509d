"""Gating, from a start whose demonstrations hold a shortcut: the box shut at once."""

from __future__ import annotations

from structrl_ros.evaluation.comparison import difference_estimate
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.twin_bench import TwinBench
from structrl_ros.training.experiments.verdict import Claim
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import higher
from structrl_ros.training.experiments.verdict import judge
from structrl_ros.training.experiments.verdict import reported
from structrl_ros.training.experiments.verdict import show


def gating(bench: TwinBench) -> Experiment:
    """Return gated against ungated pay, both paced."""
    return Experiment(
        name='gating',
        title='Gating, where demonstrations hold a shortcut',
        question=(
            'Does paying a subtask only after its prerequisites keep a policy from closing the '
            'box before anything is in it (StructRL Sections 1 and 3.2.1)? '
            f'{bench.shortcut:.0%} of the demonstrations do that.'
        ),
        arms=(
            *bench.start_arms(bench.gating[0], bench.hasty),
            bench.arm('gated', bench.gating, reward='structured', start=bench.hasty),
            bench.arm('ungated', bench.gating, reward='paced', start=bench.hasty),
        ),
        seeds=bench.claim_seeds,
        judge=_judge,
        measures=('premature', 'success', 'steps', 'idle'),
    )


def _judge(outcomes: Outcomes) -> Verdict:
    success = difference_estimate(outcomes.values('gated'), outcomes.values('ungated'))
    claims = [
        higher(outcomes, 'ungated', 'gated', 0.08, measure='premature'),
        Claim(
            'success with gating not lower than without',
            show(success, sign=True),
            success.mean >= 0.0,
        ),
        reported(outcomes, 'gated', 'ungated', 'steps'),
    ]
    return judge(claims, len(outcomes.of('gated')))
