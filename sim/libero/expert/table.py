"""The table of the scripted expert's successes: task by task, with Wilson intervals.

    python -m structrl_ros.sim.libero.expert.table --tasks long --states 0:20 --json table.json

Physics only, no rendering. It says how good the privileged expert is, and nothing of any policy
that sees pictures. The expert was tuned on initial states 30 to 49; report 0 to 19.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.expert.episodes import EpisodeResult
from structrl_ros.sim.libero.expert.episodes import run_episode
from structrl_ros.sim.libero.tasks import INITIAL_STATES
from structrl_ros.sim.libero.tasks import TASKS
from structrl_ros.sim.libero.tasks import find_task
from structrl_ros.types import JsonObject

MODULE = 'structrl_ros.sim.libero.expert.table'


def parse_tasks(text: str) -> tuple[str, ...]:
    """Return task ids for 'long', 'all' or a list such as 'long/0,goal/3'.

    Raises:
        SimulationError: If a task is unknown.
    """
    ids: list[str] = []
    for word in (w.strip() for w in text.split(',')):
        suite = [t.id for t in TASKS if word in (t.suite, 'all')]
        ids += suite or [find_task(word).id]
    return tuple(dict.fromkeys(ids))


def parse_states(text: str) -> tuple[int, ...]:
    """Return the initial states of '0:20' or '30,34,38'.

    Raises:
        ParameterError: If the text is neither, or a state does not exist.
    """
    try:
        if ':' in text:
            first, last = (int(part) for part in text.split(':'))
            states = tuple(range(first, last))
        else:
            states = tuple(int(part) for part in text.split(','))
    except ValueError:
        states = ()
    if not states or min(states) < 0 or max(states) >= INITIAL_STATES:
        raise ParameterError(
            f'initial states {text!r}; allowed: first:last or a list, of 0 to {INITIAL_STATES - 1}'
        )
    return states


def row_of(results: Sequence[EpisodeResult]) -> JsonObject:
    """Return one row of the table: counts, Wilson interval (95 %), steps, CPU time, failures.

    `median_steps` is that of the successes (0.05 s each), None if there is none; `cpu_s` the
    mean of an episode.
    """
    good = [r for r in results if r.success]
    low, high = wilson_interval(len(good), len(results))
    return {
        'task': results[0].task,
        'instruction': find_task(results[0].task).instruction,
        'successes': len(good),
        'n': len(results),
        'wilson_low': round(low, 3),
        'wilson_high': round(high, 3),
        'median_steps': median(r.steps for r in good) if good else None,
        'cpu_s': round(sum(r.cpu_s for r in results) / len(results), 2),
        'steps': [r.steps for r in results],
        'failures': [
            {'state': r.initial_state, 'subtask': r.reached, 'reason': r.reason}
            for r in results
            if not r.success
        ],
    }


def expert_table(
    tasks: Sequence[str],
    states: Sequence[int],
    *,
    seed: int = 0,
    chunk: int = 1,
    show: Callable[[str], None] = lambda line: None,
) -> list[JsonObject]:
    """Run the expert and return one row a task, see `row_of`.

    Args:
        tasks: Task ids, such as 'long/0'.
        states: Initial states, 0 to 49, the same for each task.
        seed: Of the fixtures' poses.
        chunk: Steps between two looks at the predicates.
        show: Is given each line of the table as soon as it is known.

    Raises:
        StructRLError: If a task or a state does not exist.
    """
    show(_line('task', 'ok', 'n', 'Wilson 95 %', 'steps', 'CPU s', 'failed'))
    rows = []
    for task in tasks:
        body = LiberoBody()
        try:
            results = [run_episode(body, task, s, seed=seed, chunk=chunk) for s in states]
        finally:
            body.close()
        row = row_of(results)
        rows.append(row)
        show(_text(row))
    return rows


def _text(row: JsonObject) -> str:
    """Return a row of the table as text."""
    interval = f'{row["wilson_low"]:.2f} - {row["wilson_high"]:.2f}'
    failed = '; '.join(f'{f["state"]}: {f["subtask"]}' for f in row['failures'])
    steps = '-' if row['median_steps'] is None else f'{row["median_steps"]:.0f}'
    successes, n = str(row['successes']), str(row['n'])
    return _line(row['task'], successes, n, interval, steps, str(row['cpu_s']), failed)


def _line(*cells: str) -> str:
    """Align the cells of a line."""
    widths = (10, 3, 3, 12, 6, 6, 0)
    return '  '.join(f'{c:<{w}}' for c, w in zip(cells, widths, strict=True)).rstrip()


def write_json(path: Path, rows: Sequence[JsonObject], command: str) -> None:
    """Write the rows, and the command that made them, as JSON."""
    document = {'command': command, 'tuned_on_states': '30 to 49', 'rows': list(rows)}
    path.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 1 after one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog='expert-table', description=__doc__)
    parser.add_argument('--tasks', default='long', help='a suite, all, or ids like long/0,goal/3')
    parser.add_argument('--states', default='0:20', help='first:last or a list; 0 to 49')
    parser.add_argument('--seed', type=int, default=0, help='of the fixtures')
    parser.add_argument('--chunk', type=int, default=1, help='steps between looks at predicates')
    parser.add_argument('--json', type=Path, help='also write the table here')
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    try:
        rows = expert_table(
            parse_tasks(options.tasks),
            parse_states(options.states),
            seed=options.seed,
            chunk=options.chunk,
            show=_print,
        )
    except StructRLError as error:
        sys.stderr.write(f'{error}\n')
        return 1
    if options.json is not None:
        write_json(options.json, rows, f'python -m {MODULE} {" ".join(given)}')
    return 0


def _print(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + '\n')
    sys.stdout.flush()


if __name__ == '__main__':
    sys.exit(main())
