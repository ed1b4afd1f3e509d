"""The command line of `structrl replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError

console = Console(soft_wrap=True)


def replay(
    recording: Annotated[Path, typer.Argument(help='A bag, or the directory of a run.')],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar='[KEY:=VALUE]...', help='Arguments of the graph.'),
    ] = None,
    check: Annotated[
        bool, typer.Option('--check', help='Compute everything again and compare; no ROS.')
    ] = False,
    what_if: Annotated[
        list[str] | None,
        typer.Option(metavar='KEY:=VALUE', help='Pay by another setting and compare; no ROS.'),
    ] = None,
    monitor: Annotated[
        str, typer.Option(help='Ask another monitor on the recording, and compare; no ROS.')
    ] = '',
    plot: Annotated[
        Path | None, typer.Option(help='Draw the what-if into this .svg, .png or .pdf.')
    ] = None,
    brain: Annotated[
        bool,
        typer.Option('--brain', help='Have planner, monitor, policy and tracker work on it.'),
    ] = False,
) -> None:
    """Play a recording to the tracker or the brain, check it, or ask what other rewards pay.

    Example: [bold]structrl replay runs/today --what-if beta:=1.0 --what-if gating:=false[/]
    """
    from structrl_ros.cli.replay import check_replay
    from structrl_ros.cli.replay import play_replay
    from structrl_ros.cli.replay_brain import play_to_brain
    from structrl_ros.cli.replay_what_if import try_replay
    from structrl_ros.cli.up import parse_assignments

    arguments = parse_assignments(assignments or [])
    without_graph = check or what_if or monitor or plot
    if without_graph and arguments:
        raise ParameterError(
            f'argument {next(iter(arguments))!r} is of the graph; without ROS is none'
        )
    if check and (what_if or monitor or plot):
        raise ParameterError('--check goes without --what-if, --monitor and --plot')
    if check:
        raise typer.Exit(check_replay(recording, console))
    if what_if or monitor or plot:
        changes = what_if or []
        raise typer.Exit(try_replay(recording, changes, console, monitor=monitor, plot=plot))
    play = play_to_brain if brain else play_replay
    raise typer.Exit(play(recording, arguments, console))
