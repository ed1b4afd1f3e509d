"""A small client of OpenAI-compatible servers: one question, one answer, bounded in time.

Needs `httpx`. It speaks `POST {base_url}/chat/completions` with `response_format` json_schema,
which OpenAI, vLLM, llama.cpp and others take. The key is read from the environment at each call
and never logged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import TypeVar

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.endpoint import Endpoint
from structrl_ros.models.vlm.endpoint import TransientError
from structrl_ros.models.vlm.endpoint import check_address
from structrl_ros.models.vlm.endpoint import tried
from structrl_ros.types import JsonObject

Answer = TypeVar('Answer')

_MAX_BYTES = 4_000_000
_MAX_WAIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Where and how to ask.

    Attributes:
        base_url: Address up to and with the version, such as http://127.0.0.1:8000/v1.
        model: Name of the model on the server.
        key_variable: Environment variable that holds the key; '' sends none.
        timeout_s: Longest wall time of one try, seconds.
        retries: Tries after the first that failed, from 0.
        backoff_s: Wall time before the second try; doubles with each further one.
        max_tokens: Longest answer.
    """

    base_url: str
    model: str
    key_variable: str = 'OPENAI_API_KEY'
    timeout_s: float = 30.0
    retries: int = 2
    backoff_s: float = 0.5
    max_tokens: int = 1024

    def __post_init__(self) -> None:
        """Refuse what is no address, and limits that are none."""
        check_address(self.base_url, self.model)
        if self.timeout_s <= 0 or self.backoff_s < 0 or self.retries < 0 or self.max_tokens < 1:
            raise ParameterError(
                'timeout_s must be positive, backoff_s and retries not negative, max_tokens from 1'
            )


class ChatClient:
    """Asks one server; calls may come from any thread, `close` frees the connection."""

    def __init__(self, settings: ChatSettings) -> None:
        """Prepare; nothing is sent yet.

        Raises:
            ParameterError: If httpx is not installed.
        """
        self.settings = settings
        self._endpoint = Endpoint(
            settings.base_url,
            'chat/completions',
            key_variable=settings.key_variable,
            timeout_s=settings.timeout_s,
            max_bytes=_MAX_BYTES,
        )

    def complete(
        self, messages: Sequence[JsonObject], schema: JsonObject | None, name: str
    ) -> str:
        """Return the text of the answer.

        Args:
            messages: Conversation in the form of the chat API.
            schema: JSON schema that the answer shall fit; None leaves its form to the model.
            name: Name of the schema.

        Raises:
            PlannerUnavailableError: If every try failed; the text says how the last one did.
        """
        more: JsonObject = {'max_tokens': self.settings.max_tokens}
        if schema is not None:
            form = {'name': name, 'strict': True, 'schema': schema}
            more['response_format'] = {'type': 'json_schema', 'json_schema': form}
        return self._ask(messages, more, _text)

    def first_tokens(self, messages: Sequence[JsonObject], count: int = 20) -> dict[str, float]:
        """Return the likeliest first tokens of the answer with the logarithms of their chances.

        Args:
            messages: Conversation in the form of the chat API.
            count: How many, as far as the server gives as many; OpenAI allows 20.

        Raises:
            PlannerUnavailableError: If every try failed, or the server gives no logarithms.
        """
        more = {'max_tokens': 1, 'logprobs': True, 'top_logprobs': count}
        return self._ask(messages, more, _first_tokens)

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._endpoint.close()

    def _ask(
        self, messages: Sequence[JsonObject], more: JsonObject, read: Callable[[Any], Answer]
    ) -> Answer:
        """Try until an answer can be read."""
        body: JsonObject = {
            'model': self.settings.model,
            'messages': list(messages),
            'temperature': 0,
            **more,
        }
        own = self.settings
        try:
            return tried(
                lambda: self._try(body, read),
                retries=own.retries,
                backoff_s=own.backoff_s,
                most_wait_s=_MAX_WAIT_S,
            )
        except TransientError as error:
            tries = own.retries + 1
            raise PlannerUnavailableError(f'{self._where()}: {error} ({tries} tries)') from None

    def _try(self, body: JsonObject, read: Callable[[Any], Answer]) -> Answer:
        """Send once; raise a transient error where another try may help."""
        reply = self._endpoint.post(json=body)
        if reply.status != 200:
            raise PlannerUnavailableError(f'{self._where()}: HTTP {reply.status}: {reply.said}')
        try:
            return read(json.loads(reply.content)['choices'][0])
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise TransientError(f'the answer is no chat completion: {reply.said}') from None

    def _where(self) -> str:
        """Return server and model, for errors."""
        return f'model {self.settings.model} at {self.settings.base_url}'


def _text(choice: Any) -> str:
    """Return the text of an answer."""
    text = choice['message']['content']
    if not isinstance(text, str):
        raise TransientError('the answer holds no text')
    return text


def _first_tokens(choice: Any) -> dict[str, float]:
    """Return the first tokens of an answer with their logarithms."""
    told = choice.get('logprobs') if isinstance(choice, dict) else None
    if not told or not told.get('content'):
        raise TransientError('the server gives no logprobs; verify_v1 does without')
    return {str(t['token']): float(t['logprob']) for t in told['content'][0]['top_logprobs']}
