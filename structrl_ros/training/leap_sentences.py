"""Instructions for composed tasks: orders one after the other, or a wish for how it shall end.

REVER's LEAP-L lists what is to be done, LEAP-U asks for an outcome. A wish names no grasp, and no
opening of what something is then put into: whether that is needed is to be seen in the picture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from structrl_ros.naming import is_whole_word_part
from structrl_ros.ontology import SYNONYMS
from structrl_ros.plan.grammar import Step
from structrl_ros.training.leap_units import Unit

#: Styles of instructions; 'own' is the demonstration's sentence.
STYLES = ('own', 'orders', 'wish')

_ORDERS = (
    ('', ', then ', ', and finally '),
    ('first ', ', then ', ', and then '),
    ('please ', ', and then ', ', and then '),
)
_WISHES = (
    'I would like {}.',
    'In the end I want {}.',
    'See to it that you leave {}.',
    'I am happy when I find {}.',
)
#: Share of names that are said in everyday words.
_EVERYDAY = 0.7
_NUMBERS = {2: 'two', 3: 'three', 4: 'four'}
_LINKS = frozenset({'of', 'to', 'on', 'in', 'from', 'between'})
_ANOTHER = re.compile(r'^(put|pick up|pour) the ')
_FORM = re.compile(r'^place .+? (in|into|on|onto|inside|to) ')


def everyday_words(objects: Sequence[str], random: np.random.Generator) -> dict[str, str]:
    """Return for some things what people call them, where that means nothing else here.

    'akita black bowl' is the black bowl; the plan keeps the scene's own name.
    """
    words: dict[str, str] = {}
    for name in objects:
        others = [o for o in objects if o != name]
        taken = {w for o in others for w in (o, *SYNONYMS.get(o, ()))}
        free = [w for w in SYNONYMS.get(name, ()) if w not in taken]
        if free and random.random() < _EVERYDAY:
            words[name] = free[int(random.integers(len(free)))]
    return words


def say(sentence: str, words: Mapping[str, str]) -> str:
    """Return a sentence with everyday words for names, the longest names first."""
    if not words:
        return sentence
    names = '|'.join(re.escape(name) for name in sorted(words, key=len, reverse=True))
    return re.sub(rf'\b({names})\b', lambda match: words[match[1]], sentence)


def say_orders(units: Sequence[Unit], random: np.random.Generator) -> str:
    """Return orders in the sequence of the units, in words that vary."""
    clauses: list[str] = []
    for unit in units:
        clause = _order(unit)
        clauses.append(_ANOTHER.sub(r'\1 another ', clause) if clause in clauses else clause)
    first, between, last = _ORDERS[int(random.integers(len(_ORDERS)))]
    if len(clauses) == 1:
        return first.replace('first ', '') + clauses[0]
    head = between.join(clauses[:-1])
    return f'{first}{head}{last}{clauses[-1]}'


def say_wish(units: Sequence[Unit], random: np.random.Generator) -> str | None:
    """Return how it shall be in the end, None for what a wish cannot say.

    That is a bare grasp, and which of several like things is meant ('next to the ramekin').
    """
    placings = [unit for unit in units if unit.is_placing]
    if any(unit.steps[0].objects[0] != unit.steps[-1].objects[0] for unit in placings):
        return None
    groups: dict[str, list[str]] = {}
    parts: list[str] = []
    for unit in placings:
        step = unit.steps[-1]
        groups.setdefault(_where(unit), []).append(the(step.objects[0]))
    parts += [f'{_list(_counted(things))} {where}' for where, things in groups.items()]
    for unit in units:
        step = unit.steps[-1]
        if unit.is_placing or (step.action == 'open' and _is_way(step, placings)):
            continue
        state = {'open': 'open', 'close': 'closed', 'turn on': 'on', 'turn off': 'off'}
        if step.action == 'press':
            parts.append(f'{the(step.objects[0])} pressed')
        elif step.action in state:
            parts.append(f'{the(step.objects[0])} {state[step.action]}')
        else:
            return None
    if not parts:
        return None
    return _WISHES[int(random.integers(len(_WISHES)))].format(_list(parts))


def the(name: str) -> str:
    """Return a name with its articles: 'the bottom drawer of the cabinet', 'square block 1'."""
    words = name.split()
    found = [] if words[-1].isdecimal() else ['the']
    for i, word in enumerate(words):
        found.append(word)
        following = words[i + 1] if i + 1 < len(words) else ''
        is_link = word in _LINKS or (word == 'and' and 'between' in words)
        if (
            is_link
            and following
            and following not in {'the', *_LINKS}
            and not words[-1].isdecimal()
        ):
            found.append('the')
    return ' '.join(found)


def _order(unit: Unit) -> str:
    """Return one order."""
    first, last = unit.steps[0], unit.steps[-1]
    if not unit.is_placing:
        if last.action == 'pour':
            return f'pour {the(last.objects[0])} into {the(last.objects[1])}'
        if last.action == 'grasp':
            return f'pick up {the(last.objects[0])}'
        return f'{last.action} {the(last.objects[0])}'
    if first.action == 'grasp' and first.objects[0] != last.objects[0]:
        return f'pick up {the(first.objects[0])} and place it {_where(unit)}'
    return f'put {the(last.objects[0])} {_where(unit)}'


def _where(unit: Unit) -> str:
    """Return 'in the basket', with the preposition of the phrase."""
    match = _FORM.match(unit.phrases[-1])
    return f'{match[1] if match else "in"} {the(unit.steps[-1].objects[1])}'


def _is_way(step: Step, placings: Sequence[Unit]) -> bool:
    """Tell whether something is put into what this step opens."""
    opened = step.objects[0]
    targets = [unit.steps[-1].objects[1] for unit in placings]
    return any(is_whole_word_part(opened, t) or is_whole_word_part(t, opened) for t in targets)


def _counted(things: Sequence[str]) -> list[str]:
    """Return each thing once, in words that say how many of it there are."""
    found = []
    for thing in dict.fromkeys(things):
        count = things.count(thing)
        named = thing.removeprefix('the ')
        found.append(thing if count == 1 else f'{_NUMBERS.get(count, count)} {named}s')
    return found


def _list(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f'{", ".join(words[:-1])} and {words[-1]}'
