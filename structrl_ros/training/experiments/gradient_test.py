"""The gradient test of MART-GRPO: one policy, the same groups, feedback cut in several ways."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import TrainingError
from structrl_ros.learning.gradient_comparison import compare_gradients
from structrl_ros.learning.gradient_uncertainty import ratio_interval
from structrl_ros.learning.gradient_uncertainty import shift_p
from structrl_ros.learning.gradient_uncertainty import squared_shift
from structrl_ros.learning.groups import group_advantages
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collector import Collector
from structrl_ros.training.experiments.mart_bench import COPIES
from structrl_ros.training.experiments.mart_bench import FULL_FEEDBACK
from structrl_ros.training.experiments.mart_bench import SIMULATOR
from structrl_ros.training.experiments.mart_bench import UNIFORM
from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import digest
from structrl_ros.training.feedback import FailureFeedback
from structrl_ros.training.feedback import RandomPrefixRule
from structrl_ros.training.feedback import Rule
from structrl_ros.training.feedback import ScaleRule
from structrl_ros.training.feedback_run import make_feedback
from structrl_ros.training.group_gradients import group_gradients
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.rollouts import join
from structrl_ros.training.run_request import RunRequest
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.shipped_rewards import make_reward
from structrl_ros.training.start_policy import load_start
from structrl_ros.training.starts import practice_starts
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject
from structrl_ros.world_types import Bool

#: Seed of the rollouts; no run of the experiments has it.
SEED = 4242
#: Groups that are played at once, and rounds of it before fewer groups have to do.
_AT_ONCE, _ROUNDS = 32, 64


@dataclasses.dataclass(frozen=True, slots=True)
class PlayedGroups:
    """Rollouts of one policy, and what GRPO makes of them.

    `accepted` are the numbers of the groups of mixed outcomes, `teaching` (E,) their rollouts.
    """

    rollouts: Rollouts
    advantages: Float64
    teaching: Bool
    accepted: NDArray[np.intp]


def gradient_test(arms: Mapping[str, Arm], start: Path, groups: int, folder: Path) -> JsonObject:
    """Return what each way to cut feedback does to the gradient; from its file if it is there.

    Args:
        arms: By the names of `FEEDBACK`, `full` and that of the simulator's events among them;
            they differ in their feedback alone.
        start: Run directory of the policy.
        groups: Accepted groups that are wanted.
        folder: Where the file is kept.

    Raises:
        StructRLError: As the trainers say.
    """
    first = arms[FULL_FEEDBACK]
    path = folder / f'gradient-{digest(first.document())}-{groups}.json'
    if path.is_file():
        found: JsonObject = json.loads(path.read_text(encoding='utf-8'))
        return found
    settings = _settings(first)
    policy = load_start(str(start), first.policy)
    played = _play(first, settings, policy, groups)
    weights = {FULL_FEEDBACK: _weigh(_rule_of(first, start), played)[1]}
    weights |= _cut(arms, start, played)
    gradients = group_gradients(
        policy, played.rollouts, weights, played.accepted, settings.group_size
    )
    full = gradients.pop(FULL_FEEDBACK)
    document = {
        'start': first.start.name,
        'reward': first.reward,
        'world': dict(first.world),
        'groups': len(played.accepted),
        'success': float(played.rollouts.success[played.teaching].mean()),
        'rules': {
            name: _compared(full, cut, weights[name], played) for name, cut in gradients.items()
        },
    }
    with whole_file(path) as place:
        place.write_text(f'{json.dumps(document, indent=1)}\n', encoding='utf-8')
    return document


def _compared(
    full: NDArray[np.float32], cut: NDArray[np.float32], weights: Float64, played: PlayedGroups
) -> JsonObject:
    compared = compare_gradients(full, cut)
    lost = played.teaching & ~played.rollouts.success & (played.advantages < 0.0)
    before = -float(played.advantages[lost].sum())
    squared = squared_shift(full, cut)
    drop = float(full.var(axis=0, ddof=1).sum()) * (1.0 - compared.covariance_ratio)
    return {
        'retained': -float(weights[lost].sum()) / before if before else 1.0,
        'covariance_ratio': compared.covariance_ratio,
        'interval': list(ratio_interval(full, cut)),
        'shift_errors': compared.shift_errors,
        'shift_p': shift_p(full, cut),
        'squared_shift': squared,
        # None: the estimate of |d|^2 is not above 0, so that no number of groups is told.
        'break_even': drop / squared if squared > 0.0 else None,
    }


def _cut(arms: Mapping[str, Arm], start: Path, played: PlayedGroups) -> dict[str, Float64]:
    """Return the weights of every arm but full feedback; controls copy the simulator's events."""
    account, weights = _weigh(_rule_of(arms[SIMULATOR], start), played)
    found = {SIMULATOR: weights}
    for name, arm in arms.items():
        if name in COPIES:
            rule: Rule = (
                ScaleRule(account.pooled.retained)
                if name == UNIFORM
                else RandomPrefixRule(account.pooled, SEED)
            )
            found[name] = _weigh(FailureFeedback(rule), played)[1]
        elif name not in (FULL_FEEDBACK, SIMULATOR):
            found[name] = _weigh(_rule_of(arm, start), played)[1]
    return found


