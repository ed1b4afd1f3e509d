"""Grounding: which of the body's predicates tells that a subtask is done.

As in StructRL (Appendix B.2, Table 6) the verb picks the predicate's kind and the things bind its
arguments. Things are compared as symbols (`structrl_ros.naming`), never by the cosine of
sentence embeddings. Several subtasks of one plan get different predicates: with two moka pots the
first step is about one of them, the second about the other.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from structrl_ros.naming import match_handle
from structrl_ros.naming import parse_handle
from structrl_ros.naming import parse_mention
from structrl_ros.types import Float64
from structrl_ros.types import Subtask

#: Kinds of predicates that can tell that a verb is done; the first is the usual one.
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'grasp': ('grasp',),
        'place': ('in', 'on'),
        'open': ('open',),
        'close': ('close',),
        'turn on': ('turnon',),
        'turn off': ('turnoff',),
        'press': ('press', 'turnon'),
        'pour': ('pour',),
        'activity': ('activity',),
    }
)

_PREDICATE = re.compile(r'\s*([a-z]\w*)\s*\(([^()]*)\)\s*', re.IGNORECASE)
_SAME_THING = 1e-3
_ORDER = 1e-6
_CROSSING = 1e-9
_MAX_NUMBER = 100


def split_predicate(name: str) -> tuple[str, tuple[str, ...]]:
    """Return kind and arguments of 'in(soup_1, basket_1_contain_region)'; no match gives ''."""
    match = _PREDICATE.fullmatch(name)
    if match is None:
        return '', ()
    arguments = tuple(a.strip() for a in match[2].split(','))
    return match[1].lower(), arguments


def fitness(subtask: Subtask, name: str) -> float:
    """Return how well a predicate fits a subtask: the product over its things, 0 to 1."""
    kind, arguments = split_predicate(name)
    if kind not in KINDS.get(subtask.verb, ()) or len(arguments) != len(subtask.arguments):
        return 0.0
    score = 1.0
    for phrase, argument in zip(subtask.arguments, arguments, strict=True):
        score *= match_handle(phrase, argument)
    return score


def ground(subtask: Subtask, names: Sequence[str]) -> str | None:
    """Return the predicate that tells that a subtask is done, or None if there is none.

    Among equally good ones the lowest number wins. For the steps of one plan use `ground_all`.
    """
    return ground_all((subtask,), names)[subtask.id]


def ground_all(subtasks: Sequence[Subtask], names: Sequence[str]) -> dict[str, str | None]:
    """Ground the steps of a plan together, each to a predicate of its own.

    The assignment has the greatest total fitness. Ties are broken without chance: earlier steps
    get lower numbers, and a grasp gets the thing that the next placing of the same phrase is
    about. A step that repeats another beyond what the body publishes gets None, as StructRL
    drops a subtask that duplicates another's predicate.

    An id with a number ('grasp(moka pot)#2') is about the second such thing, also where the plan
    lists only what is left.

    Args:
        subtasks: Steps in order, with unique ids.
        names: Names that the body publishes.

    Returns:
        Id of every subtask to a name, or to None where nothing fits.
    """
    ordered = sorted(dict.fromkeys(names), key=_natural_key)
    steps = _with_earlier(subtasks)
    others = [s for s in steps if s.verb != 'grasp']
    grasps = [s for s in steps if s.verb == 'grasp']
    found = _assign(others, ordered, {})
    found |= _assign(grasps, ordered, _expected_things(subtasks, found))
    return {s.id: found.get(s.id) for s in subtasks}


def _with_earlier(subtasks: Sequence[Subtask]) -> list[Subtask]:
    """Return the steps with those that their numbers say were before them and are not listed."""
    ids = {s.id for s in subtasks}
    steps = []
    for step in subtasks:
        base, mark, number = step.id.rpartition('#')
        if mark and number.isdecimal() and int(number) <= _MAX_NUMBER:
            earlier = [base, *(f'{base}#{k}' for k in range(2, int(number)))]
            steps += [dataclasses.replace(step, id=e) for e in earlier if e not in ids]
            ids.update(earlier)
        steps.append(step)
    return steps


def _expected_things(subtasks: Sequence[Subtask], grounded: Mapping[str, str]) -> dict[str, str]:
    """Return for each grasp the thing that the next placing of the same phrase moves."""
    expected = {}
    for i, subtask in enumerate(subtasks):
        if subtask.verb != 'grasp':
            continue
        thing = parse_mention(subtask.arguments[0]).noun
        for later in subtasks[i + 1 :]:
            name = grounded.get(later.id)
            if name and later.verb == 'place' and parse_mention(later.arguments[0]).noun == thing:
                expected[subtask.id] = split_predicate(name)[1][0]
                break
    return expected


def _assign(
    subtasks: Sequence[Subtask], names: Sequence[str], expected: Mapping[str, str]
) -> dict[str, str]:
    """Return the assignment of maximum weight; pairs that do not fit are left out."""
    if not subtasks or not names:
        return {}
    from scipy.optimize import linear_sum_assignment

    fits = np.array([[fitness(s, n) for n in names] for s in subtasks])
    weights = fits + _tie_breaks(len(subtasks), len(names))
    for i, subtask in enumerate(subtasks):
        for j, name in enumerate(names):
            if subtask.id in expected and expected[subtask.id] in split_predicate(name)[1]:
                weights[i, j] += _SAME_THING
    rows, columns = linear_sum_assignment(np.where(fits > 0, weights, 0.0), maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return {subtasks[i].id: names[j] for i, j in pairs if fits[i, j] > 0}


def _tie_breaks(rows: int, columns: int) -> Float64:
    """Return weights that prefer low columns, and among those the order of the rows."""
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    crossing = _CROSSING * (row * column) / (rows * columns)
    return np.asarray(crossing - _ORDER * column / columns, dtype=np.float64)


def _natural_key(name: str) -> tuple[str, tuple[int, ...], str]:
    """Sort by kind, then by the numbers of the things, so that pot 2 comes before pot 10."""
    kind, arguments = split_predicate(name)
    numbers = tuple(parse_handle(a).number or 0 for a in arguments)
    return kind, numbers, name
