"""What a planner in training is worth on questions: reward, R_bm, exact match, completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_scoring import score_plan
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.planner_batches import write_answers
from structrl_ros.training.planner_reward import answer_reward
from structrl_ros.training.planner_reward import content_score
from structrl_ros.training.planner_reward import format_score
from structrl_ros.training.planner_settings import PlannerGrpoSettings
from structrl_ros.training.planner_settings import PlannerSettings

#: Questions at a time.
_BATCH = 64


def measure(
    model: Any, processor: Any, rows: Sequence[LeapRow], settings: PlannerSettings
) -> Metrics:
    """Return the means over some questions, of the likeliest answers and of one drawn each.

    `held_out/sampled/reward` is of answers at the temperature of practice, which is what GRPO
    raises; the others are of the likeliest answers.
    """
    if not rows:
        return {}
    texts, drawn = (
        write_answers(
            model,
            processor,
            rows,
            settings.prompt,
            max_tokens=settings.max_tokens,
            batch=_BATCH,
            temperature=temperature,
            seed=settings.seed,
        )
        for temperature in (0.0, getattr(settings, 'temperature', 1.0))
    )
    sampled = score_answers(rows, drawn, settings)
    return {
        **{
            f'held_out/{name}': value
            for name, value in score_answers(rows, texts, settings).items()
        },
        'held_out/sampled/reward': sampled['reward'],
    }


def score_answers(
    rows: Sequence[LeapRow], texts: Sequence[str], settings: PlannerSettings
) -> dict[str, float]:
    """Return the means of answers; those of a kind that was not asked are left out.

    Args:
        rows: At least one.
        texts: An answer to each.
        settings: Prompt, and weights of the reward.
    """
    prompt = settings.prompt
    weights = {}
    if isinstance(settings, PlannerGrpoSettings):
        weights = {'w_format': settings.w_format, 'w_content': settings.w_content}
    pairs = list(zip(rows, texts, strict=True))
    scores = {
        'reward': [answer_reward(row, text, prompt, **weights) for row, text in pairs],
        'format': [format_score(row, text, prompt) for row, text in pairs],
    }
    plans = [score_plan(row, text) for row, text in pairs if row.kind == 'plan']
    scores['matching'] = [plan.matching for plan in plans]
    scores['exact'] = [float(plan.is_exact) for plan in plans]
    scores['readable'] = [float(plan.is_readable) for plan in plans]
    scores['completion'] = [
        content_score(row, text, prompt) for row, text in pairs if row.kind == 'completion'
    ]
    return {name: float(np.mean(values)) for name, values in scores.items() if values}
