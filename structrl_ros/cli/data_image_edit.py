"""`structrl data image-edit`: counterfactuals by any OpenAI-compatible image editor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.progress.operators import Operator
    from structrl_ros.training.image_edit_client import EditorSettings
    from structrl_ros.training.image_edit_plan import EditOptions
    from structrl_ros.training.image_edit_run import EditReport

Sets = Annotated[
    list[Path], typer.Argument(metavar='SET...', help='Sets whose source pictures are edited.')
]
Operators = Annotated[
    list[str] | None, typer.Option(help='Only this operator; repeat for several.')
]
Fields = Annotated[
    list[str] | None, typer.Option(help='One more field of the form, as quality=low.')
]
SeedField = Annotated[
    str, typer.Option(help='Field of the form that takes the seed; default: none.')
]
KeyVariable = Annotated[
    str, typer.Option(help='Environment variable that holds the key; empty: no key.')
]


def image_edit(
    sets: Sets,
    out: Annotated[Path, typer.Option(help='Folder of the set; that of a run goes on with it.')],
    base_url: Annotated[str, typer.Option(help='Address of the server, up to /v1.')],
    model: Annotated[str, typer.Option(help='Name of the model on the server.')],
    operator: Operators = None,
    references: Annotated[
        int, typer.Option(min=0, max=13, help='Frames that are sent beside the one to edit.')
    ] = 13,
    sent_px: Annotated[
        int, typer.Option(min=0, help='Side of sent and returned images; 0: that of the set.')
    ] = 0,
    max_requests: Annotated[
        int, typer.Option(min=1, help='Most requests that are sent, tries included.')
    ] = 100,
    per_minute: Annotated[
        float, typer.Option(min=0.0, help='Most requests a minute; 0: no limit.')
    ] = 0.0,
    workers: Annotated[int, typer.Option(min=1, max=64, help='Requests at a time.')] = 2,
    retries: Annotated[int, typer.Option(min=0, help='Tries after the first that failed.')] = 3,
    timeout: Annotated[float, typer.Option(min=0.001, help='Longest try, seconds.')] = 180.0,
    field: Fields = None,
    seed_field: SeedField = '',
    key_variable: KeyVariable = 'OPENAI_API_KEY',
    seed: Annotated[int, typer.Option(min=0, help='Of what operators bring.')] = 0,
    dry_run: Annotated[
        bool, typer.Option('--dry-run', help='Count requests and print one; send none.')
    ] = False,
) -> None:
    """Edit the frames of recorded episodes with an image model, with full provenance.

    What was answered is kept at once and never asked again.

    Example: [bold]structrl data image-edit sets/lunch --out sets/edited --base-url
    http://127.0.0.1:8000/v1 --model some-editor --max-requests 500[/]
    """
    from structrl_ros.training.image_edit_client import EditorSettings
    from structrl_ros.training.image_edit_plan import EditOptions

    settings = EditorSettings(
        base_url=base_url,
        model=model,
        key_variable=key_variable,
        timeout_s=timeout,
        retries=retries,
        fields=tuple(_field(text) for text in field or ()),
        seed_field=seed_field,
    )
    options = EditOptions(
        operators=_operators(operator or []), references=references, sent_px=sent_px, seed=seed
    )
    console = Console(soft_wrap=True)
    if dry_run:
        _count(sets, options, console)
        return
    report = _make(sets, out, settings, options, max_requests, per_minute, workers, console)
    _print(report, out, console)


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition('=')
    if not name or not equals:
        raise ParameterError(f'field {text!r}; allowed: NAME=VALUE')
    return name, value


def _operators(names: list[str]) -> tuple[Operator, ...]:
    from structrl_ros.progress.operators import Operator

    known = {operator.value: operator for operator in Operator}
    for name in names:
        if name not in known:
            raise ParameterError(f'operator {name!r}; allowed: {", ".join(known)}')
    return tuple(known[name] for name in names)


def _count(sets: list[Path], options: EditOptions, console: Console) -> None:
    from structrl_ros.training.image_edit_run import count_requests

    counts, first = count_requests(sets, options)
    table = Table('operator', 'requests', title=f'{sum(counts.values())} requests, none sent')
    for name, count in counts.items():
        table.add_row(name, str(count))
    console.print(table)
    if first is not None:
        images = len(first.request.pictures)
        console.print(f'the first one, {images} images, frame {first.frame} of {first.role}:')
        console.print(first.request.prompt, markup=False, highlight=False)


def _make(
    sets: list[Path],
    out: Path,
    settings: EditorSettings,
    options: EditOptions,
    max_requests: int,
    per_minute: float,
    workers: int,
    console: Console,
) -> EditReport:
    from rich.progress import Progress

    from structrl_ros.training.image_edit_budget import RequestBudget
    from structrl_ros.training.image_edit_client import ImageEditor
    from structrl_ros.training.image_edit_run import ImageEditRun
    from structrl_ros.training.image_edit_run import count_requests

    total = sum(count_requests(sets, options)[0].values())
    budget = RequestBudget(max_requests, per_minute)
    editor = ImageEditor(settings, before_try=budget.take)
    try:
        with Progress(console=console) as bar:
            task = bar.add_task('views', total=total)
            run = ImageEditRun(
                out,
                editor,
                options,
                workers=workers,
                on_failure=lambda line: console.print(
                    f'failed: {line}', style='yellow', markup=False, highlight=False
                ),
                on_answer=lambda: bar.advance(task),
            )
            return run.make(sets)
    except KeyboardInterrupt:
        console.print('stopped; what was answered is kept, and the same command goes on')
        raise typer.Exit(130) from None
    finally:
        editor.close()
        console.print(f'{budget.sent} requests sent, tries included')


def _print(report: EditReport, out: Path, console: Console) -> None:
    """Print what was made; raise why it stopped, unless the budget was spent."""
    from structrl_ros.training.image_edit_budget import BudgetSpentError

    counts: dict[str, list[int]] = {}
    for edit in report.edits:
        entry = counts.setdefault(edit.operator, [0, 0, 0])
        entry[0] += 1
        entry[1] += len(edit.edited_frames)
        entry[2] += sum(share == 0.0 for share in edit.changed_pixels)
    table = Table('operator', 'trajectories', 'frames', 'unchanged', title=f'edits in {out}')
    for name, numbers in sorted(counts.items()):
        table.add_row(name, *map(str, numbers))
    console.print(table)
    left = report.wanted - report.before - report.answered
    console.print(
        f'{report.wanted} views: {report.before} answered before, {report.answered} now, {left} '
        f'not ({report.failed} failed)'
    )
    if report.stopped is None:
        return
    if not isinstance(report.stopped, BudgetSpentError):
        raise report.stopped
    console.print(f'stopped: {report.stopped}', style='yellow')
