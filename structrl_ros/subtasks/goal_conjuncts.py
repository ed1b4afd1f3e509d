"""The decomposition of a LIBERO task: the conjuncts of its goal (StructRL, Appendix B.2).

Pure: it takes names such as 'in(bowl_1, cabinet_1_top_region)', wherever they come from.
"""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.subtasks.filters import Candidate
from structrl_ros.subtasks.grounding import split_predicate

#: Predicates that say where a thing is.
_PLACEMENTS = frozenset({'in', 'on'})


def goal_candidates(
    conjuncts: Sequence[str], instruction: str, *, grasps: bool
) -> list[Candidate]:
    """Return the subtasks of a goal, before the filters.

    The conjuncts are one group, in their order, but for the closing of what something is put into:
    it comes after that ("In, followed by Close"). With `grasps`, as for the Spatial, Object and
    Goal suites, the grasp of a thing comes before its placement; a thing that is pushed there
    ("push the plate to ...") is not grasped.

    Args:
        conjuncts: Names of all conjuncts, in the order of the BDDL file.
        instruction: The task as a sentence.
        grasps: Whether grasps are inserted.
    """
    placed = [name for name in conjuncts if split_predicate(name)[0] in _PLACEMENTS]
    closings = [name for name in conjuncts if _closes(name, placed)]
    first = [name for name in conjuncts if name not in closings]
    is_pushed = instruction.lower().startswith('push ')
    things = [split_predicate(name)[1][0] for name in placed] if grasps and not is_pushed else []
    stages = [[f'grasp({thing})' for thing in things], first, closings]
    filled = [stage for stage in stages if stage]
    return [
        Candidate(number, phrase_of(name), name)
        for number, stage in enumerate(filled)
        for name in stage
    ]


def phrase_of(name: str) -> str:
    """Return a predicate in the words of Appendix B.1: 'place bowl 1 in cabinet 1 top region'."""
    kind, arguments = split_predicate(name)
    things = [argument.replace('_', ' ') for argument in arguments]
    if kind in _PLACEMENTS:
        return f'place {things[0]} {kind} {things[1]}'
    verbs = {'turnon': 'turn on', 'turnoff': 'turn off'}
    return ' '.join([verbs.get(kind, kind), *things])


def _closes(name: str, placed: Sequence[str]) -> bool:
    """Tell whether a conjunct closes what another one puts something into."""
    kind, arguments = split_predicate(name)
    if kind != 'close':
        return False
    places = [split_predicate(other)[1][-1] for other in placed]
    return any(place == arguments[0] or place.startswith(f'{arguments[0]}_') for place in places)
