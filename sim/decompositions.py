"""The decompositions that are shipped with the bodies: `sim/BODY/decompositions/TASK.json`.

A variant of a task's decomposition ('plan', 'density_10') has its word before the suffix:
`long/0.plan.json`.
"""

from __future__ import annotations

from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition_file import read_decomposition

_FOLDER = Path(__file__).parent

#: Variant that holds the rule planner's steps, which is what the deployed graph pays.
PLAN_VARIANT = 'plan'


def file_name(task: str, variant: str = '') -> str:
    """Return 'long/0.plan.json' for task long/0 and variant plan."""
    return f'{task}.{variant}.json' if variant else f'{task}.json'


def shipped_decomposition(body: str, task: str, variant: str = '') -> Decomposition:
    """Return the decomposition that is shipped for a task.

    Raises:
        ParameterError: If there is none, or its file is wrong.
    """
    folder = _FOLDER / body / 'decompositions'
    path = folder / file_name(task, variant)
    known = _names(folder)
    if str(path.relative_to(folder)) not in known:
        stems = [name.removesuffix('.json') for name in known]
        own = [stem for stem in stems if stem.partition('.')[0] == task]
        shown = ', '.join(own or [stem for stem in stems if '.' not in stem]) or 'none'
        raise ParameterError(
            f'no decomposition of {task}{f" ({variant})" if variant else ""} is shipped for body '
            f'{body!r}; shipped: {shown}; structrl decompose makes one'
        )
    return read_decomposition(path)


def shipped_durations(
    body: str, chunk_length: int, variant: str = PLAN_VARIANT
) -> dict[str, float]:
    """Return 'task/name' to T_d in chunks, of every task of a body that was timed.

    A deployed tracker_node pays the steps of the plan: where a task has no file of the planner's
    steps, that is its own decomposition. A body for which nothing is shipped gives nothing.

    Args:
        body: Name of the body.
        chunk_length: Low-level steps of a chunk.
        variant: Of the decompositions; '' is what trainers pay by.

    Raises:
        ParameterError: If a file is wrong.
    """
    folder = _FOLDER / body / 'decompositions'
    own = {name.removesuffix('.json') for name in _names(folder)}
    found: dict[str, float] = {}
    for stem in sorted(own):
        task, _, found_variant = stem.partition('.')
        stands_in = variant == PLAN_VARIANT and not found_variant
        if found_variant == variant or (stands_in and f'{task}.{PLAN_VARIANT}' not in own):
            durations = read_decomposition(folder / f'{stem}.json').durations_at(chunk_length)
            found |= {f'{task}/{name}': value for name, value in durations.items()}
    return found


def _names(folder: Path) -> list[str]:
    """Return the files of a folder, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*.json'))
