"""Four plans of which one is right: distractors that differ in one hard thing.

Each distractor is wrong for certain: one skill replaced by another, one left out, two in an order
that the arm cannot do, or a thing that the instruction does not name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.naming import is_whole_word_part
from structrl_ros.naming import match_noun
from structrl_ros.naming import parse_mention
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.training.leap_units import plain_name

#: Kinds of distractors.
KINDS = ('replaced', 'dropped', 'reordered', 'wrong object')

#: What the use of a fixture is replaced by, so that the plan still reads well.
_OPPOSITES = {'open': 'close', 'close': 'open', 'turn on': 'turn off', 'turn off': 'turn on'}

Phrases = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Four plans, in the order in which they are shown.

    Attributes:
        options: Of each the phrases.
        kinds: Of each the kind of distractor, 'right' for the right one.
        correct: Index of the right one.
    """

    options: tuple[Phrases, ...]
    kinds: tuple[str, ...]
    correct: int


@dataclass(frozen=True, slots=True)
class Parts:
    """What things can be in a plan: names that were grasped, and names that took something."""

    taken: frozenset[str]
    places: frozenset[str]


def parts_of(plans: Iterable[Sequence[str]]) -> Parts:
    """Return what plans say of the parts of things."""
    steps = [parse_phrase(phrase) for plan in plans for phrase in plan]
    taken = frozenset(plain_name(s.objects[0]) for s in steps if s.action == 'grasp')
    places = frozenset(plain_name(s.objects[1]) for s in steps if s.action in ('place', 'pour'))
    return Parts(taken, places)


def make_choice(
    phrases: Phrases, objects: Sequence[str], parts: Parts, random: np.random.Generator
) -> Choice | None:
    """Return four options for a plan, None if three distractors cannot be had.

    Three kinds of the four where they are possible, else several of one kind.

    Args:
        phrases: The right plan.
        objects: Names in the scene; wrong things are taken from them.
        parts: Of things; a wrong thing plays the part of the right one elsewhere, if one can.
        random: Draws kinds, places and the order of the options.
    """
    makers: dict[str, Callable[[], Iterator[Phrases]]] = {
        'replaced': lambda: _replaced(phrases, objects, parts),
        'dropped': lambda: _dropped(phrases),
        'reordered': lambda: _reordered(phrases),
        'wrong object': lambda: _wrong_object(phrases, objects, parts),
    }
    found = {kind: _shuffled(make(), random) for kind, make in makers.items()}
    picked: dict[Phrases, str] = {}
    while len(picked) < 3 and any(found.values()):
        for i in random.permutation(len(KINDS)).tolist():
            rest = found[KINDS[i]]
            while rest and (rest[-1] in picked or rest[-1] == phrases):
                rest.pop()
            if rest and len(picked) < 3:
                picked[rest.pop()] = KINDS[i]
    if len(picked) < 3:
        return None
    options = [(phrases, 'right'), *picked.items()]
    order = random.permutation(4).tolist()
    return Choice(
        options=tuple(options[i][0] for i in order),
        kinds=tuple(options[i][1] for i in order),
        correct=order.index(0),
    )


def _replaced(phrases: Phrases, objects: Sequence[str], parts: Parts) -> Iterator[Phrases]:
    """Yield the plan with one skill replaced by another of the scene."""
    others = _others(phrases, objects)
    for i, phrase in enumerate(phrases):
        step = parse_phrase(phrase)
        if step.action in _OPPOSITES:
            found = [f'{_OPPOSITES[step.action]} {step.objects[0]}']
        else:
            allowed = parts.taken if len(step.objects) == 1 else parts.places
            thing = plain_name(step.objects[-1])
            found = [_exchange(phrase, {thing: o}) for o in _fitting(others, allowed)]
        for other in found:
            if other not in phrases:
                yield (*phrases[:i], other, *phrases[i + 1 :])


def _dropped(phrases: Phrases) -> Iterator[Phrases]:
    """Yield the plan without one step: all are needed."""
    if len(phrases) > 1:
        for i in range(len(phrases)):
            yield (*phrases[:i], *phrases[i + 1 :])


