"""`structrl report`: the page of a recorded run, or of an evaluation, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def report(
    folder: Annotated[
        Path, typer.Argument(help='Folder of a run (bag/) or of an evaluation (results.json).')
    ],
) -> None:
    """Write report.html of a recorded run or of an evaluation again (docs: reports).

    Of a run also run.json and trace.json. Two policies: [bold]structrl evaluate compare --html[/].

    Example: [bold]structrl report runs/today[/]
    """
    path = _write(folder)
    Console(soft_wrap=True).print(f'report: {path}', highlight=False, markup=False)


def write_comparison_page(path: Path, first: Path, second: Path | None, seed: int) -> None:
    """Write the comparison of two evaluations, or of the two policies of one, with pictures.

    Raises:
        ParameterError: If they cannot be compared.
        BagError: If the page cannot be written.
    """
    from structrl_ros.evaluation.results import load_results
    from structrl_ros.recording.report_episodes import load_pictures
    from structrl_ros.recording.report_evaluation import write_comparison

    pictures = load_pictures(first), load_pictures(second or first)
    other = load_results(second) if second else None
    write_comparison(path, load_results(first), other, pictures=pictures, seed=seed)


def _write(folder: Path) -> Path:
    from structrl_ros.errors import ParameterError
    from structrl_ros.evaluation.results import RESULTS
    from structrl_ros.evaluation.results import load_results
    from structrl_ros.recording.report import write_report
    from structrl_ros.recording.report_episodes import load_pictures
    from structrl_ros.recording.report_evaluation import write_evaluation

    if (folder / 'bag').is_dir():
        return write_report(folder)
    if (folder / RESULTS).is_file():
        results = load_results(folder)
        return write_evaluation(folder / 'report.html', results, pictures=load_pictures(folder))
    raise ParameterError(
        f'{folder} holds neither bag/ nor {RESULTS}; allowed: the folder of a run, or of an '
        'evaluation (structrl evaluate report FOLDER writes its results)'
    )
