"""What planner and monitor are asked, whatever answers: prompts, conversations and schemas.

The prompts are files with a version in `prompts/`; a change is a new version. The plan forms are
those of StructRL (Appendix B.1), Replan is line 19 of REVER's Algorithm 1 and the question to the
monitor its Verify(s, o_start, o_now). The answers are text: the planner's goes through the same
parser as that of every backend.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from string import Template

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.naming import expand
from structrl_ros.types import JsonObject
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import UInt8

VERDICT_SCHEMA: JsonObject = {
    'type': 'object',
    'properties': {'done': {'type': 'boolean'}, 'confidence': {'type': 'number'}},
    'required': ['done', 'confidence'],
    'additionalProperties': False,
}

#: In which form the answer to a prompt for plans is: one JSON object, or REVER's think and answer
#: blocks (Section III-B1), which models that were trained by its format reward write.
PLAN_FORMS = {'plan_v1': 'json', 'plan_blocks_v1': 'blocks', 'plan_brief_v1': 'blocks'}

#: The answers to a prompt that asks for one word.
WORDS = ('True', 'False')

_TAGS = re.compile(r'</?(think|answer)>')
#: What a JSON text may hold as it is: no control character, quote or backslash.
_READABLE = '[ !#-\\[\\]-~\u00a0-\ud7ff\ue000-\ufffd]'
#: The same with line breaks and quotes, without what could open a tag.
_THOUGHT = '[\\n -;=-~\u00a0-\ud7ff\ue000-\ufffd]'
_MOST_IN_STAGE = 4
_PLAIN_NAME = re.compile(r'[a-z0-9][a-z0-9 ]*')


def read_prompt(name: str) -> str:
    """Return a prompt by name and version, for example 'plan_v1'.

    Raises:
        ParameterError: If there is none of that name.
    """
    folder = Path(__file__).parent / 'prompts'
    known = {p.stem: p for p in folder.glob('*.txt')}
    if name not in known:
        raise ParameterError(f'prompt {name!r} is unknown; known: {", ".join(sorted(known))}')
    return known[name].read_text(encoding='utf-8').strip()


def plan_schema(
    vocabulary: Iterable[str] | None = None,
    *,
    reasoning_characters: int | None = None,
    max_steps: int | None = None,
) -> JsonObject:
    """Return the JSON schema of a plan; without arguments the one that every server takes.

    Args:
        vocabulary: Names in the scene; given, a step is a form of the skill grammar with such
            names, for decoders that understand `pattern`.
        reasoning_characters: Longest reasoning, of one line, for decoders that understand
            `pattern`.
        max_steps: Most stages, for decoders that understand `maxItems`; a stage then holds at
            most 4 steps.
    """
    reasoning: JsonObject = {'type': 'string'}
    if reasoning_characters is not None:
        reasoning['pattern'] = f'^{_READABLE}{{1,{reasoning_characters}}}$'
    step: JsonObject = {'type': 'string'}
    pattern = None if vocabulary is None else _step_pattern(vocabulary)
    if pattern is not None:
        step['pattern'] = f'^{pattern}$'
    stage: JsonObject = {'type': 'array', 'items': step}
    stages: JsonObject = {'type': 'array', 'items': stage}
    if max_steps is not None:
        stage |= {'minItems': 1, 'maxItems': min(max_steps, _MOST_IN_STAGE)}
        stages |= {'minItems': 1, 'maxItems': max_steps}
    return {
        'type': 'object',
        'properties': {'reasoning': reasoning, 'stages': stages},
        'required': ['reasoning', 'stages'],
        'additionalProperties': False,
    }


def plan_pattern(
    vocabulary: Iterable[str] | None, *, reasoning_characters: int, max_steps: int
) -> str:
    """Return a regular expression of a plan in think and answer blocks, one step a line.

    Args: as for `plan_schema`; `max_steps` is the most lines.
    """
    step = None if vocabulary is None else _step_pattern(vocabulary)
    line = f'[1-9][0-9]?\\. {step or "[a-z][a-z0-9 ]{2,80}"}\\n'
    thought = f'<think>{_THOUGHT}{{1,{reasoning_characters}}}</think>'
    return f'{thought}\\n?<answer>\\n?({line}){{1,{max_steps}}}</answer>'


def plan_messages(
    request: PlanRequest, prompt: str, replan: str, pictures: Sequence[JsonObject]
) -> list[JsonObject]:
    """Return the conversation that asks for a plan.

    Args:
        request: What is asked; a failed attempt makes it Replan, rejected answers go back.
        prompt: Text of the system's message.
        replan: Template of what is added after a failed attempt: $plan, $number, $reason.
        pictures: Parts of the message with the images, in the form of the backend.
    """
    messages: list[JsonObject] = [
        {'role': 'system', 'content': prompt},
        {'role': 'user', 'content': [text_part(_plan_question(request, replan)), *pictures]},
    ]
    for answer, error in request.rejected:
        said = f'That is no valid plan: {error}. Answer again, with a valid one.'
        messages += [
            {'role': 'assistant', 'content': answer},
            {'role': 'user', 'content': said},
        ]
    return messages


def verify_messages(
    subtask: Subtask,
    prompt: str,
    before: Sequence[JsonObject],
    after: Sequence[JsonObject],
) -> list[JsonObject]:
    """Return the conversation of Verify; what stays the same through a step comes first.

    Args:
        subtask: The step.
        prompt: Text of the system's message.
        before: Parts with the images of the moment when the step began.
        after: Parts with those of now.
    """
    parts = [text_part(f'Step: {subtask.phrase}'), text_part('When the step began:'), *before]
    parts += [text_part('Now:'), *after]
    return [{'role': 'system', 'content': prompt}, {'role': 'user', 'content': parts}]


def text_part(text: str) -> JsonObject:
    """Return a part of a message with text in it."""
    return {'type': 'text', 'text': text}


def images_of(observation: Observation | None, roles: Sequence[str]) -> list[UInt8]:
    """Return the images of the roles, in order, each (H, W, 3).

    Raises:
        StaleDataError: If one is missing.
    """
    images = {} if observation is None else observation.images
    missing = [r for r in roles if r not in images]
    if missing:
        raise StaleDataError(f'no image of {", ".join(missing)} has come from the body yet')
    return [images[r] for r in roles]


def with_reasoning(text: str) -> str:
    """Put the reasoning of a JSON answer into a think block; any other text stays as it is."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    reasoning = answer.get('reasoning') if isinstance(answer, dict) else None
    if not isinstance(reasoning, str) or not reasoning.strip() or _TAGS.search(text):
        return text
    return f'<think>{reasoning}</think><answer>{text}</answer>'


def _plan_question(request: PlanRequest, replan: str) -> str:
    """Return the question in words."""
    lines = [f'Instruction: {request.instruction}']
    if request.vocabulary is not None:
        lines.append(f'In the scene: {", ".join(request.vocabulary)}')
    if request.failed is not None:
        steps = request.failed.plan.subtasks
        listed = '; '.join(f'{i + 1}. {s.phrase}' for i, s in enumerate(steps))
        number, reason = request.failed.index + 1, request.failed.reason
        lines.append(Template(replan).safe_substitute(plan=listed, number=number, reason=reason))
    return '\n'.join(lines)


def _step_pattern(vocabulary: Iterable[str]) -> str | None:
    """Return a regular expression of the steps about these names, None without a plain name."""
    names = [n for n in expand(vocabulary) if _PLAIN_NAME.fullmatch(n)]
    if not names:
        return None
    thing = f'({"|".join(names)})'
    forms = (
        f'(grasp|open|close|turn on|turn off|press) {thing}',
        f'place {thing} (in|on) {thing}',
        f'pour {thing} into {thing}',
    )
    return f'({"|".join(forms)})'
