"""`structrl evaluate sim-to-real` and `cards`: does the simulator predict the arm, and set-ups."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.evaluation.results import EvaluationResults
    from structrl_ros.evaluation.sim_to_real import Agreement
    from structrl_ros.evaluation.sim_to_real import SimToReal


def sim_to_real(
    sim: Annotated[Path, typer.Argument(help='Folder of the evaluation in simulation.')],
    real: Annotated[Path, typer.Argument(help='Folder of that on the arm.')],
    policy: Annotated[
        str, typer.Option(help='Policy by name or code, where a folder has several.')
    ] = '',
    seed: Annotated[int, typer.Option(min=0, help='Seed of the bootstrap.')] = 0,
    json: Annotated[Path | None, typer.Option(help='Write all numbers.')] = None,
) -> None:
    """Correlate success rates task by task: Pearson, Spearman and rank violation (MMRV).

    Example: [bold]structrl evaluate sim-to-real runs/simulated runs/arm[/]
    """
    from structrl_ros.evaluation.results import load_results
    from structrl_ros.evaluation.sim_to_real import compare_sim_to_real

    console = Console(soft_wrap=True)
    counts = [counts_of(load_results(path), policy, str(path)) for path in (sim, real)]
    found = compare_sim_to_real(counts[0], counts[1], seed=seed)
    console.print(_tasks(found))
    console.print(_measures(found))
    low, high = found.difference_interval
    console.print(
        f'mean difference of the rates, simulation less real: {found.difference:+.3f} '
        f'[{low:+.3f}, {high:+.3f}]',
        highlight=False,
        markup=False,
    )
    if found.left_out:
        console.print(f'on one side only: {", ".join(found.left_out)}', style='yellow')
    if json is not None:
        text = json_module.dumps(found.to_json(), indent=1, allow_nan=False)
        try:
            json.write_text(f'{text}\n', 'utf-8')
        except OSError as error:
            raise ParameterError(f'cannot write {json}: {error.strerror}') from None


def cards(
    protocol: Annotated[Path, typer.Argument(help='Protocol of a simulated body, a YAML file.')],
    out: Annotated[Path, typer.Option(help='Folder of the cards.')],
    role: Annotated[
        list[str] | None, typer.Option(help='Camera to draw; may be repeated.')
    ] = None,
) -> None:
    """Draw placement cards of every initial state, to set them up on a table.

    Example: [bold]structrl evaluate cards protocol.yaml --out cards[/]
    """
    from structrl_ros.training.placement_cards import write_cards
    from structrl_ros.training.protocol_document import read_protocol

    made = write_cards(read_protocol(protocol), out, role or ['head'])
    Console(soft_wrap=True).print(
        f'{len(made)} cards: {out / "index.html"} to print; {out / "arm.yaml"} is the protocol '
        f'for the arm; structrl overlay --reference {out} lays them over the live camera',
        highlight=False,
        markup=False,
    )


def counts_of(results: EvaluationResults, policy: str, where: str) -> dict[str, tuple[int, int]]:
    """Return task to (successes, episodes) of one policy of an evaluation.

    Raises:
        ParameterError: If the policy is not there, or has to be named.
    """
    chosen = [p.code for p in results.policies if not policy or policy in (p.name, p.code)]
    if len(chosen) != 1:
        known = ', '.join(p.name or p.code for p in results.policies)
        raise ParameterError(
            f'{where}: policy {policy!r} names {len(chosen)} of its policies; allowed: one of '
            f'{known}, by --policy'
        )
    counts: dict[str, tuple[int, int]] = {}
    for episode in results.of(chosen[0]):
        successes, n = counts.get(episode.task, (0, 0))
        counts[episode.task] = successes + episode.success, n + 1
    return counts


def _tasks(found: SimToReal) -> Table:
    table = Table('task')
    for name in ('simulation', 'real', 'difference', 'p (Fisher)'):
        table.add_column(name, justify='right')
    for task in found.tasks:
        sides = [
            f'{k}/{n} [{low:.2f}, {high:.2f}]'
            for (k, n), (low, high) in zip((task.sim, task.real), task.intervals, strict=True)
        ]
        table.add_row(task.task, *sides, f'{task.difference:+.2f}', f'{task.p_value:.3f}')
    return table


def _measures(found: SimToReal) -> Table:
    table = Table('measure')
    for name in ('value', '95 % interval', 'between two runs of one world'):
        table.add_column(name, justify='right')
    for measure in found.measures:
        table.add_row(measure.name, *_cells(measure))
    return table


def _cells(measure: Agreement) -> tuple[str, str, str]:
    if measure.value is None:
        return '-', measure.note, ''
    interval, alike = measure.interval, measure.alike
    return (
        f'{measure.value:.3f}',
        f'[{interval[0]:.3f}, {interval[1]:.3f}]' if interval else measure.note,
        f'{alike[1]:.3f} [{alike[0]:.3f}, {alike[2]:.3f}]' if alike else '-',
    )
