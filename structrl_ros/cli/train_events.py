"""`structrl train events`: a vision-language model that localises failure events (MART-GRPO)."""

from __future__ import annotations

import hashlib
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
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.event_settings import EventSettings
    from structrl_ros.training.run_directory import RunDirectory

KIND = 'events'


def train_events(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='SET [KEY:=VALUE]...', help='A set of structrl data events; settings.'
        ),
    ] = None,
    out: Out = None,
    base: Base = '',
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Fine-tune a vision-language model with LoRA to localise errors, kept by validation IoU.

    Example: [bold]structrl train events sets/events --base models/Qwen2.5-VL-7B-Instruct[/]
    """
    import torch

    torch.set_num_threads(1)
    named = {'base': base, 'seed': '' if seed is None else str(seed)}
    sets, assignments = read_words(words or (), named)
    with export_libraries():
        from structrl_ros.training.run_directory import open_run
    if resume:
        if out is None or sets or assignments:
            raise ParameterError('--resume needs --out alone: a run goes on as it began')
        directory = open_run(out)
    else:
        directory = _begin(sets, assignments, out)
    try:
        _carry_out(directory, Console(soft_wrap=True))
    finally:
        directory.close()


def _begin(sets: list[Path], assignments: dict[str, str], out: Path | None) -> RunDirectory:
    """Return a new run; what it cannot have leaves no directory behind."""
    from structrl_ros.cli.up import new_run_directory
    from structrl_ros.models.vlm.loading import read_family
    from structrl_ros.training.event_settings import EventSettings
    from structrl_ros.training.run_directory import create_run
    from structrl_ros.training.settings_document import make_settings

    if len(sets) != 1:
        raise ParameterError(f'{len(sets)} sets; allowed: 1, made by structrl data events')
    settings = make_settings(EventSettings, {}, assignments)
    if not settings.base:
        raise ParameterError('no base; give --base: a folder of a vision-language model, or an id')
    read_family(settings.base)
    document = {
        'trainer': KIND,
        'set': {'folder': str(sets[0].resolve()), 'digest': _digest(sets[0])},
        'settings': settings.model_dump(mode='json'),
    }
    return create_run(new_run_directory(out), document)


def _read(directory: RunDirectory) -> tuple[Path, EventSettings]:
    """Return set and settings of a run.

    Raises:
        CheckpointError: If it is no run of this trainer.
        ParameterError: If its set has changed.
    """
    from structrl_ros.training.event_settings import EventSettings
    from structrl_ros.training.settings_document import make_settings

    document = directory.config
    if document.get('trainer') != KIND:
        raise CheckpointError(f'{directory.path} is a run of {document.get("trainer")!r}')
    folder = Path(document['set']['folder'])
    if _digest(folder) != document['set']['digest']:
        raise ParameterError(f'{folder}: not the set that the run began with')
    return folder, make_settings(EventSettings, document['settings'])


def _carry_out(directory: RunDirectory, console: Console) -> None:
    from structrl_ros.cli.training_display import TrainingDisplay
    from structrl_ros.training.event_set import read_split
    from structrl_ros.training.event_trainer import EventTraining
    from structrl_ros.training.metrics_log import Metrics
    from structrl_ros.training.metrics_log import MetricsLog

    folder, settings = _read(directory)
    path = directory.path
    training = EventTraining(
        settings, read_split(folder, 'train'), read_split(folder, 'validation'), directory
    )
    console.print(
        f'[bold]structrl train events[/] [dim]{path}[/]\n{training.trained} parameters train, on '
        f'{training.model.device}'
    )
    log = MetricsLog(path, 'update', after=training.done)
    display = TrainingDisplay(console, 'update', settings.updates, training.done)

    def tell(update: int, metrics: Metrics) -> None:
        log.write(update, metrics)
        display(update, metrics)

    try:
        with display:
            place = training.train(tell)
    except KeyboardInterrupt:
        console.print(f'stopped; to go on: structrl train events --resume --out {path}')
        raise typer.Exit(130) from None
    finally:
        log.close()
    best = training.best
    console.print(f'best: update {best.update}, validation IoU {best.iou:.3f}', highlight=False)
    given = f'--model {settings.base} --adapter {place}'
    if settings.weights == 'all':
        given = f'--model {place}'
    console.print(f'structrl evaluate events {folder} {given}', highlight=False)


def _digest(folder: Path) -> str:
    from structrl_ros.training.event_set import read_split

    digest = hashlib.sha256()
    for split in ('train', 'validation'):
        path = folder / 'data' / f'{split}.parquet'
        if not path.is_file():
            read_split(folder, split)
        digest.update(path.read_bytes())
    return digest.hexdigest()
