"""Numbers that rollouts and their payments come to."""

from __future__ import annotations

import numpy as np

from structrl_ros.training.evaluate import Evaluation
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.reward_source import PaidRollouts
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.types import Float64
from structrl_ros.world_types import Int


def rollout_metrics(rollouts: Rollouts, paid: PaidRollouts) -> Metrics:
    """Return success, return, lengths and payments, over all episodes and for each task."""
    metrics: Metrics = {
        'rollout/success': float(rollouts.success.mean()),
        'rollout/return': float(paid.rewards.sum(axis=1).mean()),
        'rollout/chunks': float(rollouts.lengths.mean()),
        'rollout/steps': float(rollouts.steps.sum(axis=1).mean()),
        'rollout/idle_after_reward': float(idle_after_reward(rollouts, paid.rewards).mean()),
    }
    tasks = dict.fromkeys(start.task for start in rollouts.starts)
    for task in tasks:
        mine = np.array([start.task == task for start in rollouts.starts])
        if len(tasks) > 1:
            metrics[f'task/{task}/success'] = float(rollouts.success[mine].mean())
            metrics[f'task/{task}/return'] = float(paid.rewards[mine].sum(axis=1).mean())
        prefix = f'terms/{task}' if len(tasks) > 1 else 'terms'
        metrics |= {f'{prefix}/{n}': float(v.mean()) for n, v in paid.terms(mine).items()}
    return metrics


def evaluation_metrics(evaluation: Evaluation) -> Metrics:
    """Return the success of an evaluation, over all episodes and for each task and subtask."""
    prefix = 'evaluation/sde' if evaluation.explore else 'evaluation/ode'
    rates = {f'{prefix}_success': evaluation.success}
    for task in evaluation.tasks:
        place = f'{prefix}/{task.task}' if len(evaluation.tasks) > 1 else prefix
        if len(evaluation.tasks) > 1:
            rates[f'{place}/success'] = task.success
        rates |= {f'{place}/{name}': rate for name, rate in task.subtasks.items()}
    return {name: rate.value for name, rate in rates.items() if rate.value is not None}


def idle_after_reward(rollouts: Rollouts, rewards: Float64) -> Int:
    """Return how many chunks each episode went on after its last payment, shape (E,).

    What the policy does there is neither paid nor told apart (StructRL, Ethics Statement). An
    episode without a payment was idle for all of its chunks.
    """
    paid = (rewards > 0.0) & rollouts.valid
    after = np.argmax(paid[:, ::-1], axis=1)
    last = np.where(paid.any(axis=1), paid.shape[1] - after, 0)
    return np.asarray(rollouts.lengths - last, dtype=np.intp)
