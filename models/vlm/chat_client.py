"""A small client of OpenAI-compatible servers: one question, one answer, bounded in time.

Needs `httpx`. It speaks `POST {base_url}/chat/completions` with `response_format` json_schema,
which OpenAI, vLLM, llama.cpp and others take. The key is read from the environment at each call
and never logged.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import TypeVar
from urllib.parse import urlsplit

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.types import JsonObject

Answer = TypeVar('Answer')

_MAX_BYTES = 4_000_000
_MAX_WAIT_S = 10.0
_RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_QUOTED = 200


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
        parts = urlsplit(self.base_url)
        if parts.scheme not in {'http', 'https'} or not parts.netloc:
            raise ParameterError(
                f'base_url is {self.base_url!r}; allowed: http(s)://HOST[:PORT]/v1'
            )
        if parts.username or parts.password:
            raise ParameterError('base_url holds a user or password; give the key by key_variable')
        if not self.model:
            raise ParameterError('model is empty; allowed: the name of a model on the server')
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
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                'the openai backends need httpx; install it with: pip install httpx'
            ) from None
        self._errors = httpx.HTTPError
        self._timeouts = httpx.TimeoutException
        self.settings = settings
        self._client = httpx.Client(timeout=settings.timeout_s)

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
        self._client.close()

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
        tries = self.settings.retries + 1
        reason = ''
        for attempt in range(tries):
            try:
                return self._try(body, read)
            except _TransientError as error:
                reason = str(error)
                if attempt + 1 < tries:
                    time.sleep(self._wait_s(attempt, error.wait_s))
        raise PlannerUnavailableError(f'{self._where()}: {reason} ({tries} tries)')

    def _wait_s(self, attempt: int, wished_s: float) -> float:
        """Return the wait before the next try: doubling, with jitter, or what the server wants."""
        doubled = self.settings.backoff_s * 2**attempt * random.uniform(0.8, 1.2)
        return min(max(doubled, wished_s), _MAX_WAIT_S)

    def _try(self, body: JsonObject, read: Callable[[Any], Answer]) -> Answer:
        """Send once; raise a transient error where another try may help."""
        headers = {}
        key = os.environ.get(self.settings.key_variable, '') if self.settings.key_variable else ''
        if key:
            headers['Authorization'] = f'Bearer {key}'
        url = f'{self.settings.base_url.rstrip("/")}/chat/completions'
        try:
            with self._client.stream('POST', url, json=body, headers=headers) as response:
                content = self._read(response)
                status = response.status_code
                wished_s = _seconds(response.headers.get('retry-after', ''))
        except self._timeouts:
            raise _TransientError(f'no answer within {self.settings.timeout_s:g} s') from None
        except self._errors as error:
            raise _TransientError(f'{type(error).__name__}: {error}') from None
        if status in _RETRIED_STATUS:
            raise _TransientError(f'HTTP {status}: {self._quote(content, key)}', wished_s)
        if status != 200:
            said = self._quote(content, key)
            raise PlannerUnavailableError(f'{self._where()}: HTTP {status}: {said}')
        try:
            return read(json.loads(content)['choices'][0])
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            said = self._quote(content, key)
            raise _TransientError(f'the answer is no chat completion: {said}') from None

    def _read(self, response: Any) -> bytes:
        """Read the answer, at most 4 MB of it and within the time of one try."""
        deadline = time.monotonic() + self.settings.timeout_s
        content = b''
        for piece in response.iter_bytes():
            content += piece
            if len(content) > _MAX_BYTES:
                raise _TransientError(f'the answer is longer than {_MAX_BYTES} bytes')
            if time.monotonic() > deadline:
                raise _TransientError(f'no whole answer within {self.settings.timeout_s:g} s')
        return content

    def _where(self) -> str:
        """Return server and model, for errors."""
        return f'model {self.settings.model} at {self.settings.base_url}'

    def _quote(self, content: bytes, key: str) -> str:
        """Return the start of an answer on one line, without the key if the server echoes it."""
        line = ' '.join(content.decode('utf-8', 'replace').split())
        if key:
            line = line.replace(key, '***')
        return ''.join(c if c.isprintable() else '?' for c in line[:_QUOTED]) or 'nothing'


class _TransientError(Exception):
    """A failure that another try may mend."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


def _text(choice: Any) -> str:
    """Return the text of an answer."""
    text = choice['message']['content']
    if not isinstance(text, str):
        raise _TransientError('the answer holds no text')
    return text


def _first_tokens(choice: Any) -> dict[str, float]:
    """Return the first tokens of an answer with their logarithms."""
    told = choice.get('logprobs') if isinstance(choice, dict) else None
    if not told or not told.get('content'):
        raise _TransientError('the server gives no logprobs; verify_v1 does without')
    return {str(t['token']): float(t['logprob']) for t in told['content'][0]['top_logprobs']}


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header, 0 if it is a date or absent."""
    return float(text) if text.isdecimal() else 0.0
