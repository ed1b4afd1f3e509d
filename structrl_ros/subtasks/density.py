"""The density ladder: one task, paid at ever finer grain (StructRL, Section 4.5, Appendix C.1).

A level refines the milestones of a task's stages and keeps all milestones of the level before.
Checkpoints of a milestone share its stage, since a stage is a set without order. Levels bear the
paper's average N; how many subtasks a task of ours has at a level is another number.

The finer levels need checkpoints that a body publishes when it is asked to ('near(apple_1, 0.06)':
the gripper is within 6 cm of the apple), see `sim.tabletop.checkpoints`.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.grounding import split_predicate

#: Kinds of milestones: of a joint (open, close, press, ...) or of a thing that is put somewhere.
_PLACED = ('in', 'on')

#: For each level: milestone to its checkpoints, in the order in which an expert passes them.
#: {0} is the thing or fixture, {1} the place.
_REFINEMENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        '2.5': {},
        '5': {'placed': ('grasp({0})',)},
        '10': {'placed': ('near({0}, 0.06)', 'grasp({0})', 'lifted({0}, 0.05)')},
        '14': {
            'moved': ('near({0}, 0.06)',),
            'closed': ('back({0}, 0.06)',),
            'placed': (
                *('near({0}, 0.06)', 'grasp({0})', 'lifted({0}, 0.05)'),
                'above({0}, {1})',
            ),
        },
        '29': {
            'moved': ('near({0}, 0.1)', 'near({0}, 0.06)', 'moved({0}, 0.5)'),
            'closed': (
                'back({0}, 0.15)',
                'back({0}, 0.1)',
                'back({0}, 0.06)',
                'closing({0}, 0.5)',
            ),
            'placed': (
                *('near({0}, 0.15)', 'near({0}, 0.1)', 'near({0}, 0.06)', 'gripping({0})'),
                *('grasp({0})', 'lifted({0}, 0.02)', 'lifted({0}, 0.05)'),
                *('carried({0}, {1}, 0.2)', 'above({0}, {1})'),
            ),
        },
        '52': {
            'moved': (
                *('near({0}, 0.12)', 'near({0}, 0.1)', 'near({0}, 0.08)', 'near({0}, 0.06)'),
                *('near({0}, 0.04)', 'moved({0}, 0.25)', 'moved({0}, 0.5)', 'moved({0}, 0.75)'),
            ),
            'closed': (
                *('back({0}, 0.2)', 'back({0}, 0.15)', 'back({0}, 0.1)', 'back({0}, 0.06)'),
                *('back({0}, 0.04)', 'closing({0}, 0.75)', 'closing({0}, 0.5)'),
                'closing({0}, 0.25)',
            ),
            'placed': (
                *('near({0}, 0.2)', 'near({0}, 0.15)', 'near({0}, 0.1)', 'near({0}, 0.06)'),
                *('near({0}, 0.04)', 'near({0}, 0.03)', 'gripping({0})', 'grasp({0})'),
                *('lifted({0}, 0.02)', 'lifted({0}, 0.05)', 'lifted({0}, 0.08)'),
                *('carried({0}, {1}, 0.2)', 'carried({0}, {1}, 0.12)', 'carried({0}, {1}, 0.06)'),
                *('above({0}, {1})', 'lowered({0}, {1}, 0.05)'),
            ),
        },
    }
)

#: Names of the levels, in order: the paper's average number of subtasks.
LEVELS = ('0', '1', *_REFINEMENTS)

#: What is looked for instead of a milestone in the control with earlier checkpoints (Table 11):
#: a state of the same motion, some time before its end.
_EARLIER: Mapping[str, str] = MappingProxyType(
    {
        'moved': 'moved({0}, 0.5)',
        'closed': 'closing({0}, 0.5)',
        'placed': 'above({0}, {1})',
        'grasped': 'near({0}, 0.06)',
    }
)


def ladder_stages(stages: Sequence[Sequence[str]], level: str) -> tuple[tuple[str, ...], ...]:
    """Return the stages of a level.

    Args:
        stages: The task's own stages; grasps in them are left out and come back at level '5'.
        level: One of `LEVELS`: '0' pays success alone, '1' the first placement (or, without one,
            the first milestone), '2.5' the milestones.

    Raises:
        ParameterError: If there is no such level.
    """
    if level not in LEVELS:
        raise ParameterError(f'density {level!r}; allowed: {", ".join(LEVELS)}')
    coarse = [[name for name in stage if _sort(name) != 'grasped'] for stage in stages]
    coarse = [stage for stage in coarse if stage]
    if level == '0':
        return ()
    if level == '1':
        names = [name for stage in coarse for name in stage]
        first = next((name for name in names if _sort(name) == 'placed'), names[0])
        return ((first,),)
    refinements = _REFINEMENTS[level]
    found = []
    for stage in coarse:
        names = [
            c for name in stage for c in (*_fill(refinements.get(_sort(name), ()), name), name)
        ]
        found.append(tuple(dict.fromkeys(names)))
    return tuple(found)


def earlier_stages(stages: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the same stages with an earlier checkpoint in the place of each name (Table 11).

    Number and dependencies stay; a name that has no earlier checkpoint stays, too.
    """
    return tuple(tuple(earlier(name) for name in stage) for stage in stages)


def earlier(name: str) -> str:
    """Return the checkpoint that comes before a milestone in the same motion, or the name."""
    template = _EARLIER.get(_sort(name))
    return name if template is None else _fill((template,), name)[0]


def _sort(name: str) -> str:
    kind = split_predicate(name)[0]
    if kind in _PLACED:
        return 'placed'
    return {'grasp': 'grasped', 'close': 'closed'}.get(
        kind, 'moved' if kind in ('open', 'turnon', 'press') else ''
    )


def _fill(templates: Sequence[str], name: str) -> list[str]:
    arguments = split_predicate(name)[1]
    return [template.format(*arguments) for template in templates]
