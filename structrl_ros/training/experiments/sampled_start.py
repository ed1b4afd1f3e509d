"""Where success is sampled at the start: structured against terminal-only, and the optimisers."""

from __future__ import annotations

import dataclasses

from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.twin_bench import TwinBench
from structrl_ros.training.experiments.verdict import Claim
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import at_least
from structrl_ros.training.experiments.verdict import higher
from structrl_ros.training.experiments.verdict import judge
from structrl_ros.training.experiments.verdict import reported


def sampled_start(bench: TwinBench) -> Experiment:
    """Return the experiment in which a time-aware critic may catch up without subtasks."""
    return Experiment(
        name='sampled_start',
        title='Success sampled at the start',
        question='What do subtask rewards add where success is sampled from the start (PPO)?',
        arms=(
            *bench.start_arms(bench.sampled[0], loss=bench.loss),
            bench.arm('structured', bench.sampled, loss=bench.loss),
            bench.arm('terminal', bench.sampled, loss=bench.loss),
        ),
        seeds=bench.claim_seeds,
        judge=_judge_both,
        measures=('success', 'training_success', 'steps', 'idle'),
    )


def optimisers(bench: TwinBench) -> Experiment:
    """Return structured against terminal-only with GRPO, and PPO beside it (Table 3)."""
    return Experiment(
        name='grpo',
        title='GRPO with structured and terminal rewards',
        question=(
            'Does the structured reward work with GRPO, and is PPO better '
            '(StructRL Section 4.6, Table 3)? Groups of 8; a knock may lose a thing for good.'
        ),
        arms=(
            *bench.start_arms(bench.grpo[0], loss=bench.loss),
            *(
                bench.arm(
                    f'GRPO {reward}', bench.grpo, trainer='grpo', reward=reward, loss=bench.loss
                )
                for reward in ('structured', 'terminal')
            ),
            *(
                dataclasses.replace(
                    bench.arm(f'PPO {reward}', bench.grpo, reward=reward, loss=bench.loss),
                    seeds=bench.report_seeds,
                )
                for reward in ('structured', 'terminal')
            ),
        ),
        seeds=bench.claim_seeds,
        judge=_judge_grpo,
        measures=('success', 'training_success', 'steps', 'idle'),
        note=f'PPO from the same start, in the same world and budget: {bench.report_seeds} seeds.',
    )


def _judge_both(outcomes: Outcomes) -> Verdict:
    start = outcomes.of('start SDE')[0]
    claims = [
        Claim(
            'success of the start, sampled with the noise of training',
            f'{start.successes} of {start.episodes}',
            None,
        ),
        at_least(outcomes, 'structured', 0.60),
        at_least(outcomes, 'terminal', 0.60),
        reported(outcomes, 'structured', 'terminal'),
        reported(outcomes, 'structured', 'terminal', 'steps'),
    ]
    return judge(claims, len(outcomes.of('structured')))


def _judge_grpo(outcomes: Outcomes) -> Verdict:
    claims = [
        higher(outcomes, 'GRPO structured', 'GRPO terminal', 0.05),
        reported(outcomes, 'PPO structured', 'GRPO structured'),
        reported(outcomes, 'PPO terminal', 'GRPO terminal'),
    ]
    return judge(claims, len(outcomes.of('GRPO structured')))
