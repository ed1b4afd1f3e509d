"""What the trainers' commands have in common: a new run, or an old one that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from structrl_ros.errors import ParameterError
from structrl_ros.naming import counted

if TYPE_CHECKING:
    from structrl_ros.training.run_directory import RunDirectory
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import PreparedRun
    from structrl_ros.training.run_trainer import Worlds


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainCommand:
    """The command line.

    Attributes:
        trainer: 'sft', 'ppo' or 'grpo'.
        words: 'body', 'start', 'reward', 'shaping' and 'config', '' if not given.
        tasks: Names of tasks; none: those of the config.
        seed: Seed; None: that of the config.
        assignments: `key:=value` words.
        run_dir: Where the run is kept; None: a new folder.
        resume: Whether the run there goes on.
        workers: Processes, or actors, that play; 0: as many as there are cores.
        ray: Address of a Ray cluster, '' for none.
        tracker: Whether a tracker_node beside the sim_nodes pays, too.
        traces: Whether the run keeps what each chunk of practice earned.
        profile: Whether to print where the CPU time went.
    """

    trainer: str
    words: Mapping[str, str]
    tasks: tuple[str, ...]
    seed: int | None
    assignments: tuple[str, ...]
    run_dir: Path | None
    resume: bool
    workers: int = 0
    ray: str = ''
    tracker: bool = False
    traces: bool = False
    profile: bool = False


def run_command(command: TrainCommand) -> None:
    """Train, show how far it is, and say where the policy is.

    Raises:
        StructRLError: If something was asked for wrongly, or the trainer cannot go on.
    """
    import torch

    from structrl_ros.cli.training_worlds import worlds_of

    torch.set_num_threads(1)
    console = Console(soft_wrap=True)
    worlds = worlds_of(command.workers, command.ray, tracker=command.tracker)
    prepared, run = (_go_on if command.resume else _begin)(command, worlds)
    try:
        _carry_out(command, prepared, run, console)
    finally:
        run.close()


def _begin(command: TrainCommand, worlds: Worlds) -> tuple[PreparedRun, RunDirectory]:
    """Return a new run, in a directory of its own."""
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.training.run_directory import create_run
    from structrl_ros.training.run_request import make_request
    from structrl_ros.training.run_trainer import prepare_run

    words = dict(command.words)
    request = make_request(
        command.trainer,
        config=words.pop('config'),
        assignments=parse_assignments(command.assignments),
        words=words,
        tasks=command.tasks,
        seed=command.seed,
    )
    prepared = prepare_run(request, worlds)
    return prepared, create_run(new_run_directory(command.run_dir), prepared.request.document())


def _go_on(command: TrainCommand, worlds: Worlds) -> tuple[PreparedRun, RunDirectory]:
    """Return the run in the directory that is named, as it was left."""
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.training.run_directory import open_run
    from structrl_ros.training.run_request import prolong
    from structrl_ros.training.run_request import request_of_document
    from structrl_ros.training.run_trainer import prepare_run

    if command.run_dir is None:
        raise ParameterError('--resume needs --run-dir: the run to go on with')
    given = [word for word, text in command.words.items() if text]
    given += ['task'] if command.tasks else []
    given += ['seed'] if command.seed is not None else []
    if given:
        raise ParameterError(
            f'--{given[0]}: a run goes on as it began; leave it out with --resume'
        )
    run = open_run(command.run_dir)
    try:
        request = request_of_document(run.config)
        if request.trainer != command.trainer:
            raise ParameterError(
                f'{run.path} is a run of {request.trainer}, not of {command.trainer}'
            )
        longer = prolong(request, parse_assignments(command.assignments))
        policy = run.load_policy() if run.has_checkpoint else None
        prepared = prepare_run(longer, worlds, policy)
        if longer != request:
            run.change_config(longer.document())
    except BaseException:
        run.close()
        raise
    return prepared, run


def _carry_out(
    command: TrainCommand, prepared: PreparedRun, run: RunDirectory, console: Console
) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.cli.training_display import profile_table
    from structrl_ros.cli.training_display import rollback_advice
    from structrl_ros.training.run_trainer import carry_out
    from structrl_ros.training.settings import SftSettings

    request = prepared.request
    typed = f'structrl train {request.trainer}'
    console.print(f'[bold]{typed}[/] [dim]{run.path}[/]\n{request.title}')
    if isinstance(request.settings, SftSettings) and not run.has_checkpoint:
        shown = counted(request.settings.demonstrations, 'episode')
        console.print(f'first, until update 1: {shown} of the expert', highlight=False)
    display = TrainingDisplay(console, *_length(request))
    try:
        with display:
            metrics = carry_out(prepared, run=run, report=display, traces=command.traces)
    except KeyboardInterrupt:
        console.print(f'stopped; to go on: {typed} --resume --run-dir {run.path}')
        raise typer.Exit(130) from None
    advice = rollback_advice(metrics)
    if advice:
        console.print(advice, style='yellow')
    if command.profile and metrics:
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
