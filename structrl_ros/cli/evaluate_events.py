"""`structrl evaluate events`: event models on the rollouts of a set (MART-GRPO, Section 4.1)."""

from __future__ import annotations

import dataclasses
import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from structrl_ros.cli.export import export_libraries
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.cli.event_backends import VlmChoice
    from structrl_ros.evaluation.event_scores import Share
    from structrl_ros.training.event_episode import EventEpisode
    from structrl_ros.training.event_evaluation import BackendResult
    from structrl_ros.training.event_evaluation import Reviewer


def events(
    folder: Annotated[Path, typer.Argument(help='A set of structrl data events.')],
    split: Annotated[str, typer.Option(help='train, validation or test.')] = 'test',
    model: Annotated[str, typer.Option(help='Also a local VLM: its folder or id.')] = '',
    adapter: Annotated[str, typer.Option(help='Folder of a LoRA adapter of it.')] = '',
    server: Annotated[str, typer.Option(help='Also a VLM on a server: http(s)://HOST/v1.')] = '',
    server_model: Annotated[str, typer.Option(help='Name of the model there.')] = '',
    seed: Annotated[int, typer.Option(min=0, help='Of the intervals.')] = 0,
    json: Annotated[Path | None, typer.Option('--json', help='Also write the numbers here.')] = (
        None
    ),
) -> None:
    """Score event models and baselines against the simulator's labels, with intervals.

    Example: [bold]structrl evaluate events sets/events --model tiny --adapter runs/E/adapter[/]
    """
    with export_libraries():
        from structrl_ros.training.event_episode import SPLITS
        from structrl_ros.training.event_evaluation import evaluate_backend
        from structrl_ros.training.event_evaluation import failures
        from structrl_ros.training.event_set import read_split
    from structrl_ros.cli.event_backends import VlmChoice

    if split not in SPLITS:
        raise ParameterError(f'--split {split!r}; allowed: {", ".join(SPLITS)}')
    choice = VlmChoice(model=model, adapter=adapter, server=server, server_model=server_model)
    episodes = failures(read_split(folder, split))
    console = Console(soft_wrap=True)
    results: list[BackendResult] = []
    for name, review in _reviewers(folder, episodes, choice).items():
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task(name, total=len(episodes))
            done = lambda bar=bar, shown=progress: shown.advance(bar)  # noqa: E731
            results.append(evaluate_backend(name, review, episodes, seed=seed, on_done=done))
    console.print(_table(results, f'{folder}, {split}'))
    for result in results:
        if result.problem:
            console.print(f'{result.name}: {result.problem}', style='yellow', markup=False)
    if json is not None:
        _write(results, json)


def _reviewers(
    folder: Path, episodes: list[EventEpisode], choice: VlmChoice
) -> dict[str, Reviewer]:
    """Return the backends by name, the baselines first."""
    from structrl_ros.models.events.progress import ProgressEvents
    from structrl_ros.models.events.stall import StallEvents
    from structrl_ros.sim.events.reviewer import SimulatorEvents
    from structrl_ros.training.event_evaluation import first_error
    from structrl_ros.training.event_evaluation import last_chunk
    from structrl_ros.training.event_evaluation import of_model
    from structrl_ros.training.event_evaluation import usual_chunk
    from structrl_ros.training.event_set import read_split

    found: dict[str, Reviewer] = {
        'last chunk (full feedback)': last_chunk,
        'first error (prefix rule, true)': first_error,
        'usual chunk of the task': usual_chunk(read_split(folder, 'train')),
        'simulator, once a chunk': of_model(SimulatorEvents()),
    }
    if any(episode.potential for episode in episodes):
        found['progress'] = of_model(ProgressEvents())
        found['progress_stall'] = of_model(StallEvents())
    for model in choice.open():
        found[model.name] = of_model(model)
    return found


def _table(results: list[BackendResult], title: str) -> Table:
    first = results[0].scores
    told = (
        f'{title}: {first.eligible} eligible failures of {first.tasks} tasks, {first.others} more'
    )
    table = Table('backend', title=escape(told))
    for column in ('IoU', 'same end', 'within 1 chunk', 'answered', 'wrongly cut', 'kept'):
        table.add_column(column, justify='right')
    for result in results:
        scores = result.scores
        wrongly = '' if scores.wrongly_cut is None else f'{scores.wrongly_cut:.2f}'
        shares = (scores.iou, scores.exact, scores.within_one)
        answered, kept = f'{scores.answered.value:.2f}', f'{scores.retained:.2f}'
        table.add_row(escape(result.name), *map(_shown, shares), answered, wrongly, kept)
    return table


def _shown(share: Share) -> str:
    return f'{share.value:.3f} [{share.low:.2f}, {share.high:.2f}]'.replace('[', '\\[')


def _write(results: list[BackendResult], path: Path) -> None:
    from structrl_ros.models.whole_files import whole_file

    document = [
        {
            'backend': result.name,
            **dataclasses.asdict(result.scores),
            'fallbacks': dict(result.fallbacks),
        }
        for result in results
    ]
    with whole_file(path) as new:
        new.write_text(json_text.dumps(document, indent=1) + '\n', encoding='utf-8')
