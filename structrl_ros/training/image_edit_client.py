"""A client of OpenAI-compatible image editors: pictures and a prompt to one picture.

Needs `httpx` and `pillow`. It speaks `POST {base_url}/images/edits` (multipart, `b64_json`). The
key is read from the environment at each try; it is never logged, nor kept in a record.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.training.image_edit_picture import ImageAnswerError
from structrl_ros.training.image_edit_picture import png_of
from structrl_ros.training.image_edit_picture import read_answer
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

_MAX_BYTES = 64_000_000
_MAX_WAIT_S = 120.0
_RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
#: Key, address or model is wrong: no other request can fare better.
_HOPELESS_STATUS = frozenset({401, 402, 403, 404, 405})
_QUOTED = 200
_OWN_FIELDS = frozenset({'model', 'prompt', 'size', 'n', 'image', 'image[]'})


class ImageEditError(StructRLError):
    """An image editor gave no picture for one request; others may fare better."""


class EditorUnavailableError(ImageEditError):
    """Every try of a request failed at a server that is down or busy."""


class EditorRefusedError(ImageEditError):
    """The server takes no request at all: wrong key, address or model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorSettings:
    """Where and how to ask.

    Attributes:
        base_url: Address up to and with the version, such as http://127.0.0.1:8000/v1.
        model: Name of the model on the server.
        key_variable: Environment variable that holds the key; '' sends none.
        timeout_s: Longest wall time of one try, seconds.
        retries: Tries after the first that failed, from 0.
        backoff_s: Wall time before the second try; doubles with each further one.
        fields: More fields of the form, as ('quality', 'low').
        seed_field: Field of the form that takes the seed; '' sends none (OpenAI knows none).
    """

    base_url: str
    model: str
    key_variable: str = 'OPENAI_API_KEY'
    timeout_s: float = 180.0
    retries: int = 3
    backoff_s: float = 1.0
    fields: tuple[tuple[str, str], ...] = ()
    seed_field: str = ''

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
        if not self.timeout_s > 0 or not self.backoff_s >= 0 or self.retries < 0:
            raise ParameterError(
                f'timeout_s {self.timeout_s:g}, backoff_s {self.backoff_s:g}, retries '
                f'{self.retries}; allowed: above 0, from 0, from 0'
            )
        for name in (*dict(self.fields), self.seed_field):
            if name in _OWN_FIELDS:
                raise ParameterError(f'field {name!r} is set here; allowed: any other name')


