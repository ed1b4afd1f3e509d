"""Stages of tasks that are data, and the density ladder made of them (StructRL Figure 4)."""

from __future__ import annotations

from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.subtasks.density import LEVELS
from structrl_ros.subtasks.density import earlier_stages
from structrl_ros.subtasks.density import ladder_stages

#: Level of the ladder that the variant with earlier checkpoints is made of (Table 11).
EARLIER_LEVEL = '5'

Stages = tuple[tuple[str, ...], ...]


def own_stages(task: str) -> Stages:
    """Return the names of a task's own stages."""
    return find_task(task).stages


def rungs(task: str) -> dict[str, Stages]:
    """Return each variant's stages: every level but '0', and the earlier checkpoints.

    Level '0' pays success alone and needs no decomposition.
    """
    stages = own_stages(task)
    found = {f'density_{level}': ladder_stages(stages, level) for level in LEVELS[1:]}
    found[f'earlier_{EARLIER_LEVEL}'] = earlier_stages(ladder_stages(stages, EARLIER_LEVEL))
    return found


def checkpoint_names(task: str) -> tuple[str, ...]:
    """Return every name that the finest level and the earlier checkpoints need."""
    found = rungs(task)
    variants = (f'density_{LEVELS[-1]}', f'earlier_{EARLIER_LEVEL}')
    names = (name for variant in variants for stage in found[variant] for name in stage)
    return tuple(dict.fromkeys(names))
