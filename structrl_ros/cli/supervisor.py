"""Start the processes of a node graph, watch them, restart them as the graph says, stop them.

Each node is its own process in its own session, so that Ctrl-C in a terminal reaches the
supervisor alone, which then stops the nodes: SIGINT, and what is left after its patience gets
SIGKILL.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import TextIO

import yaml

from structrl_ros.params.graph import RESPAWN_LIMIT
from structrl_ros.params.graph import NodeSpec

#: Errors of a node that tell of an installation, not of its work.
_MISSING = ('ModuleNotFoundError', 'ImportError', 'FileNotFoundError')


@dataclass
class _Child:
    spec: NodeSpec
    process: subprocess.Popen[bytes]
    log: TextIO
    restarts: int = 0
    ended_at: float | None = None
    given_up: bool = False


class Supervisor:
    """Runs one graph.

    Args:
        nodes: What to start, in this order.
        log_directory: Gets one `<node>.log` a node.
        environment: Environment of the processes (see `params.graph.process_environment`).
        on_event: Called with one line for every start, end and restart.
    """

    def __init__(
        self,
        nodes: Sequence[NodeSpec],
        *,
        log_directory: Path,
        environment: Mapping[str, str],
        on_event: Callable[[str], None],
    ) -> None:
        self._nodes = tuple(nodes)
        self._log_directory = log_directory
        self._environment = dict(environment)
        self._on_event = on_event
        self._children: list[_Child] = []
        self._parameters = tempfile.TemporaryDirectory(prefix='structrl-')

    def start(self) -> None:
        """Start every node, or, if the disk refuses a file that it needs, none."""
        self._log_directory.mkdir(parents=True, exist_ok=True)
        try:
            for spec in self._nodes:
                log = (self._log_directory / f'{spec.name}.log').open('a', encoding='utf-8')
                self._children.append(_Child(spec, self._spawn(spec, log), log))
        except OSError:
            self.stop()
            raise

    def poll(self) -> list[str]:
        """Look at every process once; restart what may be restarted; return the dead for good."""
        for child in self._children:
            self._poll_child(child)
        return [c.spec.name for c in self._children if c.given_up]

    def exit_code(self, name: str) -> int | None:
        """Return how a node's process ended, None while it runs."""
        return next(c.process.poll() for c in self._children if c.spec.name == name)

    def restarts(self) -> dict[str, int]:
        """Return how often each node was restarted."""
        return {c.spec.name: c.restarts for c in self._children}

    def tail(self, name: str, lines: int = 15) -> str:
        """Return the last lines of a node's log."""
        path = self._log_directory / f'{name}.log'
        text = path.read_text(encoding='utf-8', errors='replace') if path.exists() else ''
        return '\n'.join(text.splitlines()[-lines:])

    def stop(self, patience_s: float = 3.5) -> list[str]:
        """Stop every node within about `patience_s` seconds; return the names that were killed."""
        for child in self._children:
            child.given_up = True
            self._signal(child, signal.SIGINT)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and any(self._alive(c) for c in self._children):
            time.sleep(0.02)
        killed = [c.spec.name for c in self._children if self._alive(c)]
        for child in self._children:
            self._signal(child, signal.SIGKILL)
            child.process.wait()
            child.log.close()
        self._parameters.cleanup()
        return killed

    def _poll_child(self, child: _Child) -> None:
        if child.given_up or self._alive(child):
            return
        now = time.monotonic()
        if child.ended_at is None:
            child.ended_at = now
            self._on_event(f'{child.spec.name} ended: {_ending(child.process.returncode)}')
            if not child.spec.respawn or child.restarts >= RESPAWN_LIMIT:
                child.given_up = True
                return
        if now - child.ended_at >= child.spec.respawn_delay_s:
            child.process = self._spawn(child.spec, child.log)
            child.restarts += 1
            child.ended_at = None
            self._on_event(f'{child.spec.name} restarted ({child.restarts} of {RESPAWN_LIMIT})')

    def _spawn(self, spec: NodeSpec, log: TextIO) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command_line(spec, Path(self._parameters.name)),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare_child,
        )

    @staticmethod
    def _alive(child: _Child) -> bool:
        return child.process.poll() is None

    def _signal(self, child: _Child, number: signal.Signals) -> None:
        if self._alive(child):
            try:
                os.killpg(child.process.pid, number)
            except ProcessLookupError:
                return


def command_line(spec: NodeSpec, parameter_directory: Path) -> list[str]:
    """Return the command of a node; its parameters go through a file, as `ros2 launch` does it."""
    command = [sys.executable, '-m', spec.module, '--ros-args', '-r', f'__node:={spec.name}']
    if spec.namespace:
        command += ['-r', f'__ns:={_absolute(spec.namespace)}']
    for source, target in spec.remappings.items():
        command += ['-r', f'{source}:={target}']
    if spec.parameters:
        path = parameter_directory / f'{spec.name}.yaml'
        document: dict[str, Any] = {'/**': {'ros__parameters': dict(spec.parameters)}}
        path.write_text(yaml.safe_dump(document), encoding='utf-8')
        command += ['--params-file', str(path)]
    return command


def last_words(name: str, lines: str) -> str:
    """Return what a person is told of a node that ended and is not started again."""
    told = f'{name} died for good; the end of its log:\n{lines}'
    is_missing = any(word in lines for word in _MISSING)
    return f'{told}\nstructrl doctor looks for what is missing here' if is_missing else told


def _absolute(namespace: str) -> str:
    return namespace if namespace.startswith('/') else f'/{namespace}'


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f'killed by {signal.Signals(-code).name}'
    return 'it is done' if code == 0 else f'exit status {code}'


def prepare_child() -> None:
    """Listen to SIGINT even where a shell started us in the background with SIGINT ignored.

    On Linux also ask the kernel to end the process when the supervisor dies, however it dies.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == 'linux':
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)
