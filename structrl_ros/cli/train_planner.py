"""`structrl train planner`: a vision-language planner, better by REVER's verifiable reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.export import export_libraries
from structrl_ros.cli.grm_runs import read_words
from structrl_ros.cli.run_options import Base
from structrl_ros.cli.run_options import Out
from structrl_ros.cli.run_options import Resume
from structrl_ros.cli.run_options import Seed
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.planner_settings import PlannerSettings
    from structrl_ros.training.planner_tasks import TaskSplit
    from structrl_ros.training.run_directory import RunDirectory


@dataclass(frozen=True, slots=True)
class _Run:
    """A run in its directory, which is held, and what it is about."""

    directory: RunDirectory
    stage: str
    settings: PlannerSettings
    split: TaskSplit


def train_planner(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='SET [KEY:=VALUE]...', help='A set of structrl data leap; settings, rows:=8.'
        ),
    ] = None,
    out: Out = None,
    base: Base = '',
    stage: Annotated[
        str, typer.Option(help='grpo, or sft: imitate the true plans first. Default: grpo.')
    ] = '',
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Fine-tune a planner with LoRA by GRPO on the verifiable reward (REVER, Section III-B).

    Examples: [bold]structrl train planner sets/leap --base models/Qwen2.5-VL-7B-Instruct[/],
    [bold]structrl train planner sets/leap --stage sft --base models/tiny weights:=all[/]
    """
    import torch

    torch.set_num_threads(1)
    named = {'base': base, 'seed': '' if seed is None else str(seed)}
    sets, assignments = read_words(words or (), named)
    console = Console(soft_wrap=True)
    run = (_go_on if resume else _begin)(sets, assignments, stage, out)
    try:
        _carry_out(run, console, resume=resume)
    finally:
        run.directory.close()


def _begin(sets: list[Path], assignments: Mapping[str, str], stage: str, out: Path | None) -> _Run:
    """Return a new run; what it cannot have leaves no directory behind."""
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.models.vlm.loading import read_family
    from structrl_ros.training.planner_settings import STAGES
    from structrl_ros.training.run_directory import create_run
    from structrl_ros.training.settings_document import make_settings

    with export_libraries():
        from structrl_ros.training.planner_run import check_settings
        from structrl_ros.training.planner_run import run_document
    stage = stage or 'grpo'
    if stage not in STAGES:
        raise ParameterError(f'--stage {stage!r}; allowed: {", ".join(STAGES)}')
    if len(sets) != 1:
        raise ParameterError(f'{len(sets)} sets; allowed: 1, made by structrl data leap')
    settings = make_settings(STAGES[stage], {}, assignments)
    check_settings(settings)
    document = run_document(sets[0], stage, settings)
    split = _split(sets[0], settings)
    read_family(settings.base)
    return _Run(create_run(new_run_directory(out), document), stage, settings, split)


def _go_on(sets: list[Path], assignments: Mapping[str, str], stage: str, out: Path | None) -> _Run:
    """Return the run in the directory that is named, as it was left."""
    from structrl_ros.training.planner_run import run_of_document
    from structrl_ros.training.run_directory import open_run

    if out is None:
        raise ParameterError('--resume needs --out: the run to go on with')
    given = [*map(str, sets), *assignments, *([stage] if stage else [])]
    if given:
        raise ParameterError(f'{given[0]}: a run goes on as it began; leave it out with --resume')
    directory = open_run(out)
    try:
        folder, begun_as, settings = run_of_document(directory.config)
        return _Run(directory, begun_as, settings, _split(folder, settings))
    except BaseException:
        directory.close()
        raise


def _split(folder: Path, settings: PlannerSettings) -> TaskSplit:
    """Return what is trained on and measured, and refuse settings that do not fit it."""
    from structrl_ros.training.planner_run import read_rows
    from structrl_ros.training.planner_tasks import split_tasks
    from structrl_ros.training.planner_trainer import count_updates

    split = split_tasks(read_rows(folder, settings), settings)
    count_updates(settings, len(split.training))
    return split


def _carry_out(run: _Run, console: Console, *, resume: bool) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.training.planner_trainer import PlannerTraining
    from structrl_ros.training.planner_trainer import count_updates

    path, split = run.directory.path, run.split
    console.print(
        f'[bold]structrl train planner[/] [dim]{path}[/]\nstage {run.stage}: '
        f'{len(split.training)} questions, {len(split.held_out)} more of held-out tasks'
    )
    updates = count_updates(run.settings, len(split.training))
    display = TrainingDisplay(console, 'update', updates)
    training = PlannerTraining(run.settings, split, path, display)
    console.print(f'{training.trained} parameters train, on {training.model.device}')
    try:
        with display:
            place = training.run(resume=resume)
    except KeyboardInterrupt:
        console.print(f'stopped; to go on: structrl train planner --resume --out {path}')
        raise typer.Exit(130) from None
    for name, value in training.measured.items():
        console.print(f'{name}: {value:.3f}')
    _tell_use(console, place, run)


def _tell_use(console: Console, place: Path, run: _Run) -> None:
    """Say how planner_node takes what was made."""
    given = f'model:={run.settings.base} adapter:={place}'
    if place.name == 'model':
        given = f'model:={place}'
    prompt = '' if run.settings.prompt == 'set' else f' plan_prompt:={run.settings.prompt}'
    console.print(f'planner:=local {given}{prompt}', highlight=False)
