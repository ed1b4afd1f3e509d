"""Groups of things by what they are: 'all the fruit', 'everything round', 'the red one'.

A reader of such phrases and the general attributes of things (`ontology.ATTRIBUTES`); no sentence
is known by heart. What depends on a person's taste or on cooking is left to language models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from structrl_ros.naming import fold
from structrl_ros.naming import singular
from structrl_ros.ontology import ANYTHING
from structrl_ros.ontology import ATTRIBUTES
from structrl_ros.ontology import COLOURS
from structrl_ros.ontology import FIXTURES
from structrl_ros.ontology import MASS_NOUNS

_QUANTIFIERS = frozenset({'all', 'every', 'each'})
_LINKS = frozenset({'of', 'that', 'which', 'is', 'are', 'those', 'these'})
_KNOWN = frozenset().union(*ATTRIBUTES.values(), COLOURS)


@dataclass(frozen=True, slots=True)
class Group:
    """Things that have every one of `attributes`; `is_all` says all of them, else the only one."""

    attributes: frozenset[str]
    is_all: bool


def read_group(phrase: str) -> Group | None:
    """Return the group that a phrase describes, None if it is no description.

    Every word must be a quantifier, a link, a noun for any thing, or an attribute that some thing
    of the ontology has. 'red' alone describes nothing: a noun or a quantifier makes a group of it.

    Args:
        phrase: Such as 'all the round things', 'fruits', 'everything that is red'.
    """
    words = fold(phrase).split()
    is_all = has_noun = False
    attributes: set[str] = set()
    for place, word in enumerate(words):
        one = singular(word)
        is_last = place == len(words) - 1
        if word in _QUANTIFIERS:
            is_all = True
        elif one in ANYTHING:
            has_noun = True
            is_all |= word != one or one in {'everything', 'stuff'}
        elif one in _KNOWN:
            attributes.add(one)
            has_noun |= is_last and one not in COLOURS
            is_all |= word != one or one in MASS_NOUNS
        elif word not in _LINKS:
            return None
    is_description = (has_noun or is_all) if attributes else (has_noun and is_all)
    return Group(frozenset(attributes), is_all) if is_description else None


def attributes_of(thing: str) -> frozenset[str]:
    """Return what is known of a thing by its name: its own entry, else that of its last word."""
    name = fold(thing)
    words = name.split()
    known = ATTRIBUTES.get(name)
    if known is None:
        known = ATTRIBUTES.get(words[-1], frozenset()) if words else frozenset()
        own = COLOURS.intersection(words)
        known = (known - COLOURS if own else known) | own
    return known


def members(group: Group, things: Iterable[str]) -> tuple[str, ...]:
    """Return the movable things that belong to a group, in their order.

    Args:
        group: Of `read_group`.
        things: Names in the scene, without numbers.
    """
    movable = (t for t in things if t.split() and t.split()[-1] not in FIXTURES)
    return tuple(t for t in movable if group.attributes <= attributes_of(t))
