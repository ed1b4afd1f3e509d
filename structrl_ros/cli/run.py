"""`structrl run`: one sentence to a graph that is up, with the timeline on the terminal."""

from __future__ import annotations

from rich.console import Console

from structrl_ros.cli.timeline import Timeline
from structrl_ros.nodes.task_client import Outcome
from structrl_ros.nodes.task_client import TaskClient

#: Wall seconds to wait for a graph that should be up already.
FIND_GRAPH_SECONDS = 10.0


def run_instruction(instruction: str, time_limit: float, namespace: str, console: Console) -> int:
    """Send a sentence, print events until it ends.

    Returns:
        The exit status: 0 if the task ended in success.

    Raises:
        StructRLError: If no planner answers.
    """
    timeline = Timeline(console)
    with TaskClient(timeline.show, namespace=namespace) as client:
        client.wait_for_planner(FIND_GRAPH_SECONDS)
        outcome = client.execute(instruction, time_limit)
    print_outcome(outcome, timeline, console)
    return 0 if outcome.success else 1


def print_outcome(outcome: Outcome, timeline: Timeline, console: Console) -> None:
    """Print how a task ended."""
    word = '[bold green]success[/]' if outcome.success else '[bold red]no success[/]'
    numbers = (
        f'return {outcome.episode_return:.3f}, {timeline.chunks} chunks, {outcome.replans} replans'
    )
    console.print(f'{word}: {outcome.reason} [dim]({numbers})[/]', highlight=False)
