"""The skill grammar: verbs, their synonyms, and the way from a phrase to a step and back.

The controlled forms are those of StructRL, Appendix B.1 ('grasp X', 'place X in Y', 'open X', ...)
together with REVER's skills ('Pick up', 'Put', 'pour').
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import fold

#: Skill verbs and the number of things that each needs.
ARITY: Mapping[str, int] = MappingProxyType(
    {
        'grasp': 1,
        'place': 2,
        'open': 1,
        'close': 1,
        'turn on': 1,
        'turn off': 1,
        'press': 1,
        'pour': 2,
        'activity': 1,
    }
)

#: Other words for the skill verbs.
VERBS: Mapping[str, str] = MappingProxyType(
    {
        'grasp': 'grasp',
        'pick up': 'grasp',
        'take': 'grasp',
        'place': 'place',
        'put': 'place',
        'open': 'open',
        'close': 'close',
        'turn on': 'turn on',
        'switch on': 'turn on',
        'turn off': 'turn off',
        'switch off': 'turn off',
        'press': 'press',
        'push': 'press',
        'pour': 'pour',
    }
)

#: Words between the two things of a skill that takes two.
PREPOSITIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        'place': frozenset({'in', 'into', 'on', 'onto', 'inside', 'to'}),
        'pour': frozenset({'into', 'in'}),
    }
)

_WHILE = ' for while'
_QUOTED = 60


@dataclass(frozen=True, slots=True)
class Step:
    """One skill with the things it is about, all folded: `Step('place', ('cup', 'table'))`."""

    action: str
    objects: tuple[str, ...]

    @property
    def id(self) -> str:
        """Name of the step as `verb(thing, thing)`."""
        return f'{self.action}({", ".join(self.objects)})'


def quote(text: str) -> str:
    """Return the text in quotes for an error message, on one line and cut to 60 characters."""
    line = ' '.join(text.split())
    return repr(line if len(line) <= _QUOTED else line[: _QUOTED - 3] + '...')


def normalise_verb(verb: str) -> str:
    """Return the skill verb of a word ('Pick up' is 'grasp'); an unknown one only folds."""
    folded = fold(verb)
    return VERBS.get(folded, folded)


def parse_phrase(phrase: str) -> Step:
    """Turn one phrase in a controlled form into a step.

    Args:
        phrase: For example 'Pick up the cup.' or 'place alphabet_soup in basket'.

    Raises:
        PlanSyntaxError: If the verb is unknown or a thing is missing; the text names the phrase.
    """
    folded = fold(phrase)
    if folded == _WHILE.strip() or folded.endswith(_WHILE):
        activity = folded.removesuffix(_WHILE.strip()).strip()
        if not activity:
            raise PlanSyntaxError(f'{quote(phrase)}: an activity for a while needs its name')
        return Step('activity', (activity,))
    words = folded.split()
    for length in (2, 1):
        verb = VERBS.get(' '.join(words[:length])) if len(words) >= length else None
        if verb is not None:
            return Step(verb, _arguments(verb, words[length:], phrase))
    known = ', '.join(sorted(VERBS))
    raise PlanSyntaxError(f'{quote(phrase)}: unknown verb; known: {known}, ... for a while')


def parse_step(action: str, objects: tuple[str, ...]) -> Step:
    """Turn a verb and its things, already apart, into a step.

    Raises:
        PlanSyntaxError: If the verb is unknown or the number of things is wrong.
    """
    verb = normalise_verb(action)
    if verb not in ARITY:
        known = ', '.join(sorted({*VERBS, *ARITY}))
        raise PlanSyntaxError(f'{quote(action)}: unknown verb; known: {known}')
    folded = tuple(fold(o) for o in objects)
    if len(folded) != ARITY[verb] or not all(folded):
        given = ', '.join(quote(o) for o in objects) or 'none'
        raise PlanSyntaxError(f'{quote(action)} needs {_things(ARITY[verb])}, got {given}')
    return Step(verb, folded)


def render_step(step: Step) -> str:
    """Return the step as a phrase in controlled form; `parse_phrase` turns it back."""
    if step.action == 'activity':
        return f'{step.objects[0]} for a while'
    if step.action == 'place':
        return f'place {step.objects[0]} in {step.objects[1]}'
    if step.action == 'pour':
        return f'pour {step.objects[0]} into {step.objects[1]}'
    return f'{step.action} {step.objects[0]}'


def _arguments(verb: str, words: list[str], phrase: str) -> tuple[str, ...]:
    """Split what follows the verb into its things, at the first preposition of the verb."""
    if ARITY[verb] == 1:
        if not words:
            raise PlanSyntaxError(f'{quote(phrase)}: {verb} needs one thing, got none')
        return (' '.join(words),)
    allowed = PREPOSITIONS[verb]
    at = next((i for i, w in enumerate(words) if w in allowed), len(words))
    first, second = words[:at], words[at + 1 :]
    if not first or not second:
        between = '|'.join(sorted(allowed))
        missing = 'what to move' if not first else 'where to'
        raise PlanSyntaxError(
            f'{quote(phrase)}: {missing} is missing; the form is {verb} X {between} Y'
        )
    return ' '.join(first), ' '.join(second)


def _things(count: int) -> str:
    """Return 'one thing' or 'two things'."""
    return 'one thing' if count == 1 else 'two things'
