"""`structrl bench planner`: does GRPO by the verifiable reward teach a tiny planner?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

#: Measurements of the table: name, heading.
_SHOWN = (
    ('sampled/reward', 'reward, drawn'),
    ('reward', 'reward'),
    ('matching', 'R_bm'),
    ('exact', 'exact'),
    ('readable', 'readable'),
)


def bench_planner(
    leap: Annotated[Path, typer.Argument(metavar='SET', help='A set of structrl data leap.')],
    quick: Annotated[
        bool, typer.Option('--quick', help='A few updates, to see that it runs; claims nothing.')
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help='How many seeds.')] = 3,
    first_seed: Annotated[
        int, typer.Option(min=0, help='The first one; from 1000 on they are for tuning.')
    ] = 0,
    out: Annotated[
        Path | None, typer.Option(help='Folder of results; what is there is not run again.')
    ] = None,
) -> None:
    """Reward, R_bm and exact match of a tiny Qwen2.5-VL on held-out tasks, before and after GRPO.

    Example: [bold]structrl data leap sets/leap --tabletop 12 --libero 3; structrl bench planner
    sets/leap[/]
    """
    import torch

    from structrl_ros.models.whole_files import whole_file
    from structrl_ros.training.planner_bench import QUICK
    from structrl_ros.training.planner_bench import BenchPlan
    from structrl_ros.training.planner_bench import run_seed
    from structrl_ros.training.planner_chart import planner_chart

    torch.set_num_threads(1)
    console = Console(soft_wrap=True)
    folder = out or Path('runs', 'planner' + ('-quick' if quick else ''))
    found = []
    for seed in range(first_seed, first_seed + seeds):
        console.print(f'seed {seed}: {folder / f"seed-{seed}"}')
        plan = QUICK if quick else BenchPlan()
        found.append(run_seed(folder / f'seed-{seed}', leap, seed, plan, _Teller(console)))
    with whole_file(folder / 'results.json') as new:
        new.write_text(json.dumps(found, indent=1) + '\n', encoding='utf-8')
    with whole_file(folder / 'curves.svg') as new:
        new.write_text(planner_chart(found) + '\n', encoding='utf-8')
    console.print(results_table(found))
    for line in change_lines(found):
        console.print(line, highlight=False, markup=False)
    console.print(f'numbers: {folder / "results.json"}, curves: {folder / "curves.svg"}')


class _Teller:
    """Prints each measurement of held-out tasks."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, stage: str, update: int, metrics: Mapping[str, float | None]) -> None:
        reward = metrics.get('held_out/reward')
        if reward is not None:
            drawn = metrics['held_out/sampled/reward']
            self._console.print(
                f'{stage}, update {update}: held-out reward {reward:.3f}, drawn {drawn:.3f}'
            )


def results_table(seeds: Sequence[Mapping[str, Any]]) -> Table:
    """Return before and after of each seed and their mean."""
    table = Table('seed', *(heading for _, heading in _SHOWN), 'CPU s')
    changes = []
    for seed in seeds:
        before, after = seed['curve'][0], seed['curve'][-1]
        cells = [f'{before[name]:.3f} to {after[name]:.3f}' for name, _ in _SHOWN]
        table.add_row(str(seed['seed']), *cells, f'{sum(seed["cpu_s"].values()):.0f}')
        changes.append([after[name] - before[name] for name, _ in _SHOWN])
    means = [sum(column) / len(column) for column in zip(*changes, strict=True)]
    table.add_row('mean change', *(f'{mean:+.3f}' for mean in means), '')
    return table


def change_lines(seeds: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the change of the reward of all seeds together, with its interval over plans."""
    from structrl_ros.training.planner_grades import DRAWS
    from structrl_ros.training.planner_grades import mean_change

    lines = []
    for kind, words in (('drawn', f'mean of {DRAWS} drawn answers'), ('likeliest', 'likeliest')):
        found = mean_change(seeds, kind)
        if found is not None:
            mean, low, high = found
            lines.append(f'reward, {words}: {mean:+.3f} [{low:+.3f}, {high:+.3f}], by plan')
    return lines
