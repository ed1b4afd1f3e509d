"""What clients of OpenAI-compatible servers share: one bounded request, told apart by its outcome.

Needs `httpx`. The key is read from the environment at each request; it is never logged, and cut
out of whatever a server echoes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from typing import TypeVar
from urllib.parse import urlsplit

from structrl_ros.errors import ParameterError

Answer = TypeVar('Answer')

#: Statuses after which another try may fare better.
RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_QUOTED = 200


class TransientError(Exception):
    """A failure that another try may mend.

    Attributes:
        wait_s: Seconds that the server wants until then.
        is_of_server: Whether the server is down or busy, rather than its answer bad.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, is_of_server: bool = True) -> None:
        """Tell what failed."""
        super().__init__(message)
        self.wait_s, self.is_of_server = wait_s, is_of_server


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is whole; `quote` of it is safe to show.

    Attributes:
        status: Of HTTP; none of `RETRIED_STATUS`.
        content: As it came.
        headers: By lower-case name.
        key: What is cut out of a quotation.
    """

    status: int
    content: bytes
    headers: Mapping[str, str]
    key: str

    @property
    def said(self) -> str:
        """The start of the answer on one line."""
        return one_line(self.content.decode('utf-8', 'replace'), self.key)


class Endpoint:
    """One path of a server; requests may come from any thread."""

    def __init__(
        self, base_url: str, path: str, *, key_variable: str, timeout_s: float, max_bytes: int
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            base_url: Address up to and with the version, such as http://127.0.0.1:8000/v1.
            path: After it, such as 'chat/completions'.
            key_variable: Environment variable that holds the key; '' sends none.
            timeout_s: Longest wall time of a request, seconds.
            max_bytes: Longest answer.

        Raises:
            ParameterError: If httpx is not installed.
        """
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                'servers of models need httpx; install it with: pip install httpx'
            ) from None
        self._errors, self._timeouts = httpx.HTTPError, httpx.TimeoutException
        self._url = f'{base_url.rstrip("/")}/{path}'
        self._key_variable, self._timeout_s, self._max_bytes = key_variable, timeout_s, max_bytes
        self._client = httpx.Client(timeout=timeout_s)

    def post(self, headers: Mapping[str, str] | None = None, **body: Any) -> Reply:
        """Send once.

        Args:
            headers: Beside that of the key.
            **body: `json`, or `data` and `files`, as httpx takes them.

        Raises:
            TransientError: If there is no whole answer, or one that asks for another try.
        """
        key = os.environ.get(self._key_variable, '') if self._key_variable else ''
        sent = dict(headers or {})
        if key:
            sent['Authorization'] = f'Bearer {key}'
        try:
            with self._client.stream('POST', self._url, headers=sent, **body) as response:
                content = self._read(response)
                reply = Reply(response.status_code, content, response.headers, key)
        except self._timeouts:
            raise TransientError(f'no answer within {self._timeout_s:g} s') from None
        except self._errors as error:
            raise TransientError(f'{type(error).__name__}: {one_line(str(error), key)}') from None
        if reply.status in RETRIED_STATUS:
            wait_s = _seconds(reply.headers.get('retry-after', ''))
            raise TransientError(f'HTTP {reply.status}: {reply.said}', wait_s)
        return reply

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._client.close()

    def _read(self, response: Any) -> bytes:
        """Read the answer within the time of one request."""
        deadline = time.monotonic() + self._timeout_s
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > self._max_bytes:
                raise TransientError(f'the answer is longer than {self._max_bytes} bytes')
            if time.monotonic() > deadline:
                raise TransientError(f'no whole answer within {self._timeout_s:g} s')
        return bytes(content)


def check_address(base_url: str, model: str) -> None:
    """Refuse what is no address, and a model without a name.

    Raises:
        ParameterError: If one is.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in {'http', 'https'} or not parts.netloc:
        raise ParameterError(f'base_url is {base_url!r}; allowed: http(s)://HOST[:PORT]/v1')
    if parts.username or parts.password:
        raise ParameterError('base_url holds a user or password; give the key by key_variable')
    if not model:
        raise ParameterError('model is empty; allowed: the name of a model on the server')


def tried(
    ask: Callable[[], Answer],
    *,
    retries: int,
    backoff_s: float,
    most_wait_s: float,
    sleep: Callable[[float], object] = time.sleep,
) -> Answer:
    """Return what `ask` returns, asking again after a failure that another try may mend.

    Args:
        ask: One try.
        retries: Tries after the first, from 0.
        backoff_s: Wait before the second try, with jitter; doubles with each further one.
        most_wait_s: Longest wait, whatever the server wants.
        sleep: Waits, seconds.

    Raises:
        TransientError: Of the last try.
    """
    for attempt in range(retries):
        try:
            return ask()
        except TransientError as error:
            doubled = backoff_s * 2**attempt * random.uniform(0.8, 1.2)
            sleep(min(max(doubled, error.wait_s), most_wait_s))
    return ask()


def one_line(text: str, key: str) -> str:
    """Return the start of a text on one line, without the key if the server echoes it."""
    line = ' '.join(text.split())
    if key:
        line = line.replace(key, '***')
    return ''.join(c if c.isprintable() else '?' for c in line[:_QUOTED]) or 'nothing'


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header, 0 if it is a date or absent."""
    return float(text) if text.isdecimal() else 0.0
