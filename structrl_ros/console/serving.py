"""The server: where it listens, which secret that takes, and how it ends."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from structrl_ros.console.access import TOKEN_VARIABLE
from structrl_ros.console.access import Sessions
from structrl_ros.console.access import host_rule
from structrl_ros.console.access import is_loopback
from structrl_ros.console.access import read_token
from structrl_ros.console.operator import Operator
from structrl_ros.console.routes import make_app
from structrl_ros.console.viewers import Viewers
from structrl_ros.errors import ParameterError

DEFAULT_PORT = 8765


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen, and for whom; `port` 0 takes a free one."""

    host: str = '127.0.0.1'
    port: int = DEFAULT_PORT
    token_file: Path | None = None
    allowed_hosts: Sequence[str] = ()
    certificate: Path | None = None
    key: Path | None = None


class ConsoleServer:
    """Bound at once, so that a wrong address is told before anything else starts."""

    def __init__(self, place: Place, operator: Operator, viewers: Viewers) -> None:
        """Bind.

        Raises:
            ParameterError: If the address is taken or unknown, or lies beyond this machine and
                there is no token.
        """
        sessions = Sessions(read_token(place.token_file))
        if not is_loopback(place.host) and not sessions.needs_token:
            raise ParameterError(
                f'--host {place.host} lets others reach the robot: it needs a token, by '
                f'--token-file or {TOKEN_VARIABLE}; without one allowed: 127.0.0.1'
            )
        hosts = host_rule(place.host, place.allowed_hosts)
        self._socket = _bind(place.host, place.port)
        self._scheme = 'https' if place.certificate else 'http'
        self._host = place.host
        self.needs_token = sessions.needs_token
        config = uvicorn.Config(
            make_app(operator, viewers, hosts=hosts, sessions=sessions),
            log_level='warning',
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan='off',
            ws='websockets-sansio',
            ws_max_size=4096,
            ws_ping_interval=5.0,
            ws_ping_timeout=10.0,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
            ssl_certfile=place.certificate,
            ssl_keyfile=place.key,
        )
        try:
            config.load()
        except OSError as error:  # also ssl.SSLError
            raise ParameterError(f'certificate {place.certificate}: {error}') from None
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The page, as this machine reaches it."""
        port = self._socket.getsockname()[1]
        name = f'[{self._host}]' if ':' in self._host else self._host
        name = {'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}.get(name, name)
        return f'{self._scheme}://{name}:{port}/'

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run` from another thread."""
        self._server.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(found[0], socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(found[4])
        bound.listen()  # from now on a browser waits; it is not refused
    except (OSError, OverflowError) as error:
        why = getattr(error, 'strerror', None) or str(error)
        raise ParameterError(
            f'cannot listen on {host}:{port}: {why}; another port: --port 0'
        ) from None
    return bound
