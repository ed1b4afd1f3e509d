"""What a planner is asked in training: the conversations of planner_node, or those of the set.

In the node's form a plan is answered in think and answer blocks, and completion by one word, as
`LocalPlanner` and `LocalMonitor` ask. In the set's form (`SET_PROMPT`) both are answered in
blocks, as in REVER, Section III-A2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.encoding import IMAGE_PART
from structrl_ros.models.vlm.questions import PLAN_FORMS
from structrl_ros.models.vlm.questions import plan_messages
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import text_part
from structrl_ros.models.vlm.questions import verify_messages
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.training.leap_episode import picture_pixels
from structrl_ros.training.leap_prompts import plan_answer
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.planner_settings import SET_PROMPT
from structrl_ros.types import JsonObject
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask

_REPLAN = 'replan_v1'
_VERIFY = 'verify_word_v1'


def check_prompt(prompt: str) -> None:
    """Refuse a prompt whose answers the reward cannot read.

    Raises:
        ParameterError: If it is unknown, or asks for JSON.
    """
    allowed = [name for name, form in PLAN_FORMS.items() if form == 'blocks']
    if prompt not in (*allowed, SET_PROMPT):
        raise ParameterError(f'prompt {prompt!r}; allowed: {", ".join([*allowed, SET_PROMPT])}')


def is_word(row: LeapRow, prompt: str) -> bool:
    """Tell whether a question is answered by one word, without blocks."""
    return row.kind == 'completion' and prompt != SET_PROMPT


def question(row: LeapRow, prompt: str) -> list[JsonObject]:
    """Return the conversation of a row, with one IMAGE_PART for each of its images."""
    parts = [IMAGE_PART] * len(row.images)
    if prompt == SET_PROMPT:
        return [{'role': 'user', 'content': [*parts, text_part(row.prompt)]}]
    if row.kind == 'completion':
        step = parse_phrase(row.instruction)
        subtask = Subtask(step.id, row.instruction, step.action, step.objects, 0)
        count = len(row.roles)
        return verify_messages(subtask, read_prompt(_VERIFY), parts[:count], parts[count:])
    request = PlanRequest(row.instruction, row.objects, None)
    return plan_messages(request, read_prompt(prompt), read_prompt(_REPLAN), parts)


def pictures(row: LeapRow) -> list[Any]:
    """Return the images of a row in order, upright RGB.

    Raises:
        ParameterError: If one is cut.
    """
    from PIL import Image

    return [Image.fromarray(picture_pixels(file)) for file in row.images]


def true_answer(row: LeapRow, prompt: str) -> str:
    """Return the text that imitation teaches; a thought is needed by R_format, so it is short.

    LEAP sets have no chain of thought, so what stands in the think block is the number of steps.
    """
    if is_word(row, prompt):
        return row.answer
    if row.kind == 'completion':
        return f'<think>1 step</think>\n<answer>{row.answer}</answer>'
    count = len(row.plan)
    thought = f'{count} step' + ('' if count == 1 else 's')
    return f'<think>{thought}</think>\n<answer>\n{plan_answer(row.plan)}\n</answer>'


def conversation_text(processor: Any, messages: Sequence[JsonObject]) -> str:
    """Return a question as the chat template writes it, with the answer about to begin."""
    listed = [
        {**m, 'content': [text_part(m['content'])]} if isinstance(m['content'], str) else m
        for m in messages
    ]
    return str(processor.apply_chat_template(listed, tokenize=False, add_generation_prompt=True))
