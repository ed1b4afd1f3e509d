"""`structrl console`: a local web page of a running graph."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError

_NEEDED = ('fastapi', 'uvicorn', 'websockets')


def console(
    host: Annotated[
        str, typer.Option(help='Address to listen on; beyond 127.0.0.1 it needs a token.')
    ] = '127.0.0.1',
    port: Annotated[int, typer.Option(min=0, max=65535, help='Port; 0 takes a free one.')] = 8765,
    namespace: Annotated[str, typer.Option(help='Namespace of the arm or world.')] = '',
    token_file: Annotated[
        Path | None,
        typer.Option(help='File with the token, chmod 600; else STRUCTRL_CONSOLE_TOKEN.'),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help='A name of this machine that browsers may use; may be repeated.'),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help='Certificate chain (PEM), to serve https.')
    ] = None,
    key: Annotated[Path | None, typer.Option(help='Private key (PEM) of the certificate.')] = None,
) -> None:
    """Watch a running graph in the browser, and step in: run, cancel, emergency stop.

    Example: [bold]structrl console[/], then open http://127.0.0.1:8765/
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ParameterError(
            f'structrl console needs {", ".join(missing)}: pip install -r requirements/console.txt'
        )
    from structrl_ros.console.live_state import LiveState
    from structrl_ros.console.pictures import PictureShelf
    from structrl_ros.console.serving import ConsoleServer
    from structrl_ros.console.serving import Place
    from structrl_ros.console.viewers import Viewers
    from structrl_ros.nodes.console_link import ConsoleLink
    from structrl_ros.params.graph import process_environment

    os.environ.update(process_environment())  # as the graph's nodes have it: room for pictures
    place = Place(host, port, token_file, tuple(allow_host or ()), certificate, key)
    state, shelf = LiveState(), PictureShelf()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    link = ConsoleLink(state, shelf, namespace=namespace)
    with contextlib.suppress(KeyboardInterrupt), link:
        server = ConsoleServer(place, link.node.operator, Viewers(state, shelf))
        told = 'the page asks for the token; ' if server.needs_token else ''
        Console(soft_wrap=True).print(
            f'console: {server.url}\n{told}Ctrl-C ends it', highlight=False
        )
        server.run()
