"""The gate in front of every route: rules of `access`, sizes, and headers of the answers."""

from __future__ import annotations

import json
from http.cookies import CookieError
from http.cookies import SimpleCookie

from starlette.types import ASGIApp
from starlette.types import Message
from starlette.types import Receive
from starlette.types import Scope
from starlette.types import Send

from structrl_ros.console.access import HostRule
from structrl_ros.console.access import Sessions
from structrl_ros.console.access import origin_refusal

COOKIE = 'structrl_console'
CSRF_HEADER = 'x-structrl-csrf'
LOGIN = '/login'
LARGEST_BODY = 16_384
#: What everybody may fetch: it holds nothing of the robot.
_OPEN = ('/', LOGIN, '/session')
_OPEN_FOLDER = '/page/'
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self' {socket}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Gate:
    """ASGI middleware: lets through what is allowed, and says of the rest why not."""

    def __init__(self, app: ASGIApp, *, hosts: HostRule, sessions: Sessions) -> None:
        """Stand in front of `app`."""
        self._app = app
        self._hosts = hosts
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge one request or one WebSocket."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        headers = {k.decode('latin-1'): v.decode('latin-1') for k, v in scope['headers']}
        status, why = self.refusal(scope, headers)
        if not why:
            answer = send if scope['type'] == 'websocket' else _with_headers(send, headers)
            await self._app(scope, receive, answer)
        elif scope['type'] == 'websocket':
            await receive()
            await send({'type': 'websocket.close', 'code': 1008, 'reason': why})
        else:
            await _refuse(_with_headers(send, headers), status, why)

    def refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str]:
        """Return the status and the reason of a refusal; (200, '') lets it through."""
        if why := self._hosts.refusal(headers.get('host', '')):
            return 421, why
        is_socket = scope['type'] == 'websocket'
        method = 'GET' if is_socket else scope['method']
        if method not in ('GET', 'HEAD', 'POST'):
            return 405, f'method {method} is not allowed'
        is_change = method == 'POST'
        if is_socket or is_change:
            scheme = str(scope['scheme']).replace('ws', 'http', 1)
            if why := origin_refusal(headers, scheme):
                return 403, why
        if is_change and (refusal := _body_refusal(headers))[1]:
            return refusal
        return self._session_refusal(scope['path'], headers, is_change=is_change)

    def _session_refusal(
        self, path: str, headers: dict[str, str], *, is_change: bool
    ) -> tuple[int, str]:
        if path in _OPEN or path.startswith(_OPEN_FOLDER):
            return 200, ''
        cookie = session_cookie(headers.get('cookie', ''))
        if not self._sessions.is_open(cookie):
            return 401, 'no session: open the page, and give the token if it asks for it'
        if is_change and not self._sessions.is_csrf(cookie, headers.get(CSRF_HEADER, '')):
            return 403, f'header {CSRF_HEADER} is missing or not that of this session'
        return 200, ''


def session_cookie(header: str) -> str:
    """Return our cookie in a Cookie header, '' if there is none."""
    try:
        cookies = SimpleCookie(header)
    except CookieError:
        return ''
    return cookies[COOKIE].value if COOKIE in cookies else ''


def _body_refusal(headers: dict[str, str]) -> tuple[int, str]:
    length = headers.get('content-length', '')
    if not length.isdecimal():
        return 411, 'the Content-Length header is missing'
    if int(length) > LARGEST_BODY:
        return 413, f'the request has {length} bytes; allowed: {LARGEST_BODY}'
    kind = headers.get('content-type', '').partition(';')[0].strip().lower()
    if kind != 'application/json':
        return 415, f'content type {kind!r} is not allowed; send application/json'
    return 200, ''


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({'is_done': False, 'message': why}).encode()
    head = [(b'content-type', b'application/json'), (b'content-length', b'%d' % len(body))]
    await send({'type': 'http.response.start', 'status': status, 'headers': head})
    await send({'type': 'http.response.body', 'body': body})


def _with_headers(send: Send, headers: dict[str, str]) -> Send:
    host = headers.get('host', '')
    # Named outright: not every browser takes 'self' for WebSockets. The host was judged before.
    policy = _POLICY.format(socket=f'ws://{host} wss://{host}' if _is_plain(host) else '')
    added = [
        (b'content-security-policy', policy.encode('latin-1')),
        (b'x-content-type-options', b'nosniff'),
        (b'referrer-policy', b'no-referrer'),
        (b'cross-origin-opener-policy', b'same-origin'),
        (b'cross-origin-resource-policy', b'same-origin'),
        (b'cache-control', b'no-store'),
    ]

    async def answer(message: Message) -> None:
        if message['type'] == 'http.response.start':
            message = {**message, 'headers': [*message['headers'], *added]}
        await send(message)

    return answer


def _is_plain(host: str) -> bool:
    return host.isascii() and all(c.isalnum() or c in '.:-[]_' for c in host)
