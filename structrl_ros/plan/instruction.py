"""A sentence to clauses: courtesy and punctuation gone, cut before every verb.

'turn on the stove and put the moka pot on it' gives ('turn on', 'stove'), ('put', 'moka pot on
it'). 'and' between two things stays: a cut needs a verb behind it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import fold
from structrl_ros.plan.grammar import quote
from structrl_ros.verbs import ACTIONS
from structrl_ros.verbs import one_of
from structrl_ros.verbs import words_of

#: Verbs of sentences and the kind of clause that each begins; to move is to place elsewhere.
CLAUSE_VERBS = words_of(
    {action: action for action in ACTIONS if action != 'rotate'} | {'move': 'place'}
)

_VERBS = one_of(CLAUSE_VERBS)
_JOINT = re.compile(rf'(?:(?:[,;.!]|\band\b|\bthen\b|\bfinally\b)\s*)+(?=(?:{_VERBS})\b)')
_VERB = re.compile(rf'({_VERBS})\b\s*')
_COURTESY = re.compile(
    r'^(?:(?:please|kindly|robot|now|first|then|hey|ok|okay|'
    r'(?:can|could|would|will) you|you (?:should|must)|i want you to|i would like you to)\b'
    r'[\s,:]*)+'
)
_TAIL = re.compile(r'(?:[\s,]*\b(?:please|for me|thanks|thank you|now)\b)+[\s.!?]*$|[\s.!?,;]+$')


@dataclass(frozen=True, slots=True)
class Clause:
    """One order of a sentence: its kind (take, place, open, ...) and the words behind the verb."""

    kind: str
    words: str


def split_clauses(instruction: str) -> tuple[Clause, ...]:
    """Return the orders of a sentence, in order.

    Raises:
        PlanSyntaxError: If the sentence is empty or a clause does not begin with a known verb.
    """
    text = fold(' '.join(instruction.split()))
    text = _TAIL.sub('', _COURTESY.sub('', text))
    if not text:
        raise PlanSyntaxError('the instruction is empty; say what to do, for example open the box')
    clauses = []
    for piece in _pieces(text):
        match = _VERB.match(piece)
        if match is None:
            known = ', '.join(sorted(CLAUSE_VERBS))
            raise PlanSyntaxError(f'{quote(piece)} begins with no known verb; known: {known}')
        clauses.append(_clause(CLAUSE_VERBS[match[1]], piece[match.end() :]))
    return tuple(clauses)


def _pieces(text: str) -> list[str]:
    """Cut the sentence before its verbs, where 'and', 'then' or punctuation stands."""
    pieces = []
    for piece in _JOINT.split(text):
        bare = _TAIL.sub('', _COURTESY.sub('', piece.strip(' ,;.')))
        if bare:
            pieces.append(bare)
    return pieces


def _clause(kind: str, words: str) -> Clause:
    """Bring 'turn X on' and 'pick X up' to the order of 'turn on X'."""
    rest = words.strip(' ,;.')
    if kind == 'turn':
        for particle in ('on', 'off'):
            if rest.endswith(f' {particle}'):
                return Clause(f'turn {particle}', rest.removesuffix(particle).strip())
        raise PlanSyntaxError(f"'turn {rest}' needs on or off")
    if kind == 'take' and rest.endswith(' up'):
        rest = rest.removesuffix(' up')
    return Clause(kind, rest)
