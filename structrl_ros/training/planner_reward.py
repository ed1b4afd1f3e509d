"""The verifiable reward of an answer to a LEAP row (REVER, Section III-B1).

R = w_f R_format + w_c R_content. Of a plan R_content is the best matching less the penalty for its
length (`plan.reward`); of completion it is 1 for exactly the true word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.models.vlm.questions import WORDS
from structrl_ros.plan.blocks import format_reward
from structrl_ros.plan.blocks import split_blocks
from structrl_ros.plan.reward import completion_reward
from structrl_ros.plan.reward import total_reward
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_scoring import score_plan
from structrl_ros.training.planner_questions import is_word


def format_score(row: LeapRow, text: str, prompt: str) -> float:
    """Return R_format, 0 or 1; where one word is asked for, whether it is one of the two."""
    return float(text.strip() in WORDS) if is_word(row, prompt) else format_reward(text)


def content_score(row: LeapRow, text: str, prompt: str) -> float:
    """Return R_content; an answer that cannot be read is a plan of no steps."""
    if row.kind == 'plan':
        return score_plan(row, text).content
    try:
        body = text if is_word(row, prompt) else split_blocks(text).body
    except PlanSyntaxError:
        return 0.0
    return completion_reward(body, bool(row.done))


def answer_reward(
    row: LeapRow, text: str, prompt: str, w_format: float = 0.1, w_content: float = 0.9
) -> float:
    """Return R of an answer.

    Args:
        row: The question and its truth.
        text: All that the model wrote.
        prompt: In whose form it was asked, see `planner_questions`.
        w_format: Weight of R_format.
        w_content: Weight of R_content.
    """
    return total_reward(
        format_score(row, text, prompt), content_score(row, text, prompt), w_format, w_content
    )


class VerifiableReward:
    """The reward as trl's trainer calls it: texts, and the numbers of their rows."""

    __name__ = 'verifiable'

    def __init__(
        self, rows: Sequence[LeapRow], prompt: str, w_format: float, w_content: float
    ) -> None:
        """Keep the rows that `row` numbers."""
        self._rows, self._prompt = rows, prompt
        self._weights = (w_format, w_content)

    def __call__(self, completions: Sequence[Any], row: Sequence[int], **_: Any) -> list[float]:
        """Return R of each completion; trl gives texts, or conversations of one message."""
        texts = [c if isinstance(c, str) else c[-1]['content'] for c in completions]
        return [
            answer_reward(self._rows[number], text, self._prompt, *self._weights)
            for number, text in zip(row, texts, strict=True)
        ]
