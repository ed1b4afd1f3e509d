"""One answer of a model beside the truth of a LEAP row."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Sequence

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.evaluation.planner_results import PlanAnswer
from structrl_ros.models.vlm.choosers import LETTERS
from structrl_ros.naming import expand
from structrl_ros.ontology import SYNONYMS
from structrl_ros.plan.blocks import format_reward
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.plan.parse import ParsedPlan
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.reward import plan_reward
from structrl_ros.training.leap_rows import LeapRow

#: Names that count as the same thing, the ontology C of REVER.
ONTOLOGY = tuple((name, *words) for name, words in SYNONYMS.items())

_LETTER = re.compile(rf'\(?([{"".join(LETTERS)}])[).:]?', re.IGNORECASE)
_ANSWER = re.compile(r'<answer>(.*?)</answer>', re.DOTALL)
_ALIKE = 1.0 - 1e-9


def read_plan(text: str, objects: Sequence[str]) -> ParsedPlan:
    """Return the plan in an answer, as planner_node reads it.

    Raises:
        PlanSyntaxError: If there is none.
    """
    return parse_plan(text, objects=expand(objects))


def score_plan(row: LeapRow, text: str) -> PlanAnswer:
    """Return what a text is worth as the plan of a row; never raises."""
    truth = tuple(parse_phrase(phrase) for phrase in row.plan)
    error = ''
    steps: tuple[Step, ...] = ()
    try:
        steps = read_plan(text, row.objects).steps
    except PlanSyntaxError as fault:
        error = str(fault)
    return PlanAnswer(
        id=row.id,
        episode=row.episode,
        style=row.style,
        matching=plan_reward(steps, truth, ONTOLOGY, w_length=0.0),
        content=plan_reward(steps, truth, ONTOLOGY),
        is_exact=are_equal(steps, truth),
        is_readable=not error,
        has_template=format_reward(text) == 1.0,
        error=error,
    )


def refused_plan(row: LeapRow, error: str) -> PlanAnswer:
    """Return what it is worth to say that an instruction cannot be read."""
    truth = tuple(parse_phrase(phrase) for phrase in row.plan)
    content = plan_reward((), truth, ONTOLOGY)
    return PlanAnswer(row.id, row.episode, row.style, 0.0, content, False, False, False, error)


def are_equal(steps: Sequence[Step], truth: Sequence[Step]) -> bool:
    """Tell whether two plans have the same steps in order, things compared as R_bm does."""
    if len(steps) != len(truth):
        return False
    pairs = zip(steps, truth, strict=True)
    return all(plan_reward([a], [b], ONTOLOGY) > _ALIKE for a, b in pairs)


def read_choice(text: str) -> int | None:
    """Return the index of the option that an answer names, None if it names none.

    Taken are {"answer": "B"}, B, (b), B. with or without an answer block; no sentence around it.
    """
    blocks = _ANSWER.findall(text)
    body = (blocks[0] if len(blocks) == 1 else text).strip()
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = body
    if isinstance(document, Mapping):
        document = document.get('answer')
    match = _LETTER.fullmatch(document.strip()) if isinstance(document, str) else None
    return None if match is None else LETTERS.index(match[1].upper())


def matching_option(row: LeapRow, steps: Sequence[Step]) -> int | None:
    """Return the only option of a choice that is a plan, None if none or several are."""
    found = [
        number
        for number, option in enumerate(row.options)
        if are_equal(steps, tuple(parse_phrase(phrase) for phrase in option))
    ]
    return found[0] if len(found) == 1 else None
