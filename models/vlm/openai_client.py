"""Planner and monitor on any OpenAI-compatible server.

Needs `httpx` and `pillow`, and a server with a vision-language model. The prompts are files with a
version in `prompts/`; the plan forms are those of StructRL (Appendix B.1), the question to the
monitor is REVER's Verify(s, o_start, o_now). The answers are text: the planner's goes through the
same parser as that of every backend.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import StaleDataError
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.pictures import image_part
from structrl_ros.models.vlm.pictures import text_part
from structrl_ros.types import JsonObject
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask

PLAN_SCHEMA: JsonObject = {
    'type': 'object',
    'properties': {
        'reasoning': {'type': 'string'},
        'stages': {'type': 'array', 'items': {'type': 'array', 'items': {'type': 'string'}}},
    },
    'required': ['reasoning', 'stages'],
    'additionalProperties': False,
}
VERDICT_SCHEMA: JsonObject = {
    'type': 'object',
    'properties': {'done': {'type': 'boolean'}, 'confidence': {'type': 'number'}},
    'required': ['done', 'confidence'],
    'additionalProperties': False,
}


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


class OpenAIPlanner:
    """REVER's planner on a server; port Planner.

    Args:
        settings: Where and how to ask.
        roles: Cameras whose images go with the question; () plans from the words alone.
        prompt: Name of the prompt.
        image_format: 'jpeg' or 'png'.
    """

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        prompt: str = 'plan_v1',
        image_format: str = 'jpeg',
    ) -> None:
        """Read the prompt; nothing is sent yet."""
        self.name = f'openai:{settings.model}'
        self.roles = tuple(roles)
        self._prompt = read_prompt(prompt)
        self._format = image_format
        self._client = ChatClient(settings)

    def propose(self, request: PlanRequest) -> str:
        """Return the model's plan as text, its reasoning in a think block.

        Raises:
            PlannerUnavailableError: If the server gave no answer.
            StaleDataError: If an image that shall go with the question is missing.
        """
        parts = [text_part(_question(request))]
        if self.roles:
            parts += _pictures(request.observation, self.roles, self._format)
        messages: list[JsonObject] = [
            {'role': 'system', 'content': self._prompt},
            {'role': 'user', 'content': parts},
        ]
        for answer, error in request.rejected:
            said = f'That is no valid plan: {error}. Answer again, with a valid one.'
            messages += [
                {'role': 'assistant', 'content': answer},
                {'role': 'user', 'content': said},
            ]
        return _with_reasoning(self._client.complete(messages, PLAN_SCHEMA, 'plan'))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class OpenAIMonitor:
    """REVER's Verify on a server; port Monitor. Arguments as for `OpenAIPlanner`."""

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        prompt: str = 'verify_v1',
        image_format: str = 'jpeg',
    ) -> None:
        """Read the prompt; nothing is sent yet."""
        if not roles:
            raise ParameterError('a monitor without cameras sees nothing; allowed: 1 role or more')
        self.name = f'openai:{settings.model}'
        self.roles = tuple(roles)
        self._prompt = read_prompt(prompt)
        self._format = image_format
        self._client = ChatClient(settings)

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return the model's judgement of two moments.

        Raises:
            PlannerUnavailableError: If the server gave no answer, or none that is a judgement.
            StaleDataError: If an image is missing.
        """
        parts = [text_part(f'Step: {subtask.phrase}'), text_part('When the step began:')]
        parts += _pictures(start, self.roles, self._format)
        parts.append(text_part('Now:'))
        parts += _pictures(now, self.roles, self._format)
        messages: list[JsonObject] = [
            {'role': 'system', 'content': self._prompt},
            {'role': 'user', 'content': parts},
        ]
        return read_judgement(self._client.complete(messages, VERDICT_SCHEMA, 'judgement'))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def read_judgement(text: str) -> Judgement:
    """Read {"done": bool, "confidence": number in [0, 1]}.

    Raises:
        PlannerUnavailableError: If the text is anything else.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    done = answer.get('done') if isinstance(answer, dict) else None
    confidence = answer.get('confidence') if isinstance(answer, dict) else None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = math.nan
    if not isinstance(done, bool) or not 0 <= confidence <= 1:
        said = ' '.join(text.split())[:80]
        allowed = '{"done": true or false, "confidence": 0 to 1}'
        raise PlannerUnavailableError(f'the monitor answered {said!r}; allowed: {allowed}')
    return Judgement(done, float(confidence))


def _pictures(
    observation: Observation | None, roles: Sequence[str], image_format: str
) -> list[JsonObject]:
    """Return the images of the roles, in order."""
    images = {} if observation is None else observation.images
    missing = [r for r in roles if r not in images]
    if missing:
        raise StaleDataError(f'no image of {", ".join(missing)} has come from the body yet')
    return [image_part(images[r], image_format) for r in roles]


def _question(request: PlanRequest) -> str:
    """Return the question in words."""
    lines = [f'Instruction: {request.instruction}']
    if request.vocabulary is not None:
        lines.append(f'In the scene: {", ".join(request.vocabulary)}')
    if request.failed is not None:
        steps = request.failed.plan.subtasks
        listed = '; '.join(f'{i + 1}. {s.phrase}' for i, s in enumerate(steps))
        lines += [
            f'Your plan was: {listed}',
            f'Step {request.failed.index + 1} failed: {request.failed.reason}.',
            'Plan again from the scene as it is now; list only what is left to do.',
        ]
    return '\n'.join(lines)


def _with_reasoning(text: str) -> str:
    """Put the reasoning of a JSON answer into a think block; any other text stays as it is."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    reasoning = answer.get('reasoning') if isinstance(answer, dict) else None
    if not isinstance(reasoning, str) or not reasoning.strip() or '<' in text:
        return text
    return f'<think>{reasoning}</think><answer>{text}</answer>'
