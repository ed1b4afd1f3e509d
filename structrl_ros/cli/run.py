"""`structrl run`: one sentence to a graph that is up, with the timeline on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from structrl_ros.cli.timeline import Timeline
from structrl_ros.nodes.late_client import LateClient
from structrl_ros.nodes.task_client import Outcome

#: Wall seconds to wait for a graph that should be up already.
FIND_GRAPH_SECONDS = 10.0
#: Wall seconds to hear what was said before.
CATCH_UP_SECONDS = 5.0


def run_instruction(instruction: str, time_limit: float, namespace: str, console: Console) -> int:
    """Send a sentence, print its events until it ends.

    Returns:
        The exit status: 0 if the task ended in success.

    Raises:
        StructRLError: If no planner answers.
    """
    timeline = Timeline(console, is_late=True)
    with LateClient(timeline.show, namespace=namespace) as client:
        with console.status('looking for the graph...'):
            client.wait_for_planner(FIND_GRAPH_SECONDS)
            client.catch_up(CATCH_UP_SECONDS)
        timeline.begin()
        outcome = client.execute(instruction, time_limit)
        episode = client.catch_up(0.0)
    print_outcome(outcome, timeline, console)
    if episode is not None and episode.ended and 'structrl reset' not in outcome.reason:
        words = f' --namespace {namespace}' if namespace else ''
        console.print(f'[dim]the next episode: structrl reset{words}[/]', highlight=False)
    return 0 if outcome.success else 1


def print_outcome(outcome: Outcome, timeline: Timeline, console: Console) -> None:
    """Print how a task ended."""
    word = '[bold green]success[/]' if outcome.success else '[bold red]no success[/]'
    numbers = (
        f'return {outcome.episode_return:.3f}, {timeline.chunks} chunks, {outcome.replans} replans'
    )
    told = f' [dim]({numbers})[/]' if timeline.chunks else ''
    console.print(f'{word}: {escape(outcome.reason)}{told}', highlight=False)
