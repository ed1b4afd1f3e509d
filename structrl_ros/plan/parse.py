"""Text of a model to a typed plan, or one typed error that says what was wrong and where.

Whatever wrote the text (rules, a server, a local network), this is the only way from text to plan.
Work is bounded: at most 200,000 characters are read, every step of the parser is linear in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import fold
from structrl_ros.naming import is_whole_word_part
from structrl_ros.plan.blocks import split_blocks
from structrl_ros.plan.documents import RawStep
from structrl_ros.plan.documents import read_document
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.plan.grammar import parse_step
from structrl_ros.plan.grammar import quote
from structrl_ros.plan.grammar import render_step
from structrl_ros.types import Subtask

MAX_CHARACTERS = 200_000
DEFAULT_MAX_STEPS = 20

_MARKER = re.compile(r'(?:[-*\u2022]|\(?\d{1,4}[.):]|step \d{1,4}[.:)])\s*', re.IGNORECASE)
_CONTROL = re.compile(r'[\x00-\x08\x0e-\x1f\x7f-\x9f]')


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """A plan as a model wrote it.

    `stages` holds indices into `steps`; `phrases` the steps in words; `reasoning` the think block
    or None; `format` is REVER's R_format of the whole text, 0 or 1.
    """

    steps: tuple[Step, ...]
    stages: tuple[tuple[int, ...], ...]
    reasoning: str | None
    format: int
    phrases: tuple[str, ...]


def parse_plan(
    text: str, *, objects: Sequence[str] | None = None, max_steps: int = DEFAULT_MAX_STEPS
) -> ParsedPlan:
    """Read the plan in a model's text.

    Looks in the one answer block, else in the whole text; there for JSON (bare, or the first fence
    that parses), else for lines, one step a line.

    Args:
        text: What the model wrote, at most 200,000 characters.
        objects: Names in the scene; a thing must equal one of them or one must be a whole-word
            part of the other, after folding. None allows any name.
        max_steps: Longest plan that is accepted, at least 1.

    Raises:
        PlanSyntaxError: If the text holds no valid plan; `position` is the place in the text.
        ParameterError: If `max_steps` is not a positive whole number.
    """
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
        raise ParameterError(f'max_steps must be a whole number from 1, got {max_steps!r}')
    _check_text(text)
    blocks = split_blocks(text)
    raw_stages = read_document(blocks.body, blocks.offset)
    if raw_stages is None:
        raw_stages = _read_lines(blocks.body, blocks.offset)
    total = sum(len(s) for s in raw_stages)
    if total == 0:
        raise PlanSyntaxError('no step found in the text', position=blocks.offset)
    if total > max_steps:
        raise PlanSyntaxError(f'the plan has {total} steps; at most {max_steps} are allowed')
    folded = None if objects is None else tuple(fold(o) for o in objects)
    steps: list[Step] = []
    phrases: list[str] = []
    stages: list[tuple[int, ...]] = []
    for stage in raw_stages:
        stages.append(tuple(range(len(steps), len(steps) + len(stage))))
        for raw in stage:
            step = _read_step(raw, len(steps) + 1, folded, text)
            steps.append(step)
            phrases.append(fold(raw.phrase) if raw.phrase else render_step(step))
    return ParsedPlan(tuple(steps), tuple(stages), blocks.reasoning, blocks.format, tuple(phrases))


def to_plan(parsed: ParsedPlan) -> tuple[Subtask, ...]:
    """Return the steps as subtasks with unique ids: `place(soup, basket)`, a repeat gets `#2`."""
    stage_of = {i: n for n, stage in enumerate(parsed.stages) for i in stage}
    seen: dict[str, int] = {}
    subtasks = []
    for i, (step, phrase) in enumerate(zip(parsed.steps, parsed.phrases, strict=True)):
        seen[step.id] = seen.get(step.id, 0) + 1
        unique = step.id if seen[step.id] == 1 else f'{step.id}#{seen[step.id]}'
        subtasks.append(Subtask(unique, phrase, step.action, step.objects, stage_of[i]))
    return tuple(subtasks)


def _check_text(text: str) -> None:
    """Refuse what is no text, too long, or holds control characters."""
    if not isinstance(text, str):
        raise PlanSyntaxError(f'a plan must be text, got {type(text).__name__}')
    if len(text) > MAX_CHARACTERS:
        raise PlanSyntaxError(
            f'the text has {len(text)} characters; at most {MAX_CHARACTERS} are read',
            position=MAX_CHARACTERS,
        )
    _check_controls(text, 0)


def _check_controls(text: str, offset: int | None) -> None:
    """Refuse control characters other than white space."""
    found = _CONTROL.search(text)
    if found is not None:
        where = None if offset is None else offset + found.start()
        raise PlanSyntaxError(f'control character U+{ord(found.group()):04X}', position=where)


def _read_lines(body: str, offset: int) -> list[list[RawStep]]:
    """Return every non-empty line as a stage of one step, without its number or bullet."""
    stages = []
    position = offset
    for line in body.splitlines(keepends=True):
        content = line.strip()
        if content:
            at = position + line.index(content[0])
            phrase = _MARKER.sub('', content, count=1) if _MARKER.match(content) else content
            stages.append([RawStep(phrase, None, None, at)])
        position += len(line)
    return stages


def _read_step(raw: RawStep, number: int, vocabulary: Iterable[str] | None, text: str) -> Step:
    """Read one step and check its things against the vocabulary; an error names the step."""
    position = raw.position
    if position is None:
        found = text.find(raw.phrase or raw.action or '\0')
        position = found if found >= 0 else None
    try:
        _check_controls((raw.phrase or '') + ''.join(raw.objects or ()), None)
        if raw.phrase is not None:
            step = parse_phrase(raw.phrase)
        else:
            step = parse_step(raw.action or '', raw.objects or ())
        if vocabulary is not None:
            _check_vocabulary(step, tuple(vocabulary))
    except PlanSyntaxError as error:
        raise PlanSyntaxError(f'step {number}: {error}', position=position) from None
    return step


def _check_vocabulary(step: Step, vocabulary: tuple[str, ...]) -> None:
    """Refuse a thing that is not in the scene."""
    for thing in step.objects:
        if not any(
            is_whole_word_part(thing, v) or is_whole_word_part(v, thing) for v in vocabulary
        ):
            known = ', '.join(vocabulary[:20]) or 'nothing'
            raise PlanSyntaxError(f'{quote(thing)} is not in the scene; in the scene: {known}')
