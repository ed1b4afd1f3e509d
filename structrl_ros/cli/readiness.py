"""When a graph that was started is ready for work, and what to do with it then."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Sequence

from rich.console import Console

from structrl_ros.errors import StaleDataError
from structrl_ros.params.graph import NodeSpec
from structrl_ros.types import Episode

#: Wall seconds for the nodes to come up; a simulator builds its scene in them.
READY_SECONDS = 180.0


class _EndedError(Exception):
    """The graph ends before it is ready."""


def tell_when_ready(
    nodes: Sequence[NodeSpec], is_over: Callable[[], bool], console: Console
) -> None:
    """Wait until the graph can work, and say so with the next command; or say what is missing.

    Args:
        nodes: Of the graph, that were started just now.
        is_over: Asked about ten times a second; true gives up without a word.
        console: Gets one line.
    """

    def watch() -> None:
        if is_over():
            raise _EndedError

    began = time.monotonic()
    try:
        with console.status('the nodes come up; a simulator builds its scene...'):
            episode = _wait(nodes, watch)
    except _EndedError:
        return
    except StaleDataError as error:
        console.print(f'not ready: {error}; the logs say why', style='yellow', markup=False)
        return
    seconds = time.monotonic() - began
    if episode is None:
        told = f'[green]every node is up[/] after {seconds:.0f} s; the logs say how each does'
        console.print(told, highlight=False)
    else:
        console.print(f'[green]ready[/] after {seconds:.0f} s', highlight=False)
        where = _namespace(nodes)
        words = f' --namespace {where}' if where else ''
        line = f'in another terminal: structrl run "{episode.instruction}"{words}'
        console.print(line, markup=False, highlight=False)


def _wait(nodes: Sequence[NodeSpec], watch: Callable[[], None]) -> Episode | None:
    """Wait for the nodes, and where one takes sentences for all that it needs.

    Returns:
        The episode in which a sentence can be carried out, None where nobody takes one.
    """
    from structrl_ros.nodes.late_client import LateClient

    names = [f'/{node.namespace.strip("/")}/{node.name}'.replace('//', '/') for node in nodes]
    takes_sentences = {'planner_node', 'policy_node'} <= {node.executable for node in nodes}
    is_played = any(node.executable == 'evaluator_node' for node in nodes)
    with LateClient(lambda _: None, namespace=_namespace(nodes), watch=watch) as client:
        client.wait_for_nodes(names, READY_SECONDS)
        if not takes_sentences or is_played:
            return None
        client.wait_for_planner(READY_SECONDS)
        client.wait_for_subscribers(READY_SECONDS)
        return client.wait_for_episode(READY_SECONDS)


def _namespace(nodes: Sequence[NodeSpec]) -> str:
    return next((node.namespace for node in nodes if node.executable == 'planner_node'), '')
