"""`structrl train sft | ppo | grpo | grm`: policies, better by practice, and a progress model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structrl_ros.cli.train_diffusion import train_diffusion
from structrl_ros.cli.train_events import train_events
from structrl_ros.cli.train_grm import train_grm
from structrl_ros.cli.train_grm_vlm import train_grm_vlm
from structrl_ros.cli.train_planner import train_planner
from structrl_ros.cli.training_command import TrainCommand
from structrl_ros.cli.training_command import run_command

train = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode='rich',
    help='Train a policy: imitate demonstrations (sft), then practise (ppo, grpo); or a GRM.',
)
train.command('diffusion')(train_diffusion)
train.command('events')(train_events)
train.command('grm')(train_grm)
train.command('grm-vlm')(train_grm_vlm)
train.command('planner')(train_planner)

Body = Annotated[
    str,
    typer.Option(
        help='twin, tabletop, libero; ros drives running sim_nodes. Default: the config.'
    ),
]
Tasks = Annotated[
    list[str] | None, typer.Option('--task', help='Task by name; repeat it to train on several.')
]
Start = Annotated[str, typer.Option(help='Checkpoint, or run directory, to start from.')]
Reward = Annotated[str, typer.Option(help='structured, terminal, robometer, or one of Fig. 3-8.')]
Shaping = Annotated[
    str, typer.Option(help='GRM whose potential shapes the reward: a shipped name or a folder.')
]
_SHIPPED = sorted(p.stem for p in (Path(__file__).parents[1] / 'training/configs').glob('*.yaml'))
Config = Annotated[
    str, typer.Option(help=f'YAML file, or the name of one that ships: {", ".join(_SHIPPED)}.')
]
Directory = Annotated[
    Path | None, typer.Option('--run-dir', help='Where the run is kept; default runs/<time>.')
]
Resume = Annotated[
    bool, typer.Option('--resume', help='Go on with the run in --run-dir, to the same numbers.')
]
Workers = Annotated[
    int, typer.Option(min=0, help='Processes that step bodies; 0: as many as there are cores.')
]
Ray = Annotated[str, typer.Option(help='Address of a Ray cluster that plays the episodes.')]
Seed = Annotated[int | None, typer.Option(min=0, help='Seed; default: that of the config.')]
Tracker = Annotated[
    bool, typer.Option('--tracker', help='With --body ros: a tracker_node beside pays, too.')
]
Traces = Annotated[
    bool, typer.Option('--traces', help='Keep what each chunk earned, for structrl score.')
]
Profile = Annotated[bool, typer.Option('--profile', help='Print where the CPU time went.')]
Assignments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='[KEY:=VALUE]...',
        help='Settings; body.KEY is an option of the body, policy.KEY of the policy.',
    ),
]


@train.command()
def sft(
    assignments: Assignments = None,
    body: Body = '',
    task: Tasks = None,
    start: Start = '',
    config: Config = '',
    run_dir: Directory = None,
    resume: Resume = False,
    workers: Workers = 0,
    seed: Seed = None,
    profile: Profile = False,
) -> None:
    """Imitate the body's scripted expert (flow matching, DART, DAgger rounds).

    Example: [bold]structrl train sft --config twin_sft[/]
    """
    command = TrainCommand(
        trainer='sft',
        words={'body': body, 'start': start, 'config': config},
        tasks=tuple(task or ()),
        seed=seed,
        assignments=tuple(assignments or ()),
        run_dir=run_dir,
        resume=resume,
        workers=workers,
        profile=profile,
    )
    run_command(command)


@train.command()
def ppo(
    assignments: Assignments = None,
    body: Body = '',
    task: Tasks = None,
    start: Start = '',
    reward: Reward = '',
    shaping: Shaping = '',
    config: Config = '',
    run_dir: Directory = None,
    resume: Resume = False,
    workers: Workers = 0,
    ray: Ray = '',
    tracker: Tracker = False,
    traces: Traces = False,
    seed: Seed = None,
    profile: Profile = False,
) -> None:
    """Practise by chunk-level PPO (StructRL, Algorithm 1).

    Example: [bold]structrl train ppo --config twin_ppo --start runs/sft[/]
    """
    command = TrainCommand(
        trainer='ppo',
        words={
            'body': body,
            'start': start,
            'reward': reward,
            'shaping': shaping,
            'config': config,
        },
        tasks=tuple(task or ()),
        seed=seed,
        assignments=tuple(assignments or ()),
        run_dir=run_dir,
        resume=resume,
        workers=workers,
        ray=ray,
        tracker=tracker,
        traces=traces,
        profile=profile,
    )
    run_command(command)


@train.command()
def grpo(
    assignments: Assignments = None,
    body: Body = '',
    task: Tasks = None,
    start: Start = '',
    reward: Reward = '',
    shaping: Shaping = '',
    config: Config = '',
    run_dir: Directory = None,
    resume: Resume = False,
    workers: Workers = 0,
    ray: Ray = '',
    tracker: Tracker = False,
    traces: Traces = False,
    seed: Seed = None,
    profile: Profile = False,
) -> None:
    """Practise by GRPO over groups of one task and initial state (StructRL, Section 3.2.3).

    Example: [bold]structrl train grpo --config twin_grpo --start runs/sft[/]
    """
    command = TrainCommand(
        trainer='grpo',
        words={
            'body': body,
            'start': start,
            'reward': reward,
            'shaping': shaping,
            'config': config,
        },
        tasks=tuple(task or ()),
        seed=seed,
        assignments=tuple(assignments or ()),
        run_dir=run_dir,
        resume=resume,
        workers=workers,
        ray=ray,
        tracker=tracker,
        traces=traces,
        profile=profile,
    )
    run_command(command)
