"""`structrl demo`, as it is typed."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.demo_stage import DEMO_BODIES
from structrl_ros.cli.graph_options import Assignments
from structrl_ros.cli.graph_options import RunDirectory


def demo(
    body: Annotated[str, typer.Option(help=f'One of {", ".join(DEMO_BODIES)}.')] = 'libero',
    task: Annotated[
        str, typer.Option(help='Task by number or name, as long/0; default: the first.')
    ] = '',
    instruction: Annotated[
        str, typer.Option(help="A sentence of your own; default: the task's.")
    ] = '',
    initial_state: Annotated[int, typer.Option(min=0, help='Initial state index.')] = 0,
    seed: Annotated[int, typer.Option(min=0, help='Seed of the scene.')] = 0,
    policy: Annotated[
        str, typer.Option(help='Policy: expert (scripted), flow or diffusion (trained here).')
    ] = 'expert',
    planner: Annotated[str, typer.Option(help='Planner: rules, openai or local.')] = 'rules',
    lockstep: Annotated[
        bool, typer.Option('--lockstep', help='Simulator waits for the policy: reproducible.')
    ] = False,
    time_limit: Annotated[
        float, typer.Option(help='Seconds of the body; 0: that of planner_node.')
    ] = 0.0,
    run_dir: RunDirectory = None,
    assignments: Assignments = None,
) -> None:
    """Start everything, carry out one task, stop, and write a report.

    Example: [bold]structrl demo --task long/4 --lockstep[/]
    """
    from structrl_ros.cli.demo import DemoRequest
    from structrl_ros.cli.demo import run_demo
    from structrl_ros.cli.up import parse_assignments

    given = parse_assignments(assignments or [])
    is_made_for_them = policy in ('expert', 'diffusion')
    are_light_enough = is_made_for_them and planner == 'rules' and 'progress' not in given
    pictures = {'picture_detail': 'light'} if are_light_enough else {}
    if policy == 'diffusion':
        pictures['image_size'] = '96'  # what it was trained on; of larger ones it does less
    arguments = {
        **pictures,
        **given,
        'body': body,
        'seed': str(seed),
        'initial_state': str(initial_state),
        'policy': policy,
        'planner': planner,
        'lockstep': str(lockstep).lower(),
    }
    if task:
        arguments['task'] = task
    request = DemoRequest(arguments, instruction, time_limit, run_dir)
    raise typer.Exit(run_demo(request, Console(soft_wrap=True)))
