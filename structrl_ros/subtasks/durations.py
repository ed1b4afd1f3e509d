"""Reference durations T_d of subtasks from demonstrations (StructRL Section 3.2.2)."""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError


@dataclass(frozen=True, slots=True)
class DemoDurations:
    """T_d of each subtask in chunks (None where no demonstration counts), and how many count."""

    durations: dict[str, float | None]
    coverage: dict[str, int]


def demo_durations(
    stages: Sequence[Sequence[str]],
    demos: Sequence[Mapping[str, int | None]],
    chunk_length: int,
) -> DemoDurations:
    """Return the mean time from the last prerequisite to each subtask, in chunks, at least 1.

    StructRL Section 3.2.2, T_d of Eq. 4. A subtask first true in step s completes in chunk
    s // L + 1. A demonstration counts for a subtask only where it and all of its prerequisites
    were seen; an interval is never negative.

    Args:
        stages: Names in order; every name of an earlier stage is a prerequisite of a later one.
        demos: For each demonstration, the first low-level step (from 0) at which each name was
            true, or None if it never was.
        chunk_length: Low-level steps a chunk, L >= 1.

    Raises:
        ParameterError: If a name occurs twice, is missing from a demonstration or unknown, a step
            is negative, or the chunk length is not positive.
    """
    if chunk_length < 1:
        raise ParameterError(f'chunk_length: must be >= 1, got {chunk_length}')
    names = [name for stage in stages for name in stage]
    _check_demos(names, demos)
    intervals: dict[str, list[int]] = {name: [] for name in names}
    for demo in demos:
        chunks = {name: None if s is None else s // chunk_length + 1 for name, s in demo.items()}
        before: list[int | None] = [0]
        for stage in stages:
            for name in stage:
                own = chunks[name]
                prerequisites = [chunk for chunk in before if chunk is not None]
                if own is not None and len(prerequisites) == len(before):
                    intervals[name].append(max(0, own - max(prerequisites)))
            before.extend(chunks[name] for name in stage)
    return DemoDurations(
        durations={name: _mean(seen) for name, seen in intervals.items()},
        coverage={name: len(seen) for name, seen in intervals.items()},
    )


def drop_untimed(
    stages: Sequence[Sequence[str]], durations: Mapping[str, float | None]
) -> tuple[tuple[tuple[str, ...], ...], dict[str, float]]:
    """Return stages and durations without the subtasks that no demonstration timed.

    StructRL Appendix B.2, filter (iii): the order is preserved and empty stages are removed.

    Args:
        stages: Names in order.
        durations: T_d of each name in chunks, or None.
    """
    untimed = {name for name, value in durations.items() if value is None}
    kept = {name for stage in stages for name in stage if name not in untimed}
    timed = {name: value for name, value in durations.items() if value is not None}
    return keep_names(stages, kept), timed


def keep_names(
    stages: Sequence[Sequence[str]], kept: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the stages with some names alone, in the same order and without empty stages."""
    fewer = (tuple(name for name in stage if name in kept) for stage in stages)
    return tuple(stage for stage in fewer if stage)


def _mean(seen: Sequence[int]) -> float | None:
    return max(1.0, math.fsum(seen) / len(seen)) if seen else None


def _check_demos(names: Sequence[str], demos: Sequence[Mapping[str, int | None]]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f'stages: {name!r} is listed twice; each subtask may occur once')
    for index, demo in enumerate(demos):
        for name in (*names, *demo):
            if name not in demo:
                raise ParameterError(f'demos.{index}.{name}: missing; give null if never true')
            if name not in names:
                raise ParameterError(f'demos.{index}.{name}: no subtask of stages')
            step = demo[name]
            if step is not None and step < 0:
                raise ParameterError(f'demos.{index}.{name}: step must be >= 0, got {step}')
