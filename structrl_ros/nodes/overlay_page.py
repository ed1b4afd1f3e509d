"""The page of `structrl overlay`: the live picture over a reference, on this machine alone.

It only reads: every request is a GET that changes nothing, and what the page chooses (card, mode,
weight) travels in its own requests. It listens on 127.0.0.1 and answers to that name alone, so
that no foreign page can read it by rebinding a name.
"""

from __future__ import annotations

import io
import json
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs
from urllib.parse import urlsplit

from PIL import Image

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.overlay_node import OverlayNode
from structrl_ros.nodes.watched_camera import Live
from structrl_ros.recording.overlay_document import overlay_document
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

HOST = '127.0.0.1'
QUALITY = 85
#: Seconds after which a picture is too old to be shown as live.
OLD_S = 2.0
_NAMES = frozenset({'127.0.0.1', 'localhost'})
_POLICY = (
    "default-src 'none'; img-src 'self' data: blob:; connect-src 'self'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class OverlayPage:
    """Serves the page of an overlay_node that somebody else spins."""

    def __init__(self, node: OverlayNode, port: int) -> None:
        """Bind; port 0 takes a free one.

        Raises:
            ParameterError: If the port cannot be had.
        """
        self._cards, self._camera = node.cards, node.camera
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page.answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except OSError as error:
            why = f'cannot listen on {HOST}:{port}: {error.strerror}; another port: --port 0'
            raise ParameterError(why) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f'http://{HOST}:{self._server.server_address[1]}/'

    def start(self) -> None:
        """Serve in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one GET."""
        host = request.headers.get('Host', '').rpartition(':')[0] or request.headers.get('Host')
        if host not in _NAMES:
            _send(request, HTTPStatus.MISDIRECTED_REQUEST, 'text/plain', b'not this host')
            return
        place = urlsplit(request.path)
        query = {key: values[-1] for key, values in parse_qs(place.query).items()}
        try:
            kind, body = self._content(place.path, query)
        except KeyError:
            _send(request, HTTPStatus.NOT_FOUND, 'text/plain', b'no such page')
        except StructRLError as error:
            _send(request, HTTPStatus.BAD_REQUEST, 'text/plain', str(error).encode())
        else:
            _send(request, HTTPStatus.OK, kind, body)

    def _content(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        """Return type and bytes of a path.

        Raises:
            KeyError: If there is no such path.
            ParameterError: If a value is not allowed, or no picture has come.
        """
        if path == '/':
            return 'text/html; charset=utf-8', overlay_document(self._camera.role).encode()
        if path == '/state.json':
            state = self.state(_number(query, 'card', 0))
            return 'application/json', json.dumps(state).encode()
        if path == '/reference.jpg':
            card = _number(query, 'card', 0)
            return 'image/jpeg', _jpeg(self._cards.reference(card).picture)
        if path == '/overlay.jpg':
            return 'image/jpeg', self._drawn(query)
        raise KeyError(path)

    def state(self, card: int) -> JsonObject:
        """Return the references, how old the newest picture is, and how well it matches."""
        self._camera.ask()
        live = self._live()
        found: JsonObject = {
            'role': self._camera.role,
            'references': [{'name': r.name, 'text': r.text} for r in self._cards.references],
            'age_s': None if live is None else round(time.monotonic() - live.heard_s, 2),
            'match': None,
        }
        if live is not None and card < len(self._cards.references):
            overlay = self._cards.overlay(card, live.picture)
            match, shift = overlay.match(live.picture), overlay.shift_px(live.picture)
            found['match'] = {
                'score': round(match.score, 3),
                'worst': round(match.worst, 3),
                'worst_at': [round(v, 3) for v in match.worst_at],
                'shift_px': [round(v, 1) for v in shift],
            }
        return found

    def _live(self) -> Live | None:
        live = self._camera.live
        if live is None or time.monotonic() - live.heard_s > OLD_S:
            return None
        return live

    def _drawn(self, query: dict[str, str]) -> bytes:
        self._camera.ask()
        live = self._live()
        if live is None:
            raise ParameterError(f'no picture of {self._camera.role} for {OLD_S:g} s')
        overlay = self._cards.overlay(_number(query, 'card', 0), live.picture)
        alpha = _number(query, 'percent', 50) / 100.0
        return _jpeg(overlay.draw(live.picture, query.get('mode', 'blend'), alpha))


def _number(query: dict[str, str], name: str, default: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise ParameterError(f'{name} is {text!r}; allowed: a whole number')
    return int(text)


def _jpeg(picture: UInt8) -> bytes:
    out = io.BytesIO()
    Image.fromarray(picture).save(out, 'JPEG', quality=QUALITY)
    return out.getvalue()


def _send(request: BaseHTTPRequestHandler, status: HTTPStatus, kind: str, body: bytes) -> None:
    request.send_response(status)
    headers = {
        'Content-Type': kind,
        'Content-Length': str(len(body)),
        'Cache-Control': 'no-store',
        'Content-Security-Policy': _POLICY,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'Cross-Origin-Resource-Policy': 'same-origin',
    }
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)
