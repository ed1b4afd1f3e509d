"""Where success is never sampled at the start: structured against terminal-only (PPO)."""

from __future__ import annotations

from structrl_ros.evaluation.comparison import overlaps
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.twin_bench import TwinBench
from structrl_ros.training.experiments.verdict import Claim
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import at_least
from structrl_ros.training.experiments.verdict import at_most
from structrl_ros.training.experiments.verdict import judge
from structrl_ros.training.experiments.verdict import reported


def hard_start(bench: TwinBench) -> Experiment:
    """Return the experiment of StructRL's main claim, at its strongest."""
    return Experiment(
        name='hard_start',
        title='Success never sampled at the start',
        question=(
            'Does the structured reward learn where a terminal reward has nothing to go by '
            '(StructRL Section 1, Table 1)?'
        ),
        arms=(
            *bench.start_arms(bench.hard[0]),
            bench.arm('structured', bench.hard),
            bench.arm('terminal', bench.hard),
        ),
        seeds=bench.claim_seeds,
        judge=_judge,
        measures=('success', 'training_success', 'steps', 'idle'),
    )


def _judge(outcomes: Outcomes) -> Verdict:
    start = outcomes.of('start SDE')[0]
    structured, terminal = outcomes.values('structured'), outcomes.values('terminal')
    found = f'{start.successes} of {start.episodes}'
    ranges = (
        f'{min(structured):.3f} to {max(structured):.3f} against '
        f'{min(terminal):.3f} to {max(terminal):.3f}'
    )
    claims = [
        Claim('success of the start, sampled with the noise of training', found, None),
        at_least(outcomes, 'structured', 0.20),
        at_most(outcomes, 'terminal', 0.02),
        Claim(
            'no seed of one arm within the range of the other',
            ranges,
            (not overlaps(structured, terminal)),
        ),
        reported(outcomes, 'structured', 'terminal'),
    ]
    return judge(claims, len(structured))
