"""Named rewards over the decompositions that are shipped with a body."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.sim.decompositions import shipped_decomposition
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.training.progress_stand_in import TrueProgress
from structrl_ros.training.reward_configurations import RewardConfiguration
from structrl_ros.training.reward_configurations import find_reward
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.reward_source import RobometerRewards
from structrl_ros.training.reward_source import StructuredRewards


def shipped_decompositions(
    body: str, tasks: Sequence[str], variant: str = ''
) -> dict[str, Decomposition]:
    """Return the decomposition of each task.

    Raises:
        ParameterError: If a task has none of this variant, or its file is wrong.
    """
    return {task: shipped_decomposition(body, task, variant) for task in tasks}


def make_reward(
    reward: str | RewardConfiguration,
    body: str,
    tasks: Sequence[str],
    *,
    beta_r: float | None = None,
    noise: float = 0.1,
    seed: int = 0,
) -> RewardSource:
    """Return a named way to pay the tasks of a body.

    Args:
        reward: A name of `REWARDS`, or a configuration of one's own.
        body: Name of the body whose files are read.
        tasks: What is trained.
        beta_r: Scale of the progress reward; only 'robometer' needs it, see `match_beta_r`.
        noise: Of the stand-in for the progress model, standard deviation.
        seed: Of that noise.

    Raises:
        ParameterError: If the reward is unknown, a task has no decomposition for it, or
            'robometer' has no scale.
    """
    configuration = find_reward(reward) if isinstance(reward, str) else reward
    if configuration.kind == 'terminal':
        return StructuredRewards({}, configuration)
    found = shipped_decompositions(body, tasks, configuration.variant)
    if configuration.kind == 'structured':
        return StructuredRewards(found, configuration)
    if beta_r is None:
        raise ParameterError(
            'beta_r: a progress reward needs its scale; match_beta_r gives it on rollouts'
        )
    progress = TrueProgress(found, noise=noise, seed=seed)
    return RobometerRewards(progress, beta_r=beta_r, lambda_c=configuration.lambda_c)


def checkpoints(source: RewardSource, tasks: Sequence[str]) -> tuple[str, ...]:
    """Return what the option `checkpoints` of a world must name for a source to pay the tasks."""
    return tuple(dict.fromkeys(name for task in tasks for name in source.checkpoints(task)))