def _weigh(feedback: FailureFeedback, played: PlayedGroups) -> tuple[FailureFeedback, Float64]:
    weights, _ = feedback.weigh(played.rollouts, played.advantages, played.teaching, 0)
    return feedback, weights


def _rule_of(arm: Arm, start: Path) -> FailureFeedback:
    settings = _settings(arm)
    request = RunRequest(
        trainer='grpo',
        body=arm.start.body,
        settings=settings,
        reward=arm.reward,
        start=str(start),
        body_options=dict(arm.world),
        policy_options=dict(arm.policy),
    )
    return make_feedback(request, settings)


def _settings(arm: Arm) -> GrpoSettings:
    document: dict[str, Any] = {
        'evaluate_every': 0,
        **arm.settings,
        'seed': SEED,
        'tasks': [arm.start.task],
    }
    found = make_settings(GrpoSettings, document)
    assert isinstance(found, GrpoSettings)
    return found


def _play(arm: Arm, settings: GrpoSettings, policy: ChunkPolicy, groups: int) -> PlayedGroups:
    """Play until enough groups have both outcomes, or for `_ROUNDS` rounds.

    Raises:
        TrainingError: If fewer than two groups have.
    """
    size = settings.group_size
    make_world = world_maker(
        arm.start.body, environments=settings.environments, options=dict(arm.world)
    )
    collector, mixed = Collector(make_world, policy), 0
    parts: list[Rollouts] = []
    episodes = size * min(_AT_ONCE, 2 * groups)
    try:
        while mixed < groups and len(parts) < _ROUNDS:
            starts = practice_starts(
                settings.tasks, episodes, seed=SEED, iteration=len(parts), group_size=size
            )
            parts.append(collector.collect(starts, seed=SEED, iteration=len(parts), explore=True))
            mixed += len(_mixed(parts[-1], size))
    finally:
        collector.close()
    if mixed < 2:
        raise TrainingError(
            f'gradient test: {mixed} of {len(parts) * episodes // size} groups had both outcomes; '
            'needed: 2 or more'
        )
    rollouts = join(parts)
    rewards = make_reward(arm.reward, arm.start.body, settings.tasks)(rollouts).rewards
    scored = group_advantages(rewards.sum(axis=1), np.arange(rollouts.episodes) // size)
    accepted = _mixed(rollouts, size)[:groups]
    teaching = np.isin(np.arange(rollouts.episodes) // size, accepted) & scored.informative
    return PlayedGroups(rollouts, scored.advantages, teaching, accepted)


def _mixed(rollouts: Rollouts, size: int) -> NDArray[np.intp]:
    won = rollouts.success.reshape(-1, size)
    return np.flatnonzero(won.any(axis=1) & ~won.all(axis=1))
