"""What each held-out question earns, before and after practice: for paired intervals by plan."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.evaluation.episode_resampling import episode_interval
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.planner_batches import write_answers
from structrl_ros.training.planner_reward import answer_reward
from structrl_ros.training.planner_settings import PlannerGrpoSettings

#: Answers that are drawn to each question.
DRAWS = 4
_BATCH = 64

#: Reward of each question, of its likeliest answer and the mean of its drawn ones.
Grades = dict[str, list[float]]


def grade_questions(
    model: Any, processor: Any, rows: Sequence[LeapRow], settings: PlannerGrpoSettings
) -> Grades:
    """Return the reward of each question: `likeliest`, and `drawn`, the mean over `DRAWS`.

    `drawn` is at the temperature of practice: its mean over questions is what GRPO raises.
    """

    def rewards(temperature: float, seed: int) -> list[float]:
        texts = write_answers(
            model,
            processor,
            rows,
            settings.prompt,
            max_tokens=settings.max_tokens,
            batch=_BATCH,
            temperature=temperature,
            seed=seed,
        )
        return [
            answer_reward(row, text, settings.prompt, settings.w_format, settings.w_content)
            for row, text in zip(rows, texts, strict=True)
        ]

    drawn = np.mean([rewards(settings.temperature, 1 + draw) for draw in range(DRAWS)], axis=0)
    return {'likeliest': rewards(0.0, 0), 'drawn': [float(value) for value in drawn]}


def plan_names(rows: Sequence[LeapRow]) -> list[str]:
    """Return the plan that each question is about, in its scene: what is drawn together."""
    return [f'{row.scene}: {", ".join(row.plan)}' for row in rows]


def change(
    before: Grades, after: Grades, plans: Sequence[str], kind: str
) -> tuple[float, float, float]:
    """Return the mean change of a kind of reward, and its 95 % interval, paired by question.

    Whole plans are resampled: their questions are the same task in other words.
    """
    difference = np.subtract(after[kind], before[kind])
    low, high = episode_interval(difference, plans)
    return float(difference.mean()), low, high


def mean_change(
    seeds: Sequence[Mapping[str, Any]], kind: str
) -> tuple[float, float, float] | None:
    """Return the change over the questions of all seeds, None where they were not graded.

    A plan that two seeds held out counts as one: it is resampled with the questions of both.
    """
    if not seeds or not all('grades' in seed for seed in seeds):
        return None
    grades = [seed['grades'] for seed in seeds]
    before = {kind: [v for g in grades for v in g['before'][kind]]}
    after = {kind: [v for g in grades for v in g['after'][kind]]}
    return change(before, after, [p for g in grades for p in g['plans']], kind)
