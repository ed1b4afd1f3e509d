"""`structrl bench learning`: the experiments on learning, with tables, plots and a report."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any
from typing import Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn
from rich.progress import Progress
from rich.progress import TaskProgressColumn
from rich.progress import TextColumn
from rich.progress import TimeElapsedColumn
from rich.progress import TimeRemainingColumn
from rich.table import Table

from structrl_ros.threads import ONE_THREAD

if TYPE_CHECKING:
    from structrl_ros.training.experiments.plan import Experiment

_COLOURS = {'shown': 'green', 'not shown': 'red', 'reported': 'cyan', 'not judged': 'yellow'}


def bench_learning(
    quick: Annotated[
        bool, typer.Option('--quick', help='A tiny run of each kind, for CI; claims nothing.')
    ] = False,
    mujoco: Annotated[
        bool, typer.Option('--mujoco', help='The confirmation in MuJoCo, an hour of CPU.')
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option('--only', help='Experiment by name; repeat for several.')
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help='Seeds of every arm; default: as claimed.')
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help='Folder of results; what is there is not run again, nor a run repeated.'
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help='Processes; numbers do not depend on it.')
    ] = 1,
) -> None:
    """What learning by practice shows, over seeds: tables, verdicts, plots, one HTML report.

    Example: [bold]structrl bench learning --only hard_start --workers 2[/]
    """
    request = LearningRequest(
        quick=quick,
        mujoco=mujoco,
        only=tuple(only or ()),
        seeds=seeds,
        out=out or Path('runs', _folder(quick, mujoco)),
        workers=workers,
    )
    run_bench_learning(request, Console(soft_wrap=True))


class BenchRequest(Protocol):
    """Where experiments are run, and how."""

    @property
    def out(self) -> Path:
        """Folder of results."""

    @property
    def workers(self) -> int:
        """Processes."""

    @property
    def is_slow_body(self) -> bool:
        """Whether the processes step the bodies of one run, instead of a run each."""

    @property
    def command(self) -> str:
        """What one types to get it, the folder and the workers apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRequest:
    """What is asked for; the fields are the options of the command."""

    out: Path
    quick: bool = False
    mujoco: bool = False
    only: tuple[str, ...] = ()
    seeds: int | None = None
    workers: int = 1

    @property
    def is_slow_body(self) -> bool:
        """See `BenchRequest`."""
        return self.mujoco

    @property
    def command(self) -> str:
        """See `BenchRequest`."""
        return self.typed('learning', ())

    def typed(self, bench: str, more: tuple[str, ...]) -> str:
        """Return the command of a bench with this request, and more words before its seeds."""
        words = [f'structrl bench {bench}']
        words += [f'--{name}' for name in ('quick', 'mujoco') if getattr(self, name)]
        words += [*(f'--only {name}' for name in self.only), *more]
        return ' '.join([*words, *([f'--seeds {self.seeds}'] if self.seeds else [])])


def run_bench_learning(request: LearningRequest, console: Console) -> dict[str, Any]:
    """Run experiments, print what came out, and write it into the folder.

    Files: results.json, report.html, overview.svg, and tables.md for the docs.

    Returns:
        The document of results.json.

    Raises:
        ParameterError: If an experiment is unknown.
        TrainingError: If a run fails.
        CheckpointError: If a file cannot be written.
    """
    experiments, start_episodes = _experiments(request)
    return run_experiments(experiments, start_episodes, request, console)


