"""The table of `rollout_throughput`, and its targets."""

from __future__ import annotations

import os
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

TOPICS_TARGET, RAY_TARGET, OTHER_TARGET = 0.8, 1.6, 0.15


@dataclass(frozen=True, slots=True)
class Row:
    """The quietest segment of a kind of world."""

    kind: str
    lanes: int
    processes: int
    episodes_per_wall_s: float
    steps_per_wall_s: float
    episodes_per_cpu_s: float
    steps_per_cpu_s: float
    physics: float
    network: float
    other: float


def report(title: str, rows: dict[str, Row], load: float) -> dict[str, Any]:
    """Print the table and the targets under a title, and return both."""
    console = Console(width=110)
    table = Table(title=f'Rollouts on {title}')
    heads = ('world', 'lanes', 'processes', 'episodes/wall s', 'steps/wall s')
    heads += ('episodes/CPU s', 'steps/CPU s', 'physics', 'network', 'other')
    for head in heads:
        table.add_column(head, justify='left' if head == 'world' else 'right')
    for row in rows.values():
        table.add_row(
            row.kind,
            str(row.lanes),
            str(row.processes),
            f'{row.episodes_per_wall_s:.2f}',
            f'{row.steps_per_wall_s:.0f}',
            f'{row.episodes_per_cpu_s:.2f}',
            f'{row.steps_per_cpu_s:.0f}',
            *(f'{100 * share:.1f} %' for share in (row.physics, row.network, row.other)),
        )
    console.print(table)
    targets = judge(rows, load)
    for name, target in targets.items():
        verdict = {True: 'met', False: 'missed', None: 'not judged'}[target['is_met']]
        console.print(f'{name}: {target["value"]:.2f}, target {target["target"]}: {verdict}')
    console.print(f'load when it began {load:.1f}, {os.cpu_count()} cores')
    return {'rows': [asdict(row) for row in rows.values()], 'targets': targets, 'load': load}


def judge(rows: dict[str, Row], load: float) -> dict[str, dict[str, Any]]:
    """Return each target that was measured; what needs free cores is not judged without them."""
    targets: dict[str, dict[str, Any]] = {}
    bare = rows.get('process')
    if bare is not None:
        is_met = bare.other <= OTHER_TARGET
        targets['CPU outside physics and network'] = _target(bare.other, OTHER_TARGET, is_met)
    if bare is not None and 'topics' in rows:
        ratio = rows['topics'].steps_per_cpu_s / bare.steps_per_cpu_s
        is_met = ratio >= TOPICS_TARGET
        targets['through topics / in process, CPU'] = _target(ratio, TOPICS_TARGET, is_met)
        ratio = rows['topics'].steps_per_wall_s / bare.steps_per_wall_s
        targets['through topics / in process, wall'] = _target(ratio, TOPICS_TARGET, None)
    if bare is not None and 'two topics' in rows:
        ratio = rows['two topics'].steps_per_wall_s / bare.steps_per_wall_s
        targets['two sim_nodes / in process, wall'] = _target(ratio, TOPICS_TARGET, None)
    if 'ray 1' in rows and 'ray 2' in rows:
        ratio = rows['ray 2'].steps_per_wall_s / rows['ray 1'].steps_per_wall_s
        is_free = load < (os.cpu_count() or 1) - 1.5
        is_met = ratio >= RAY_TARGET if is_free or ratio >= RAY_TARGET else None
        targets['Ray 2 / 1, wall'] = _target(ratio, RAY_TARGET, is_met)
    return targets


def _target(value: float, target: float, is_met: bool | None) -> dict[str, Any]:
    return {'value': value, 'target': target, 'is_met': is_met}
