"""`structrl bench grm-rl`: practice shaped by GRMs, with tables, plots and a report."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from structrl_ros.cli.bench_learning import run_experiments


@dataclass(frozen=True, slots=True, kw_only=True)
class GrmShapingRequest:
    """What is asked for; the fields are the options of the command."""

    grms: Path
    out: Path
    quick: bool = False
    seeds: int | None = None
    workers: int = 1
    is_slow_body: bool = True

    @property
    def command(self) -> str:
        """What one types to get it, the folders and the workers apart."""
        words = ['structrl bench grm-rl GRMS', *(['--quick'] if self.quick else [])]
        return ' '.join([*words, *([f'--seeds {self.seeds}'] if self.seeds else [])])


def bench_grm_rl(
    grms: Annotated[
        Path, typer.Argument(help='Folder with the GRMs c00, c01, c10 and c11 (docs/grm.md).')
    ],
    quick: Annotated[
        bool, typer.Option('--quick', help='A tiny run, to see that it runs; claims nothing.')
    ] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help='Seeds of every arm.')] = None,
    out: Annotated[
        Path | None, typer.Option(help='Folder of results; what is there is not run again.')
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help='Processes that step bodies; numbers do not depend on it.')
    ] = 1,
) -> None:
    """The factorial of Robo-Dopamine 2.0, Table 3: PPO on pictures, shaped by four GRMs.

    Example: [bold]structrl bench grm-rl runs/grms --seeds 1[/]
    """
    from structrl_ros.training.experiments.grm_shaping import GRM_SHAPING
    from structrl_ros.training.experiments.grm_shaping import GRM_SHAPING_QUICK

    request = GrmShapingRequest(
        grms=grms,
        out=out or Path('runs', 'grm-rl' + ('-quick' if quick else '')),
        quick=quick,
        seeds=seeds,
        workers=workers,
    )
    bench = GRM_SHAPING_QUICK if quick else GRM_SHAPING
    experiments = bench.experiments(grms)
    if seeds is not None:
        experiments = tuple(dataclasses.replace(e, seeds=seeds) for e in experiments)
    console = Console(soft_wrap=True)
    run_experiments(experiments, bench.mujoco.start_episodes, request, console)