def run_experiments(
    experiments: Sequence[Experiment],
    start_episodes: int,
    request: BenchRequest,
    console: Console,
) -> dict[str, Any]:
    """Run, print and write given experiments, as `run_bench_learning` does.

    Args:
        experiments: What is run.
        start_episodes: Episodes of a start's evaluation.
        request: Where, and by how many processes.
        console: Shows how far it is, and the tables.
    """
    os.environ.update(ONE_THREAD)
    from structrl_ros.training.experiments.document import results_document
    from structrl_ros.training.experiments.document import write_document
    from structrl_ros.training.experiments.markdown import write_tables
    from structrl_ros.training.experiments.report import write_report
    from structrl_ros.training.experiments.runner import Runner
    from structrl_ros.training.experiments.runner import whole_work

    with _bars(console) as bars:
        bar = bars.add_task('', total=whole_work(experiments))

        def progress(title: str, work: int) -> None:
            bars.update(bar, advance=work, description=title)

        runner = Runner(
            folder=request.out,
            start_episodes=start_episodes,
            processes=1 if request.is_slow_body else request.workers,
            body_workers=request.workers if request.is_slow_body else 1,
            progress=progress,
        )
        found = runner.run(experiments)
    recipes = [arm.start for experiment in experiments for arm in experiment.arms]
    starts = list(runner.starts(recipes).values())
    document = results_document(experiments, found, starts, command=request.command)
    write_document(request.out / 'results.json', document)
    write_tables(request.out / 'tables.md', document)
    for experiment in document['experiments']:
        print_experiment(experiment, console)
    minutes = document['cpu_s'] / 60.0
    console.print(f'{document["runs"]} runs, {minutes:.1f} CPU-minutes', highlight=False)
    console.print(f'report: {write_report(request.out, document)}', highlight=False)
    return document


def print_experiment(experiment: Mapping[str, Any], console: Console) -> None:
    """Print the table of an experiment, a row an arm with every seed, and its verdict."""
    measures: Mapping[str, str] = experiment['measures']
    first = next(iter(measures))
    table = Table(title=experiment['title'], title_justify='left')
    table.add_column('arm')
    for name in measures:
        table.add_column(measures[name], justify='right')
    table.add_column(f'{measures[first]} of each seed')
    for arm in experiment['arms']:
        shown = [_cell(arm['measures'].get(name), name) for name in measures]
        seeds = ' '.join(f'{v:.2f}' for v in arm['measures'][first]['values'])
        table.add_row(arm['name'], *shown, seeds if arm['trainer'] else '')
    console.print(table, markup=False)
    verdict = experiment['verdict']
    console.print(f'[{_COLOURS[verdict["state"]]}]{verdict["state"]}[/]')
    for claim in verdict['claims']:
        mark = {None: '', True: ': holds', False: ': does not hold'}[claim['holds']]
        line = f'  {claim["wanted"]}: {claim["found"]}{mark}'
        console.print(line, markup=False, highlight=False)


def _experiments(request: LearningRequest) -> tuple[Sequence[Experiment], int]:
    """Return what is to be run, and the episodes of a start's evaluation."""
    from structrl_ros.training.experiments.catalogue import choose
    from structrl_ros.training.experiments.catalogue import twin_experiments
    from structrl_ros.training.experiments.mujoco_bench import MUJOCO
    from structrl_ros.training.experiments.mujoco_bench import MUJOCO_QUICK
    from structrl_ros.training.experiments.twin_bench import FULL
    from structrl_ros.training.experiments.twin_bench import QUICK

    if request.mujoco:
        confirmation = MUJOCO_QUICK if request.quick else MUJOCO
        found, episodes = confirmation.experiments(), confirmation.start_episodes
    else:
        bench = QUICK if request.quick else FULL
        found, episodes = twin_experiments(bench), bench.start_episodes
    chosen = choose(found, request.only)
    if request.seeds is not None:
        chosen = tuple(dataclasses.replace(e, seeds=request.seeds) for e in chosen)
    return chosen, episodes


def _folder(quick: bool, mujoco: bool) -> str:
    return 'learning' + ('-mujoco' if mujoco else '') + ('-quick' if quick else '')


def _bars(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn('left'),
        TimeRemainingColumn(),
        TextColumn('{task.description}'),
        console=console,
    )


def _cell(found: Mapping[str, Any] | None, measure: str) -> str:
    if found is None:
        return '-'
    digits = 1 if measure in ('steps', 'idle') else 3
    mean = f'{found["mean"]:.{digits}f}'
    if found['low'] is None:
        return mean
    return f'{mean} [{found["low"]:.{digits}f}, {found["high"]:.{digits}f}]'
