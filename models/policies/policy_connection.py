"""One websocket to an openpi policy server, with limits of time and one-line errors."""

from __future__ import annotations

import time
from typing import Any

from structrl_ros.errors import PolicyError
from structrl_ros.types import JsonObject


class PolicyConnection:
    """Opens on demand, closes on any failure."""

    def __init__(
        self, uri: str, *, connect_timeout_s: float, timeout_s: float, api_key: str = ''
    ) -> None:
        """Keep where to connect and how long to wait."""
        self.metadata: JsonObject = {}
        self._uri = uri
        self._connect_timeout_s = connect_timeout_s
        self._timeout_s = timeout_s
        self._headers = {'Authorization': f'Api-Key {api_key}'} if api_key else None
        self._socket: Any = None

    def open(self) -> None:
        """Connect and read the server's metadata, if there is no connection.

        Raises:
            PolicyError: If the server does not answer in time or does not speak the protocol.
        """
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        if self._socket is not None:
            return
        until = time.monotonic() + self._connect_timeout_s
        try:
            # Without pings: a server that compiles its model answers none for a minute.
            self._socket = connect(
                self._uri,
                compression=None,
                max_size=None,
                open_timeout=self._connect_timeout_s,
                close_timeout=1.0,
                ping_interval=None,
                additional_headers=self._headers,
            )
        except (OSError, WebSocketException, ValueError) as error:
            raise PolicyError(f'policy server {self._uri}: {_reason(error)}') from None
        self.metadata = self._receive(max(0.0, until - time.monotonic()), 'metadata')

    def ask(self, request: JsonObject) -> JsonObject:
        """Send a request, return the answer.

        Raises:
            PolicyError: If the server cannot be reached, is too slow, or reports an error.
        """
        from openpi_client import msgpack_numpy
        from websockets.exceptions import WebSocketException

        self.open()
        try:
            self._socket.send(msgpack_numpy.packb(request))
        except (OSError, WebSocketException) as error:
            self.close()
            raise PolicyError(f'policy server {self._uri}: {_reason(error)}') from None
        return self._receive(self._timeout_s, 'answer')

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.close()

    def _receive(self, timeout_s: float, what: str) -> JsonObject:
        from websockets.exceptions import WebSocketException

        try:
            message = self._socket.recv(timeout=timeout_s)
        except TimeoutError:
            self.close()
            raise PolicyError(
                f'policy server {self._uri} gave no {what} within {timeout_s:.1f} s'
            ) from None
        except (OSError, WebSocketException) as error:
            self.close()
            raise PolicyError(f'policy server {self._uri}: {_reason(error)}') from None
        try:
            return self._decode(message, what)
        except PolicyError:
            self.close()
            raise

    def _decode(self, message: str | bytes, what: str) -> JsonObject:
        from openpi_client import msgpack_numpy

        if isinstance(message, str):
            lines = [line.strip() for line in message.splitlines() if line.strip()] or ['']
            raise PolicyError(f'policy server {self._uri} reports: {lines[-1][:300]}')
        try:
            answer = msgpack_numpy.unpackb(message)
        except (ValueError, TypeError, KeyError) as error:
            raise PolicyError(
                f'policy server {self._uri} sent {what} that is no msgpack: {_reason(error)}'
            ) from None
        if not isinstance(answer, dict):
            raise PolicyError(
                f'policy server {self._uri} sent {type(answer).__name__} as {what}; '
                'allowed: a dictionary'
            )
        return answer


def _reason(error: Exception) -> str:
    text = ' '.join(str(error).split())
    return text or type(error).__name__
