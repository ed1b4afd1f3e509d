"""A client of OpenAI-compatible image editors: pictures and a prompt to one picture.

Needs `httpx` and `pillow`. It speaks `POST {base_url}/images/edits` (multipart, `b64_json`). The
key is read from the environment at each try; it is never logged, nor kept in a record.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.models.vlm.endpoint import Endpoint
from structrl_ros.models.vlm.endpoint import Reply
from structrl_ros.models.vlm.endpoint import TransientError
from structrl_ros.models.vlm.endpoint import check_address
from structrl_ros.models.vlm.endpoint import one_line
from structrl_ros.models.vlm.endpoint import tried
from structrl_ros.training.image_edit_picture import ImageAnswerError
from structrl_ros.training.image_edit_picture import png_of
from structrl_ros.training.image_edit_picture import read_answer
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

_MAX_BYTES = 64_000_000
_MAX_WAIT_S = 120.0
#: Key, address or model is wrong: no other request can fare better.
_HOPELESS_STATUS = frozenset({401, 402, 403, 404, 405})
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
        check_address(self.base_url, self.model)
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
        self.settings = settings
        self._before_try, self._sleep = before_try, sleep
        self._endpoint = Endpoint(
            settings.base_url,
            'images/edits',
            key_variable=settings.key_variable,
            timeout_s=settings.timeout_s,
            max_bytes=_MAX_BYTES,
        )

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
        own = self.settings

        def ask() -> EditAnswer:
            self._before_try()
            return self._try(request, files, name)

        try:
            return tried(
                ask,
                retries=own.retries,
                backoff_s=own.backoff_s,
                most_wait_s=_MAX_WAIT_S,
                sleep=self._sleep,
            )
        except TransientError as error:
            kind = EditorUnavailableError if error.is_of_server else ImageEditError
            raise kind(f'{self._where()}: {error} ({own.retries + 1} tries)') from None

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._endpoint.close()

    def _form(self, request: EditRequest) -> dict[str, str]:
        height, width = request.pictures[-1].shape[:2]
        form = {'model': self.settings.model, 'prompt': request.prompt, 'n': '1'}
        form['size'] = f'{width}x{height}'
        form |= dict(self.settings.fields)
        if self.settings.seed_field:
            form[self.settings.seed_field] = str(request.seed)
        return form

    def _try(self, request: EditRequest, files: list[Any], name: str) -> EditAnswer:
        reply = self._endpoint.post(
            {'X-Client-Request-Id': name}, data=self._form(request), files=files
        )
        if reply.status != 200:
            kind = EditorRefusedError if reply.status in _HOPELESS_STATUS else ImageEditError
            raise kind(f'{self._where()}: HTTP {reply.status}: {reply.said}')
        return self._answer(request, reply)

    def _answer(self, request: EditRequest, reply: Reply) -> EditAnswer:
        key, name = reply.key, reply.headers.get('x-request-id', '')
        try:
            image, usage = read_answer(reply.content, request.pictures[-1].shape[:2])
        except ImageAnswerError as error:
            line = one_line(str(error), key)
            if error.may_be_mended:
                raise TransientError(line, is_of_server=False) from None
            raise ImageEditError(f'{self._where()}: {line}') from None
        return EditAnswer(image, one_line(name, key) if name else '', usage)

    def _where(self) -> str:
        return f'image editor {self.settings.model} at {self.settings.base_url}'
