"""The routes: the page, the session, the live feed, and one POST for every action."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from importlib.resources import files
from typing import Annotated
from typing import Any

from fastapi import FastAPI
from fastapi import Request
from fastapi import WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.responses import Response
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from starlette.types import ASGIApp

from structrl_ros.console import operator
from structrl_ros.console.access import HostRule
from structrl_ros.console.access import Sessions
from structrl_ros.console.gate import COOKIE
from structrl_ros.console.gate import LOGIN
from structrl_ros.console.gate import Gate
from structrl_ros.console.gate import session_cookie
from structrl_ros.console.operator import Answer
from structrl_ros.console.operator import Operator
from structrl_ros.console.viewers import Viewers

#: Seconds for the graph to answer; a simulator may build a scene in them.
ANSWER_S = 30.0
#: Seconds for an emergency stop to be confirmed before the page says that it is not.
STOP_ANSWER_S = 5.0
#: Seconds of silence after a wrong token.
WRONG_TOKEN_S = 1.0
_KINDS = {'html': 'text/html', 'css': 'text/css', 'js': 'text/javascript', 'svg': 'image/svg+xml'}


class _Body(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, hide_input_in_errors=True)


class Nothing(_Body):
    """An action without arguments."""


class Confirmed(_Body):
    """An action that is asked for twice."""

    confirmed: bool


class Instruction(_Body):
    """A sentence and its limit in seconds of the body's clock, 0: the planner's."""

    instruction: Annotated[str, Field(min_length=1, max_length=500, pattern=r'^[^\x00-\x1f]+$')]
    time_limit_s: Annotated[float, Field(ge=0.0, le=86400.0, allow_inf_nan=False)] = 0.0


class Judgement(_Body):
    """A person's word on the episode."""

    success: bool


class Secret(_Body):
    """The token."""

    token: Annotated[str, Field(max_length=1000)]


def make_app(
    operator_: Operator, viewers: Viewers, *, hosts: HostRule, sessions: Sessions
) -> ASGIApp:
    """Return the console as an ASGI application, with its gate in front."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _add_page(app, sessions)
    _add_actions(app, operator_)

    async def live(socket: WebSocket) -> None:
        await viewers.serve(socket)

    app.add_api_websocket_route('/live', live)
    app.add_exception_handler(RequestValidationError, _say_what_is_wrong)
    return Gate(app, hosts=hosts, sessions=sessions)


def _add_page(app: FastAPI, sessions: Sessions) -> None:
    folder = files('structrl_ros.console') / 'page'
    page = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    def serve(name: str) -> Response:
        kind = _KINDS.get(name.rpartition('.')[2], '')
        if name not in page or not kind:
            return _answer(Answer(False, f'there is no page {name!r}'), 404)
        return Response(page[name], media_type=kind)

    async def root() -> Response:
        return serve('index.html')

    async def part(name: str) -> Response:
        return serve(name)

    async def session(request: Request) -> Response:
        cookie = session_cookie(request.headers.get('cookie', ''))
        if sessions.is_open(cookie):
            return JSONResponse({'csrf': sessions.csrf(cookie)})
        if sessions.needs_token:
            return JSONResponse({'csrf': '', 'message': 'the token is needed'}, 401)
        return _begin_session(request, sessions)

    async def login(request: Request, body: Secret) -> Response:
        if sessions.is_token(body.token):
            return _begin_session(request, sessions)
        await asyncio.sleep(WRONG_TOKEN_S)
        return _answer(Answer(False, 'that is not the token'), 401)

    app.add_api_route('/', root)
    app.add_api_route('/page/{name}', part)
    app.add_api_route('/session', session)
    app.add_api_route(LOGIN, login, methods=['POST'])


def _begin_session(request: Request, sessions: Sessions) -> Response:
    cookie = sessions.open()
    answer = JSONResponse({'csrf': sessions.csrf(cookie)})
    is_secure = request.url.scheme == 'https'
    answer.set_cookie(COOKIE, cookie, httponly=True, samesite='strict', secure=is_secure)
    return answer


def _add_actions(app: FastAPI, does: Operator) -> None:
    async def emergency_stop(body: Nothing) -> Response:
        return await _done(does.emergency_stop, STOP_ANSWER_S)

    async def reset_safety(body: Confirmed) -> Response:
        if not body.confirmed:
            return _answer(Answer(False, 'the reset of a stop must be confirmed'), 400)
        return await _done(does.reset_safety)

    async def run(body: Instruction) -> Response:
        return await _done(lambda: does.run(body.instruction, body.time_limit_s))

    async def cancel(body: Nothing) -> Response:
        return await _done(does.cancel)

    async def release_takeover(body: Nothing) -> Response:
        return await _done(does.release_takeover)

    async def mark(body: Judgement) -> Response:
        return await _done(lambda: does.mark(body.success))

    async def record(body: Nothing) -> Response:
        return await _done(lambda: does.record(True))

    async def stop_recording(body: Nothing) -> Response:
        return await _done(lambda: does.record(False))

    async def new_episode(body: Confirmed) -> Response:
        if not body.confirmed:
            return _answer(Answer(False, 'a new episode must be confirmed'), 400)
        return await _done(does.new_episode)

    actions: dict[str, Callable[..., Any]] = {
        operator.EMERGENCY_STOP: emergency_stop,
        operator.RESET_SAFETY: reset_safety,
        operator.RUN: run,
        operator.CANCEL: cancel,
        operator.RELEASE_TAKEOVER: release_takeover,
        operator.MARK: mark,
        operator.RECORD: record,
        operator.STOP_RECORDING: stop_recording,
        operator.NEW_EPISODE: new_episode,
    }
    for name, action in actions.items():
        app.add_api_route(f'/do/{name}', action, methods=['POST'])


async def _done(begin: Callable[[], Future[Answer]], limit_s: float = ANSWER_S) -> Response:
    """Ask the graph and wait for its answer, without a thread that could be missing."""
    asked = asyncio.wrap_future(begin())
    try:
        answer = await asyncio.wait_for(asyncio.shield(asked), limit_s)
    except TimeoutError:
        why = f'asked for, but nobody answered within {limit_s:g} s'
        return _answer(Answer(False, why), 504)
    return _answer(answer, 200 if answer.is_done else 409)


def _answer(answer: Answer, status: int) -> Response:
    return JSONResponse({'is_done': answer.is_done, 'message': answer.message}, status)


async def _say_what_is_wrong(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = '.'.join(str(word) for word in first['loc'][1:]) or 'body'
    return _answer(Answer(False, f'{place}: {first["msg"]}'), 422)
