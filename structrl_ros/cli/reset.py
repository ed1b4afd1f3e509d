"""`structrl reset`: begin the next episode of a running graph."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

#: Wall seconds in which a graph that is up is found, and in which a scene is built.
FIND_GRAPH_SECONDS, BUILD_SECONDS = 10.0, 180.0


def reset(
    task: Annotated[
        str, typer.Option(help='Task by name or suite/number; default: the same again.')
    ] = '',
    seed: Annotated[
        int | None, typer.Option(min=0, help='Seed of the scene; default: the same.')
    ] = None,
    initial_state: Annotated[
        int | None, typer.Option(min=0, help='Initial state index; default: the same.')
    ] = None,
    namespace: Annotated[str, typer.Option(help='Namespace of the arm or world.')] = '',
) -> None:
    """Put the scene of a running graph back and begin the next episode.

    An arm is not moved: a person sets up its scene.
    Example: [bold]structrl reset --initial-state 3[/]
    """
    from structrl_ros.nodes.evaluation_client import EvaluationClient
    from structrl_ros.world_types import EpisodeStart

    console = Console(soft_wrap=True)
    with (
        EvaluationClient(lambda _: None, namespace=namespace, patience_s=BUILD_SECONDS) as client,
        console.status('the body sets up the scene...'),
    ):
        now = client.wait_for_episode(FIND_GRAPH_SECONDS)
        start = EpisodeStart(
            task,
            now.seed if seed is None else seed,
            now.initial_state if initial_state is None else initial_state,
        )
        episode = client.begin(start)
    console.print(
        f'episode {episode.episode} on {episode.body} {episode.task}, '
        f'state {episode.initial_state}, seed {episode.seed}\n'
        f'go on: structrl run "{episode.instruction}"',
        highlight=False,
        markup=False,
    )
