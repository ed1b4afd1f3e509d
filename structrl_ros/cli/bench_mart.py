"""`structrl bench mart`: failure feedback that stops at an error, beside full and its controls."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.bench_learning import LearningRequest
from structrl_ros.cli.bench_learning import run_experiments
from structrl_ros.types import JsonObject

if TYPE_CHECKING:
    from structrl_ros.training.experiments.mart_bench import MartBench
    from structrl_ros.training.experiments.plan import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class MartRequest(LearningRequest):
    """What is asked for; the fields are the options of the command."""

    arms: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """See `BenchRequest`."""
        return self.typed('mart', tuple(f'--arm {shlex.quote(name)}' for name in self.arms))


def bench_mart(
    quick: Annotated[
        bool, typer.Option('--quick', help='A tiny run, to see that it runs; claims nothing.')
    ] = False,
    mujoco: Annotated[
        bool, typer.Option('--mujoco', help='The confirmation in MuJoCo, hours of CPU.')
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option('--only', help='Experiment by name; repeat for several.')
    ] = None,
    arms: Annotated[
        list[str] | None, typer.Option('--arm', help='Arm by name; repeat for several.')
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help='Seeds of every arm.')] = None,
    out: Annotated[
        Path | None, typer.Option(help='Folder of results; what is there is not run again.')
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help='Processes; numbers do not depend on it.')
    ] = 1,
) -> None:
    """GRPO that stops feedback on a failure at its last error (MART-GRPO), and controls.

    Example: [bold]structrl bench mart --only terminal --seeds 4[/]
    """
    from structrl_ros.training.experiments.catalogue import choose
    from structrl_ros.training.experiments.mart_bench import choose_arms
    from structrl_ros.training.experiments.mart_bench import mart_bench

    request = MartRequest(
        out=out or Path('runs', 'mart' + '-mujoco' * mujoco + '-quick' * quick),
        quick=quick,
        mujoco=mujoco,
        only=tuple(only or ()),
        arms=tuple(arms or ()),
        seeds=seeds,
        workers=workers,
    )
    bench = mart_bench(mujoco=mujoco, quick=quick)
    chosen = choose(bench.experiments(), request.only)
    if seeds is not None:
        chosen = tuple(dataclasses.replace(e, seeds=seeds) for e in chosen)
    console = Console(soft_wrap=True)
    picked = [choose_arms(experiment, request.arms) for experiment in chosen]
    run_experiments(picked, bench.start_episodes, request, console)
    if request.arms or not bench.gradient_groups:
        return
    tests = [(e.title, _gradient_test(e, bench, request.out)) for e in chosen]
    for title, found in tests:
        console.print(gradient_table(title, found))


def gradient_table(title: str, found: JsonObject) -> Table:
    """Return what each way to cut feedback does to the gradient, a row a rule."""
    table = Table(title=f'{title}: gradients of {found["groups"]} groups at the start')
    table.add_column('feedback')
    for head in ('weight kept', 'trace / full', 'shift, errors', 'p of a shift', 'pays below n'):
        table.add_column(head, justify='right')
    for name, rule in found['rules'].items():
        low, high = rule['interval']
        pays = rule['break_even']
        table.add_row(
            name,
            f'{rule["retained"]:.3f}',
            f'{rule["covariance_ratio"]:.3f} [{low:.3f}, {high:.3f}]',
            f'{rule["shift_errors"]:.2f}',
            f'{rule["shift_p"]:.4f}',
            '-' if pays is None else f'{pays:.1f}',
        )
    return table


def _gradient_test(experiment: Experiment, bench: MartBench, out: Path) -> JsonObject:
    from structrl_ros.training.experiments.gradient_test import gradient_test
    from structrl_ros.training.experiments.runner import Runner

    arms = {arm.name: arm for arm in experiment.arms if arm.trainer}
    recipe = next(iter(arms.values())).start
    start = Runner(folder=out, start_episodes=bench.start_episodes).starts([recipe])
    return gradient_test(arms, start[recipe.folder], bench.gradient_groups, out)
