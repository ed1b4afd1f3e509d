"""`structrl decompose`: the static decomposition of a task, as a table and as a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.params.sim import SIMULATED_BODIES

if TYPE_CHECKING:
    from structrl_ros.subtasks.decomposition import Decomposition
    from structrl_ros.training.decomposing import DecomposeRequest


def decompose(
    task: Annotated[
        str, typer.Argument(help='Task, a list of them, all, or a suite of LIBERO such as long.')
    ],
    body: Annotated[str, typer.Option(help=f'One of {", ".join(SIMULATED_BODIES)}.')] = 'libero',
    demos: Annotated[
        int, typer.Option(min=0, max=1000, help='Demonstrations of the scripted expert, for T_d.')
    ] = 0,
    stages: Annotated[
        Path | None, typer.Option(help='Text of a model: {"stages": [["phrase", ...], ...]}.')
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="data, rules or goal; default: the body's own.")
    ] = None,
    density: Annotated[
        bool, typer.Option('--density', help='Also every level of the density ladder.')
    ] = False,
    chunk_length: Annotated[
        int, typer.Option(min=1, max=200, help='Low-level steps of a chunk, for T_d.')
    ] = 8,
    resets: Annotated[int, typer.Option(min=1, max=50, help='Initial states looked at.')] = 10,
    idle: Annotated[int, typer.Option(min=0, max=50, help='Rollouts without purpose.')] = 4,
    out: Annotated[Path | None, typer.Option(help='File, or folder, to write.')] = None,
) -> None:
    """Ground, filter and time the subtasks of a task: what StructRL pays for, as a file.

    Example: [bold]structrl decompose pack_lunch --body tabletop --demos 20[/]
    """
    from structrl_ros.training.decomposing import DecomposeRequest
    from structrl_ros.training.evidence import Counts

    given = DecomposeRequest(
        body=body,
        task='',
        sources=tuple(source or ()),
        text=_read(stages),
        density=density,
        counts=Counts(resets=resets, idle=idle, demonstrations=demos),
        chunk_length=chunk_length,
    )
    options = {
        '--demos': demos,
        '--stages': stages.name if stages else None,
        '--density': density or None,
        '--chunk-length': chunk_length,
        '--resets': resets,
        '--idle': idle,
    }
    words = [f'{key} {value}'.removesuffix(' True') for key, value in options.items() if value]
    words += [f'--source {word}' for word in source or ()]
    command = f'structrl decompose {task} --body {body} {" ".join(words)}'
    tasks = named_tasks(body, task)
    requests = [dataclasses.replace(given, task=name, command=command) for name in tasks]
    decompose_all(requests, out, Console(soft_wrap=True))


def decompose_all(
    requests: Sequence[DecomposeRequest], out: Path | None, console: Console
) -> None:
    """Decompose tasks one after another; print each, and write what is asked for.

    Args:
        requests: One a task.
        out: File of the one decomposition, or folder for all; None writes nothing.
        console: Where the tables go.

    Raises:
        StructRLError: If a task cannot be decomposed, or a file cannot be written.
    """
    from structrl_ros.sim.decompositions import file_name
    from structrl_ros.subtasks.decomposition_file import write_decomposition
    from structrl_ros.training.decomposing import decompose_task

    is_file = out is not None and out.suffix == '.json'
    for request in requests:
        with console.status(f'{request.task}: playing what the filters judge by...'):
            found = decompose_task(request)
        if is_file and len(requests) * len(found) > 1:
            raise ParameterError(f'--out {out}: more than one decomposition needs a folder')
        for decomposition in found:
            print_decomposition(decomposition, request.chunk_length, console)
            if out is not None:
                own = file_name(decomposition.task, decomposition.variant)
                path = out if is_file else out / own
                write_decomposition(path, decomposition)
                console.print(f'written: {path}', highlight=False)


def _read(path: Path | None) -> str:
    """Return the text of a file, '' for none.

    Raises:
        ParameterError: If it cannot be read, or is empty.
    """
    if path is None:
        return ''
    try:
        text = path.read_text(encoding='utf-8')
    except OSError as error:
        raise ParameterError(f'--stages {path}: {error.strerror}') from None
    except UnicodeDecodeError:
        raise ParameterError(f'--stages {path}: is no UTF-8 text') from None
    if not text.strip():
        raise ParameterError(f'--stages {path}: is empty')
    return text


def named_tasks(body: str, text: str) -> tuple[str, ...]:
    """Return the tasks of 'pack_lunch', 'long/0,goal/3', a suite of LIBERO, or 'all'.

    Raises:
        SimulationError: If no task is named.
    """
    words = [word.strip() for word in text.split(',') if word.strip()]
    if not words:
        raise SimulationError('no task is named')
    if body == 'libero':
        from structrl_ros.sim.libero.tasks import TASKS
        from structrl_ros.sim.libero.tasks import find_task

        found: list[str] = []
        for word in words:
            suite = [task.id for task in TASKS if word in (task.suite, 'all')]
            found += suite or [find_task(word).id]
        return tuple(dict.fromkeys(found))
    if words == ['all'] and body in ('tabletop', 'twin'):
        from structrl_ros.sim.tabletop.task_files import tasks as tabletop_tasks

        return tuple(tabletop_tasks())
    return tuple(dict.fromkeys(words))


def print_decomposition(decomposition: Decomposition, chunk_length: int, console: Console) -> None:
    """Print stages with durations, then what was dropped and why, then where it came from."""
    own = decomposition
    durations = own.durations_at(chunk_length)
    variant = f' ({own.variant})' if own.variant else ''
    table = Table(title=f'{own.task}{variant} on {own.body}: "{own.instruction}"')
    for column in ('stage', 'subtask', 'predicate', f'T_d (chunks of {chunk_length})', 'timed by'):
        table.add_column(column, overflow='fold')
    total = len(own.demonstrations)
    for number, stage in enumerate(own.stages, 1):
        for subtask in stage:
            name = subtask.predicate
            timed = f'{durations[name]:.1f}' if name in durations else '-'
            seen = f'{own.coverage.get(name, 0)} of {total}' if total else '-'
            table.add_row(str(number), subtask.phrase, name, timed, seen)
    for dropped in own.dropped:
        why = f'({dropped.filter}) {dropped.reason}'
        table.add_row('-', dropped.phrase, dropped.predicate or '-', why, '', style='dim')
    console.print(table, markup=False)
    came = own.provenance
    source = f'stages from {came.source}; N = {len(own.names)}'
    looked = f'{came.resets} resets, {came.idle} idle rollouts'
    played = f'{total} of {came.attempts} demonstrations' if came.attempts else 'no demonstrations'
    console.print(f'{source}; looked at {looked}, {played}', highlight=False, markup=False)
