"""What a trainer shows while it runs: a bar with the time left, and the numbers that matter."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn
from rich.progress import MofNCompleteColumn
from rich.progress import Progress
from rich.progress import TextColumn
from rich.progress import TimeElapsedColumn
from rich.progress import TimeRemainingColumn
from rich.table import Table

#: What stands beside the bar, by the name in the log.
_SHOWN = {
    'rollout/success': 'success',
    'rollout/return': 'return',
    'evaluation/ode_success': 'evaluation',
    'actor/kl': 'kl',
    'sft/loss': 'loss',
    'diffusion/action_loss': 'loss',
    'diffusion/place_m': 'place, m',
    'grm/loss': 'loss',
    'validation/all/mse': 'validation',
    'planner/reward': 'reward',
    'held_out/reward': 'held out',
}
#: Share of iterations that may be rolled back without a word.
_MANY = 1 / 4
#: A terminal that shows no bar gets a line at every tenth of the way.
_LINES = 10


class TrainingDisplay:
    """A `training.practice.Report` that draws; a context manager."""

    def __init__(self, console: Console, unit: str, total: int, done: int = 0) -> None:
        """Prepare a bar of `total` units, of which `done` are done already."""
        self._console = console
        self._unit, self._total, self._told = unit, total, done
        self._shown: dict[str, float] = {}
        self._bar = Progress(
            TextColumn(unit),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn('left'),
            TimeRemainingColumn(),
            TextColumn('{task.fields[numbers]}'),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task('', total=total, completed=done, numbers='')

    def __enter__(self) -> TrainingDisplay:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def __call__(self, done: int, metrics: Mapping[str, float | None]) -> None:
        """Show how far it is."""
        for name, label in _SHOWN.items():
            value = metrics.get(name)
            if value is not None:
                self._shown[label] = value
        numbers = '  '.join(f'{label} {value:.3g}' for label, value in self._shown.items())
        self._bar.update(self._task, completed=done, numbers=numbers)
        is_due = done * _LINES // self._total != self._told * _LINES // self._total
        if not self._console.is_terminal and (is_due or 'evaluation/ode_success' in metrics):
            self._console.print(f'{self._unit} {done} of {self._total}: {numbers}')
            self._told = done


def rollback_advice(metrics: Sequence[Mapping[str, float | None]]) -> str:
    """Return a line if many iterations were rolled back, since little is learned then; or ''."""
    told = [row['actor/rolled_back'] for row in metrics if 'actor/rolled_back' in row]
    count = sum(value == 1.0 for value in told)
    if count <= _MANY * len(told):
        return ''
    return (
        f'{count} of {len(told)} iterations were rolled back, their KL above kl_stop: '
        'a lower learning_rate learns more'
    )


def profile_table(metrics: Sequence[Mapping[str, float | None]]) -> Table:
    """Return the CPU seconds of each part of a run, and what rollouts are made of."""
    from structrl_ros.training.cpu_watch import rollout_profile
    from structrl_ros.training.metrics_log import SECONDS

    sums: dict[str, float] = {}
    for row in metrics:
        for name, value in row.items():
            if name.startswith(SECONDS) and value is not None:
                part = name.removeprefix(SECONDS)
                sums[part] = sums.get(part, 0.0) + value
    shares = rollout_profile(metrics)
    table = Table('part', 'CPU s', 'share of rollouts')
    for part, value in sums.items():
        share = f'{shares[part]:.1%}' if part in shares else ''
        table.add_row(part.replace('_', ' '), f'{value:.2f}', share)
    return table