def _reordered(phrases: Phrases) -> Iterator[Phrases]:
    """Yield the plan with two steps exchanged, so that the arm cannot do it in that order."""
    for i in range(len(phrases)):
        for j in range(i + 1, len(phrases)):
            if _must_precede(phrases[i], phrases[j]):
                mixed = list(phrases)
                mixed[i], mixed[j] = mixed[j], mixed[i]
                yield tuple(mixed)


def _must_precede(before: str, after: str) -> bool:
    """Tell whether the second of two steps is impossible, or in vain, before the first."""
    one, two = parse_phrase(before), parse_phrase(after)
    first, second = plain_name(one.objects[0]), [plain_name(o) for o in two.objects]
    if one.action == 'grasp' and two.action in ('place', 'pour'):
        return first == second[0]
    if one.action == 'open' and two.action == 'place':
        return _overlap(first, second[1])
    if one.action == 'place' and two.action == 'close':
        return _overlap(plain_name(one.objects[1]), second[0])
    return one.action == 'open' and two.action == 'close' and _overlap(first, second[0])


def _wrong_object(phrases: Phrases, objects: Sequence[str], parts: Parts) -> Iterator[Phrases]:
    """Yield the plan about another thing of the scene, wherever one thing stands in it.

    Two things that change their parts in the plan are wrong only if other steps come of it; a
    thing and a place do so only where nothing else is to be had.
    """
    plain, others = _named(phrases), _others(phrases, objects)
    own = parts_of([phrases])
    exchanges: list[dict[str, str]] = []
    for thing in plain:
        allowed = parts.taken if thing in own.taken else parts.places
        exchanges += [{thing: other} for other in _fitting(others, allowed)]
    pairs = list(itertools.combinations(plain, 2))
    alike = [(a, b) for a, b in pairs if (a in own.taken) == (b in own.taken)]
    exchanges += [{a: b, b: a} for a, b in alike]
    for names in exchanges or [{a: b, b: a} for a, b in pairs]:
        made = tuple(_exchange(phrase, names) for phrase in phrases)
        if sorted(made) != sorted(phrases):
            yield made


def _fitting(names: Sequence[str], allowed: frozenset[str]) -> list[str]:
    """Return the names that can play a part, all of them if none can."""
    return [name for name in names if name in allowed] or list(names)


def _named(phrases: Phrases) -> list[str]:
    """Return the plain names of all things in a plan."""
    steps = [parse_phrase(phrase) for phrase in phrases]
    return list(dict.fromkeys(plain_name(o) for step in steps for o in step.objects))


def _others(phrases: Phrases, objects: Sequence[str]) -> list[str]:
    """Return the names of the scene that mean nothing in the plan."""
    named = _named(phrases)
    return [o for o in objects if not any(_could_mean(o, thing) for thing in named)]


def _could_mean(name: str, thing: str) -> bool:
    """Tell whether a name of the scene may be what a plan calls `thing`."""
    return (
        _overlap(name, thing)
        or match_noun(name, thing) > 0.0
        or match_noun(thing, name) > 0.0
        or match_noun(parse_mention(thing).noun, name) > 0.0
    )


def _exchange(phrase: str, names: dict[str, str]) -> str:
    """Return a phrase with its things exchanged; what told which one was meant goes too."""
    step = parse_phrase(phrase)
    things = [names.get(plain_name(o), o) for o in step.objects]
    if len(things) == 2:
        preposition = phrase.removeprefix(f'{step.action} {step.objects[0]} ').split()[0]
        return f'{step.action} {things[0]} {preposition} {things[1]}'
    return f'{step.action} {things[0]}'


def _overlap(a: str, b: str) -> bool:
    return is_whole_word_part(a, b) or is_whole_word_part(b, a)


def _shuffled(plans: Iterator[Phrases], random: np.random.Generator) -> list[Phrases]:
    found = list(dict.fromkeys(plans))
    return [found[i] for i in random.permutation(len(found)).tolist()]
