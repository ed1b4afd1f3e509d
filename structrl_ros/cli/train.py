"""`structrl train sft | ppo | grpo`: a policy from demonstrations, and better by practice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from structrl_ros.training.run_directory import RunDirectory
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import PreparedRun

train = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode='rich',
    help='Train a policy: imitate demonstrations (sft), then practise (ppo, grpo).',
)

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
Config = Annotated[str, typer.Option(help='YAML file, or the name of one that ships.')]
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
    words = {'body': body, 'start': start}
    _run('sft', words, task, config, seed, assignments, run_dir, resume, workers, '', profile)


@train.command()
def ppo(
    assignments: Assignments = None,
    body: Body = '',
    task: Tasks = None,
    start: Start = '',
    reward: Reward = '',
    config: Config = '',
    run_dir: Directory = None,
    resume: Resume = False,
    workers: Workers = 0,
    ray: Ray = '',
    seed: Seed = None,
    profile: Profile = False,
) -> None:
    """Practise by chunk-level PPO (StructRL, Algorithm 1).

    Example: [bold]structrl train ppo --config twin_ppo --start runs/sft[/]
    """
    words = {'body': body, 'start': start, 'reward': reward}
    _run('ppo', words, task, config, seed, assignments, run_dir, resume, workers, ray, profile)


@train.command()
def grpo(
    assignments: Assignments = None,
    body: Body = '',
    task: Tasks = None,
    start: Start = '',
    reward: Reward = '',
    config: Config = '',
    run_dir: Directory = None,
    resume: Resume = False,
    workers: Workers = 0,
    ray: Ray = '',
    seed: Seed = None,
    profile: Profile = False,
) -> None:
    """Practise by GRPO over groups of one task and initial state (StructRL, Section 3.2.3).

    Example: [bold]structrl train grpo --config twin_grpo --start runs/sft[/]
    """
    words = {'body': body, 'start': start, 'reward': reward}
    _run('grpo', words, task, config, seed, assignments, run_dir, resume, workers, ray, profile)


def _run(
    trainer: str,
    words: dict[str, str],
    tasks: list[str] | None,
    config: str,
    seed: int | None,
    assignments: list[str] | None,
    run_dir: Path | None,
    resume: bool,
    workers: int,
    ray: str,
    profile: bool,
) -> None:
    """Prepare a new run, or open an old one, and carry it out."""
    import torch

    from structrl_ros.cli.training_worlds import worlds_of
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.errors import ParameterError
    from structrl_ros.training.run_directory import create_run
    from structrl_ros.training.run_directory import open_run
    from structrl_ros.training.run_request import make_request
    from structrl_ros.training.run_request import prolong
    from structrl_ros.training.run_request import request_of_document
    from structrl_ros.training.run_trainer import prepare_run

    torch.set_num_threads(1)
    console = Console(soft_wrap=True)
    values, worlds = parse_assignments(assignments or []), worlds_of(workers, ray)
    if not resume:
        request = make_request(
            trainer, config=config, assignments=values, words=words, tasks=tasks or (), seed=seed
        )
        prepared = prepare_run(request, worlds)
        run = create_run(new_run_directory(run_dir), prepared.request.document())
        _carry_out(prepared, run, console, profile)
        return
    if run_dir is None:
        raise ParameterError('--resume needs --run-dir: the run to go on with')
    given = [f'--{word}' for word, text in words.items() if text]
    given += [f'--{n}' for n, v in (('task', tasks), ('config', config), ('seed', seed)) if v]
    if given:
        raise ParameterError(f'{given[0]}: a run goes on as it began; leave it out with --resume')
    run = open_run(run_dir)
    request = prolong(request_of_document(run.config), values)
    if request.trainer != trainer:
        raise ParameterError(f'{run_dir} is a run of {request.trainer}, not of {trainer}')
    policy = run.load_policy() if run.has_checkpoint else None
    _carry_out(prepare_run(request, worlds, policy), run, console, profile)


def _carry_out(prepared: PreparedRun, run: RunDirectory, console: Console, profile: bool) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.cli.training_display import profile_table
    from structrl_ros.training.run_trainer import carry_out

    request = prepared.request
    console.print(f'[bold]structrl train {request.trainer}[/] [dim]{run.path}[/]\n{request.title}')
    unit, total = _length(request)
    display = TrainingDisplay(console, unit, total)
    try:
        with display:
            metrics = carry_out(prepared, run=run, report=display)
    except KeyboardInterrupt:
        console.print(
            f'stopped; to go on: structrl train {request.trainer} --resume --run-dir {run.path}'
        )
        raise typer.Exit(130) from None
    finally:
        run.close()
    if profile and metrics:
        console.print(profile_table(metrics))
    console.print(f'policy: {run.policy_folder}')


def _length(request: RunRequest) -> tuple[str, int]:
    """Return what is counted, and how many there are."""
    from structrl_ros.training.settings import PracticeSettings
    from structrl_ros.training.settings import SftSettings

    settings = request.settings
    if isinstance(settings, SftSettings):
        return 'update', settings.updates * (settings.dagger_rounds + 1)
    assert isinstance(settings, PracticeSettings)
    return 'iteration', settings.iterations
