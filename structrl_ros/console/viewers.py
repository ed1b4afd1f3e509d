"""What goes to each browser: the state and pictures, newest only, as fast as it keeps up.

A browser confirms what it was sent; before that it gets nothing more of the same. So a slow one
gets fewer pictures, never older ones, and one that has gone costs nothing but its connection.
"""

from __future__ import annotations

import asyncio
import json
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import WebSocket
from fastapi import WebSocketDisconnect

from structrl_ros.console.history import Cursor
from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import Picture
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.types import ROLES

RATE_HZ = 10.0
#: Browsers at a time.
MOST_VIEWERS = 8
#: Seconds after which the state is sent though nothing has changed: ages have.
STATE_S = 1.0
#: Seconds in which a message must leave; longer, and the browser counts as gone.
SEND_S = 5.0
TRY_LATER = 1013
_GONE = (WebSocketDisconnect, TimeoutError, OSError)


class Viewers:
    """Serves browsers until each goes."""

    def __init__(self, state: LiveState, shelf: PictureShelf, rate_hz: float = RATE_HZ) -> None:
        """Serve state and pictures at most `rate_hz` times a second."""
        self._state = state
        self._shelf = shelf
        self._period_s = 1.0 / rate_hz
        self._press = ThreadPoolExecutor(1, thread_name_prefix='jpeg')
        self._viewers: set[_Viewer] = set()

    @property
    def count(self) -> int:
        """Browsers that look."""
        return len(self._viewers)

    async def serve(self, socket: WebSocket) -> None:
        """Serve one browser, which the gate has let through, until it goes."""
        await socket.accept()
        if len(self._viewers) >= MOST_VIEWERS:
            await socket.close(TRY_LATER, f'{MOST_VIEWERS} browsers look already')
            return
        viewer = _Viewer(socket)
        self._viewers.add(viewer)
        hearing = asyncio.create_task(self._hear(viewer))
        try:
            await self._send(viewer, hearing)
        except (*_GONE, RuntimeError):  # starlette raises RuntimeError on a closed socket
            pass
        finally:
            hearing.cancel()
            self._viewers.discard(viewer)
            self._shelf.look(viewer, ())

    async def _hear(self, viewer: _Viewer) -> None:
        """Take confirmations and which cameras are looked at; returns when the browser goes."""
        try:
            while True:
                self._understand(viewer, await viewer.socket.receive_text())
        except (*_GONE, RuntimeError, KeyError):  # KeyError: a binary message
            return

    def _understand(self, viewer: _Viewer, text: str) -> None:
        try:
            message = json.loads(text)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        if isinstance(message.get('seen'), str):
            viewer.unconfirmed.discard(message['seen'])
        if isinstance(message.get('look'), list):
            viewer.roles = tuple(r for r in ROLES if r in message['look'])
            self._shelf.look(viewer, viewer.roles)

    async def _send(self, viewer: _Viewer, hearing: asyncio.Task[None]) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while not hearing.done():
            await self._send_state(viewer, loop.time())
            for role in viewer.roles:
                await self._send_picture(viewer, role)
            due_s = max(due_s + self._period_s, loop.time())
            await asyncio.sleep(due_s - loop.time())

    async def _send_state(self, viewer: _Viewer, now_s: float) -> None:
        version = self._state.version
        is_due = version != viewer.version or now_s - viewer.state_s >= STATE_S
        if not is_due or 'state' in viewer.unconfirmed:
            return
        document, viewer.cursor = self._state.document(viewer.cursor)
        viewer.version, viewer.state_s = version, now_s
        viewer.unconfirmed.add('state')
        text = json.dumps(document, allow_nan=False, separators=(',', ':'))
        await asyncio.wait_for(viewer.socket.send_text(text), SEND_S)

    async def _send_picture(self, viewer: _Viewer, role: str) -> None:
        is_new = self._shelf.number(role) != viewer.numbers.get(role, 0)
        if not is_new or role in viewer.unconfirmed:
            return
        loop = asyncio.get_running_loop()
        picture = await loop.run_in_executor(self._press, self._shelf.newest, role)
        if picture is None:
            return
        viewer.numbers[role] = picture.number
        viewer.unconfirmed.add(role)
        frame = frame_of(picture, self._shelf.age_s(picture))
        await asyncio.wait_for(viewer.socket.send_bytes(frame), SEND_S)


class _Viewer:
    """What one browser has and looks at."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.roles: tuple[str, ...] = ()
        self.numbers: dict[str, int] = {}
        self.unconfirmed: set[str] = set()
        self.cursor = Cursor()
        self.version = -1
        self.state_s = 0.0


def frame_of(picture: Picture, age_s: float) -> bytes:
    """Return the binary message of a picture: length of the head (uint32), head as JSON, JPEG."""
    fields: dict[str, Any] = {
        'role': picture.role,
        'number': picture.number,
        't': picture.stamp_ns / 1e9,
        'age_s': round(age_s, 3),
    }
    head = json.dumps(fields).encode()
    return struct.pack('<I', len(head)) + head + picture.jpeg
