"""The plan that makes a tracker pay by a static decomposition.

In training no planner runs. What tracker_node pays is decided by the first plan of a task, so a
trainer that works through topics publishes one whose steps are the names of the decomposition.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.grounding import KINDS
from structrl_ros.subtasks.grounding import split_predicate
from structrl_ros.types import Subtask

#: Kind of a predicate to the verb that it is usual for.
_VERBS = {kind: verb for verb, kinds in reversed([*KINDS.items()]) for kind in kinds}


def paid_subtasks(
    stages: Sequence[Sequence[GroundedSubtask]], published: Collection[str]
) -> tuple[Subtask, ...]:
    """Return the steps of the plan, each grounded to its own predicate and called by it.

    Args:
        stages: `Decomposition.stages`.
        published: `TaskInfo.predicate_names` of the episode; other steps are left out, as
            `decomposition.reward_rule` leaves them out.

    Raises:
        ParameterError: If a predicate has no verb.
    """
    return tuple(
        _step(subtask, stage)
        for stage, subtasks in enumerate(stages)
        for subtask in subtasks
        if subtask.predicate in published
    )


def _step(subtask: GroundedSubtask, stage: int) -> Subtask:
    kind, arguments = split_predicate(subtask.predicate)
    if kind not in _VERBS:
        known = ', '.join(sorted(_VERBS))
        raise ParameterError(f'{subtask.predicate}: no verb for it; known kinds: {known}')
    return Subtask(subtask.predicate, subtask.phrase, _VERBS[kind], arguments, stage)