@dataclass(frozen=True, slots=True)
class EditRequest:
    """What is sent for one view of one frame.

    Attributes:
        prompt: The whole text.
        pictures: References, then the one to edit, RGB, each of shape (S, S, 3).
        seed: Sent where the server has a field for it.
    """

    prompt: str
    pictures: tuple[UInt8, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class EditAnswer:
    """What came back.

    Attributes:
        content: The image file as the server made it.
        server_request_id: Its own name for the request, '' if it has none.
        usage: What it says about cost, {} if nothing.
    """

    content: bytes
    server_request_id: str
    usage: JsonObject


class ImageEditor:
    """Asks one server; calls may come from any thread, `close` frees the connections."""

    def __init__(
        self,
        settings: EditorSettings,
        *,
        before_try: Callable[[], None] = lambda: None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            settings: Where and how.
            before_try: Called before each try is sent; what it raises ends the request.
            sleep: Waits between tries, seconds.

        Raises:
            ParameterError: If httpx is not installed.
        """
        try:
            import httpx
        except ImportError:
            raise ParameterError(
                'image editors need httpx; install it with: pip install httpx'
            ) from None
        self._errors = httpx.HTTPError
        self._timeouts = httpx.TimeoutException
        self.settings = settings
        self._before_try, self._sleep = before_try, sleep
        self._client = httpx.Client(timeout=settings.timeout_s)

    def identifier(self, request: EditRequest) -> str:
        """Return a name of all that is asked, 64 hex digits; a server may move."""
        digest = hashlib.sha256()
        digest.update(json.dumps(self._form(request), sort_keys=True).encode())
        for picture in request.pictures:
            digest.update(f'{picture.shape}'.encode())
            digest.update(picture.tobytes())
        return digest.hexdigest()

    def edit(self, request: EditRequest) -> EditAnswer:
        """Return the answer, whose picture has the size of the one that was sent.

        Raises:
            EditorRefusedError: If no request can succeed.
            EditorUnavailableError: If every try failed at a server that is down or busy.
            ImageEditError: If this request failed; the text says how the last try did.
        """
        files = [
            ('image[]' if len(request.pictures) > 1 else 'image', (f'{n}.png', png, 'image/png'))
            for n, png in enumerate(map(png_of, request.pictures))
        ]
        name = self.identifier(request)
        tries = self.settings.retries + 1
        for attempt in range(tries):
            self._before_try()
            try:
                return self._try(request, files, name)
            except _TransientError as error:
                last = error
            if attempt + 1 < tries:
                self._sleep(self._wait_s(attempt, last.wait_s))
        kind = EditorUnavailableError if last.is_of_server else ImageEditError
        raise kind(f'{self._where()}: {last} ({tries} tries)')

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._client.close()

    def _form(self, request: EditRequest) -> dict[str, str]:
        height, width = request.pictures[-1].shape[:2]
        form = {'model': self.settings.model, 'prompt': request.prompt, 'n': '1'}
        form['size'] = f'{width}x{height}'
        form |= dict(self.settings.fields)
        if self.settings.seed_field:
            form[self.settings.seed_field] = str(request.seed)
        return form

    def _wait_s(self, attempt: int, wished_s: float) -> float:
        """Return the wait before the next try: doubling, with jitter, or what the server wants."""
        doubled = self.settings.backoff_s * 2**attempt * random.uniform(0.8, 1.2)
        return min(max(doubled, wished_s), _MAX_WAIT_S)

    def _try(self, request: EditRequest, files: list[Any], name: str) -> EditAnswer:
        variable = self.settings.key_variable
        key = os.environ.get(variable, '') if variable else ''
        headers = {'X-Client-Request-Id': name}
        if key:
            headers['Authorization'] = f'Bearer {key}'
        url = f'{self.settings.base_url.rstrip("/")}/images/edits'
        form = self._form(request)
        try:
            with self._client.stream(
                'POST', url, data=form, files=files, headers=headers
            ) as response:
                content = self._read(response)
        except self._timeouts:
            raise _TransientError(f'no answer within {self.settings.timeout_s:g} s') from None
        except self._errors as error:
            raise _TransientError(f'{type(error).__name__}: {_line(str(error), key)}') from None
        status = response.status_code
        if status != 200:
            said = f'HTTP {status}: {_line(content.decode("utf-8", "replace"), key)}'
            if status in _RETRIED_STATUS:
                raise _TransientError(said, _seconds(response.headers.get('retry-after', '')))
            hopeless = status in _HOPELESS_STATUS
            raise (EditorRefusedError if hopeless else ImageEditError)(f'{self._where()}: {said}')
        return self._answer(request, content, key, response.headers.get('x-request-id', ''))

    def _read(self, response: Any) -> bytes:
        """Read the answer, at most 64 MB of it and within the time of one try."""
        deadline = time.monotonic() + self.settings.timeout_s
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > _MAX_BYTES:
                raise _TransientError(f'the answer is longer than {_MAX_BYTES} bytes')
            if time.monotonic() > deadline:
                raise _TransientError(f'no whole answer within {self.settings.timeout_s:g} s')
        return bytes(content)

    def _answer(self, request: EditRequest, content: bytes, key: str, name: str) -> EditAnswer:
        try:
            image, usage = read_answer(content, request.pictures[-1].shape[:2])
        except ImageAnswerError as error:
            line = _line(str(error), key)
            if error.may_be_mended:
                raise _TransientError(line, is_of_server=False) from None
            raise ImageEditError(f'{self._where()}: {line}') from None
        return EditAnswer(image, _line(name, key) if name else '', usage)

    def _where(self) -> str:
        return f'image editor {self.settings.model} at {self.settings.base_url}'


class _TransientError(Exception):
    """A failure that another try may mend."""

    def __init__(self, message: str, wait_s: float = 0.0, *, is_of_server: bool = True) -> None:
        super().__init__(message)
        self.wait_s, self.is_of_server = wait_s, is_of_server


def _line(text: str, key: str) -> str:
    """Return the start of a text on one line, without the key if the server echoes it."""
    line = ' '.join(text.split())
    if key:
        line = line.replace(key, '***')
    return ''.join(c if c.isprintable() else '?' for c in line[:_QUOTED]) or 'nothing'


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header, 0 if it is a date or absent."""
    return float(text) if text.isdecimal() else 0.0
