"""Which episodes an iteration or an evaluation plays: spread evenly over tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.world_types import EpisodeStart

_PRACTICE, _EVALUATION = 11, 12


def practice_starts(
    tasks: Sequence[str],
    episodes: int,
    *,
    seed: int,
    iteration: int,
    initial_states: int = 1,
    group_size: int = 1,
) -> tuple[EpisodeStart, ...]:
    """Return the episodes of an iteration, the same for the same arguments.

    Group g plays task g mod T; the `group_size` episodes of a group follow each other and have
    the same start (GRPO: one task, one initial state). Where the number of groups is no multiple
    of T, the first task moves on by the iteration, so that none is favoured in the long run.

    Args:
        tasks: Names of the tasks, T of them.
        episodes: How many, a multiple of `group_size`.
        seed: Seed of the run.
        iteration: From 0.
        initial_states: Initial states are drawn from 0 ... initial_states - 1.
        group_size: Episodes of one start.

    Raises:
        ParameterError: If there is no task, or the episodes do not make whole groups.
    """
    if episodes % group_size:
        raise ParameterError(f'episodes: must be a multiple of {group_size}, got {episodes}')
    groups = episodes // group_size
    shift = iteration * groups
    drawn = _draw(tasks, groups, shift, initial_states, (seed, _PRACTICE, iteration))
    return tuple(start for start in drawn for _ in range(group_size))


def evaluation_starts(
    tasks: Sequence[str], episodes: int, *, seed: int, initial_states: int = 1
) -> tuple[EpisodeStart, ...]:
    """Return `episodes` starts of every task, other seeds than those of practice.

    With several initial states they are taken in turn, so that each is played equally often.

    Raises:
        ParameterError: If there is no task.
    """
    drawn = _draw(tasks, episodes * len(tasks), 0, initial_states, (seed, _EVALUATION))
    if initial_states == 1:
        return drawn
    return tuple(
        EpisodeStart(start.task, start.seed, number // len(tasks) % initial_states)
        for number, start in enumerate(drawn)
    )


def _draw(
    tasks: Sequence[str], count: int, shift: int, initial_states: int, entropy: tuple[int, ...]
) -> tuple[EpisodeStart, ...]:
    if not tasks:
        raise ParameterError('tasks: at least one is needed, got none')
    random = np.random.default_rng(entropy)
    seeds = random.integers(0, 2**31, count)
    states = random.integers(0, initial_states, count)
    return tuple(
        EpisodeStart(tasks[(shift + number) % len(tasks)], int(seeds[number]), int(states[number]))
        for number in range(count)
    )
