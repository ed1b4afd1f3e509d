"""`structrl evaluate grm`: visual order consistency of progress models, and of their baselines."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

if TYPE_CHECKING:
    from structrl_ros.evaluation.grm_paired import ArmDifference
    from structrl_ros.evaluation.grm_scores import ModelResult
    from structrl_ros.training.voc_sets import VocSets


def grm(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar='MODEL...',
            help='Folder of a checkpoint, true, robometer or untrained; ARM=MODEL for seeds of '
            'an arm; :static at the end hides the panels.',
        ),
    ],
    sets: Annotated[
        list[Path], typer.Option('--set', help='Set of structrl data; repeat for several.')
    ],
    out: Annotated[Path | None, typer.Option(help='Folder of numbers and page.')] = None,
    paired: Annotated[
        bool, typer.Option('--paired', help='Compare every other arm with the first one.')
    ] = False,
    split: Annotated[str, typer.Option(help='test or train.')] = 'test',
    context: Annotated[
        Literal['online', 'reference'],
        typer.Option(help='Panels of what was seen so far, or of the unedited source.'),
    ] = 'online',
    every: Annotated[int, typer.Option(min=1, help='Show one in so many frames.')] = 1,
    limit: Annotated[int, typer.Option(min=0, help='Most trajectories a family; 0: all.')] = 0,
    seed: Annotated[int, typer.Option(min=0, help='Seed of the bootstrap.')] = 0,
    curves: Annotated[int, typer.Option(min=0, help='Curves of each family on the page.')] = 2,
) -> None:
    """Correlate the progress that models see with the true one, in five families of trajectories.

    Example: [bold]structrl evaluate grm true runs/grm --set sets/lunch --set sets/cycles[/]
    """
    from structrl_ros.evaluation.grm_paired import compare_results
    from structrl_ros.training.voc_run import RESULT
    from structrl_ros.training.voc_run import write_result
    from structrl_ros.training.voc_sets import VocSets

    console = Console(soft_wrap=True)
    chosen = VocSets(tuple(sets), split, every, limit)
    results = _run(models, chosen, context, seed, console)
    for result in results:
        console.print(voc_table(result))
    for line in excluded_lines(results):
        console.print(line, style='yellow', highlight=False, markup=False)
    differences = compare_results(results, seed=seed) if paired else []
    for difference in differences:
        console.print(difference_table(difference))
    if out is not None:
        write_result(out / RESULT, chosen, context, results, differences)
        page = _write_page(out / 'report.html', results, differences, chosen, context, curves)
        console.print(f'numbers: {out / RESULT}, page: {page}', highlight=False, markup=False)


def _run(
    models: Sequence[str],
    sets: VocSets,
    context: Literal['online', 'reference'],
    seed: int,
    console: Console,
) -> list[ModelResult]:
    from structrl_ros.training.voc_run import read_contender
    from structrl_ros.training.voc_run import run_model
    from structrl_ros.training.voc_sets import planned_trajectories

    contenders = [read_contender(text) for text in models]
    total = sum(len(episode.shown) for episode in planned_trajectories(sets))
    results = []
    with Progress(console=console, transient=True) as bar:
        for contender in contenders:
            task = bar.add_task(escape(contender.word), total=total)
            results.append(
                run_model(
                    contender,
                    sets,
                    context=context,
                    seed=seed,
                    on_trajectory=lambda task=task: bar.advance(task),  # type: ignore[misc]
                )
            )
    return results


def voc_table(result: ModelResult) -> Table:
    """Return mean VOC with intervals, a family a row; n is the number of trajectories."""
    title = f'{result.label} ({result.input})'
    table = Table('family', title=escape(title), title_justify='left')
    for name in ('VOC', '95 % interval', 'incremental', 'n', 'episodes'):
        table.add_column(name, justify='right')
    for family in result.summary.families:
        table.add_row(
            family.family,
            _number(family.mean),
            _bounds(family.interval),
            _number(family.incremental),
            str(family.counted),
            str(family.episodes),
        )
    table.add_section()
    table.add_row('average of families', _number(result.summary.average))
    table.add_row('completion accuracy', _number(result.summary.completion.accuracy))
    return table


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.3f}'


def _bounds(interval: tuple[float, float] | None) -> str:
    return '' if interval is None else f'{interval[0]:.3f} to {interval[1]:.3f}'


def excluded_lines(results: Sequence[ModelResult]) -> list[str]:
    """Return a line for each reason for which trajectories have no VOC."""
    return [
        f'{result.label}, {family.family}: {count} left out: {reason}'
        for result in results
        for family in result.summary.families
        for reason, count in family.excluded.items()
    ]


def difference_table(difference: ArmDifference) -> Table:
    """Return the paired differences of two arms, a family a row; n as in `voc_table`."""
    title = f'{difference.b} (second) less {difference.a} (first), paired'
    table = Table('family', title=escape(title), title_justify='left')
    for name in ('first', 'second', 'difference', '95 % interval', 'n'):
        table.add_column(name, justify='right', no_wrap=True)
    for family in difference.families:
        low, high = family.interval
        table.add_row(
            family.family,
            f'{family.means[0]:.3f}',
            f'{family.means[1]:.3f}',
            f'{family.difference:+.3f}{" *" if family.is_shown else ""}',
            f'{low:+.3f} to {high:+.3f}',
            str(family.trajectories),
        )
    if difference.families:
        first, second = difference.families[0].seeds
        table.caption = f'seeds: {first} and {second}'
        if 1 in (first, second):
            table.caption += '; the interval of an arm of one seed is that of episodes alone'
    return table


def _write_page(
    path: Path,
    results: Sequence[ModelResult],
    differences: Sequence[ArmDifference],
    sets: VocSets,
    context: str,
    curves: int,
) -> Path:
    from structrl_ros.recording.grm_page import write_grm_page

    facts: Mapping[str, str] = {
        'Sets': ', '.join(folder.name for folder in sets.folders),
        'Split': sets.split,
        'Panels': context,
        'Frames': 'all' if sets.every == 1 else f'one in {sets.every}',
    }
    return write_grm_page(path, results, differences, facts, each=curves)
