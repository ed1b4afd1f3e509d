"""`structrl up`: start a node graph, print what the processes do, stop on Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType

from rich.console import Console

from structrl_ros.cli.readiness import tell_when_ready
from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.cli.supervisor import last_words
from structrl_ros.errors import ParameterError
from structrl_ros.params.graph import graph_document
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph import process_environment


def parse_assignments(assignments: Sequence[str]) -> dict[str, str]:
    """Return `key:=value` words as a dictionary.

    Raises:
        ParameterError: If a word has another form or a key comes twice.
    """
    arguments: dict[str, str] = {}
    for word in assignments:
        key, separator, value = word.partition(':=')
        if not separator or not key:
            raise ParameterError(f'argument {word!r} is not of the form key:=value{_meant(word)}')
        if key in arguments:
            raise ParameterError(f'argument {key!r} is given twice')
        arguments[key] = value
    return arguments


def _meant(word: str) -> str:
    """Return what to write instead of `key=value`, where that is what a word is."""
    key, separator, value = word.lstrip('-').partition('=')
    is_near = bool(separator) and key.replace('-', '_').isidentifier()
    return f', such as {key.replace("-", "_")}:={value}' if is_near else ''


def print_arguments(graph: str, console: Console) -> None:
    """Print what a graph can be told, with defaults and choices.

    Raises:
        ParameterError: If there is no such graph.
    """
    document = graph_document(graph)
    console.print(document.description, markup=False)
    for argument in document.arguments:
        choices = f' ({", ".join(argument.choices)})' if argument.choices else ''
        default = 'MUST BE GIVEN' if argument.default is None else argument.default or "''"
        head = f'  {argument.name}:={default}{choices}'
        console.print(f'{head}\n      {argument.description}', markup=False, highlight=False)


def new_run_directory(chosen: Path | None) -> Path:
    """Return a directory for one run, made now: the chosen one, or runs/<time>."""
    path = chosen or Path('runs') / datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f'run directory {path}: {error.strerror}') from None
    if any(path.iterdir()):
        raise ParameterError(f'run directory {path} is not empty; give a new one')
    return path.resolve()


def keep_up(graph: str, assignments: Sequence[str], run_dir: Path | None, console: Console) -> int:
    """Start the graph and wait for Ctrl-C or for a node that cannot be kept alive.

    Returns:
        The exit status: 0 after Ctrl-C, 1 if a node died for good.
    """
    arguments = parse_assignments(assignments)
    loaded = load_graph(graph, arguments)
    directory = new_run_directory(run_dir)
    supervisor = Supervisor(
        loaded.nodes,
        log_directory=directory / 'log',
        environment=process_environment(),
        on_event=lambda line: console.print(line, style='yellow'),
    )
    asked_to_stop = threading.Event()
    previous = {s: signal.signal(s, _setter(asked_to_stop)) for s in _ENDING_SIGNALS}
    supervisor.start()
    names = ', '.join(node.name for node in loaded.nodes)
    console.print(f'starting up: {names}\nlogs: {directory / "log"}; Ctrl-C stops them')
    dead: list[str] = []

    def is_over() -> bool:
        dead[:] = dead or supervisor.poll()
        return bool(dead) or asked_to_stop.is_set()

    try:
        tell_when_ready(loaded.nodes, is_over, console)
        while not is_over():
            asked_to_stop.wait(0.2)
    finally:
        killed = supervisor.stop()
        for number, handler in previous.items():
            signal.signal(number, handler)
    if killed:
        console.print(f'did not end by themselves and were killed: {", ".join(killed)}')
    for name in dead:
        console.print(last_words(name, supervisor.tail(name)), markup=False, highlight=False)
    return 1 if dead else 0


_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _setter(event: threading.Event) -> Callable[[int, FrameType | None], None]:
    def handle(_number: int, _frame: FrameType | None) -> None:
        event.set()

    return handle
