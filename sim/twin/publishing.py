"""What the twin publishes of a task: its predicates, and checkpoints that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.tabletop.checkpoints import Checkpoint
from structrl_ros.sim.tabletop.checkpoints import bind_checkpoints
from structrl_ros.sim.tabletop.checkpoints import evaluate
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int


@dataclass(frozen=True, slots=True)
class Published:
    """A task with what a world publishes of it.

    Attributes:
        task: What is played.
        checkpoints: Published after the task's own predicates.
        info: What a reset gives.
        goal: Places of the goal predicates among those published.
    """

    task: Task
    checkpoints: tuple[Checkpoint, ...]
    info: TaskInfo
    goal: Int

    def judge(self, state: TwinState) -> tuple[Bool, Bool]:
        """Return the truth of what is published, (B, N), and whether the task is done, (B,)."""
        truth = state.truth(self.task)
        success = np.asarray(truth[:, self.goal].all(axis=1), dtype=np.bool_)
        if self.checkpoints:
            more = evaluate(self.task, self.checkpoints, state.view(self.task))
            truth = np.concatenate([truth, more], axis=1)
        return truth, success


def publish(task: Task, checkpoints: Sequence[str], horizon_steps: int | None) -> Published:
    """Return what a world publishes of a task.

    Args:
        task: What is played.
        checkpoints: Names of checkpoints; predicates of the task among them are passed over.
        horizon_steps: Low-level steps, None for the task's own.

    Raises:
        ParameterError: If a name is neither a predicate nor a checkpoint of the task.
    """
    bound = bind_checkpoints(task, checkpoints)
    info = TaskInfo(
        task=task.name,
        instruction=task.instruction,
        horizon_steps=task.horizon if horizon_steps is None else horizon_steps,
        predicate_names=(*task.predicate_names, *(c.name for c in bound)),
        objects=task.vocabulary,
    )
    goal = np.array([task.predicate_names.index(name) for name in task.goal], dtype=np.intp)
    return Published(task, bound, info, goal)
