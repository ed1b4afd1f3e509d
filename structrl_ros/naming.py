"""Names of things: folding, whole-word comparison, and how well a phrase fits a simulator's name.

Plan, grounding and rule planner all compare names, so the comparison lives below their rooms.
Symbols only: the cosine of sentence embeddings calls 'open the drawer' and 'close the drawer' 0.9
alike, which no reward can stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from structrl_ros.ontology import CONTAINERS
from structrl_ros.ontology import PARTS
from structrl_ros.ontology import PLACES
from structrl_ros.ontology import QUALIFIERS
from structrl_ros.ontology import SYNONYMS
from structrl_ros.ontology import THINGS_WITH_DRAWERS

ARTICLES = frozenset({'a', 'an', 'the'})

_HANDLE = re.compile(r'(?P<noun>.+?) (?P<number>\d+)(?: (?P<region>(?:[a-z]+ )*(?:region|side)))?')
_LINKS = frozenset({'of', 'to', 'side'})
_OWNERS: dict[str, set[str]] = {}
for _thing, _synonyms in SYNONYMS.items():
    for _name in (_thing, *_synonyms):
        _OWNERS.setdefault(_name, set()).add(_thing)


def fold(text: str) -> str:
    """Return the text in lower case, without articles, underscores and trailing full stops."""
    words = text.lower().replace('_', ' ').split()
    kept = ' '.join(w for w in words if w not in ARTICLES)
    return kept.rstrip('. ')


def is_whole_word_part(part: str, whole: str) -> bool:
    """Tell whether the words of `part` stand in `whole`, next to each other and in order."""
    return bool(part) and f' {part} ' in f' {whole} '


@dataclass(frozen=True, slots=True)
class Handle:
    """A simulator's name in parts: 'white_cabinet_1_bottom_region' is cabinet 1, region 'bottom'.

    `number` is None where the name has none; such a name with a region is a place on a table.
    """

    noun: str
    number: int | None
    region: tuple[str, ...]

    @property
    def places(self) -> frozenset[str]:
        """Words of the region that say where: top, middle, bottom, left, right, front, back."""
        return frozenset(PLACES[w] for w in self.region if w in PLACES)


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase in parts: 'the bottom drawer of the cabinet' is place bottom, part drawer, cabinet.

    `relative` marks a place beside or on top of a thing ('right of plate'), where 'right plate'
    only tells which plate is meant.
    """

    noun: str
    number: int | None
    place: str
    part: str
    relative: bool
    qualifier: str

    def render(self, noun: str) -> str:
        """Return the phrase with another noun, without its qualifier."""
        number = '' if self.number is None else f' {self.number}'
        if self.part:
            owner = f' of {noun}{number}' if noun else ''
            return f'{self.place} {self.part}{owner}'.strip()
        if self.relative:
            return f'{self.place} of {noun}{number}'
        return f'{self.place} {noun}{number}'.strip()


def parse_handle(name: str) -> Handle:
    """Split the name that a body publishes; any text is accepted."""
    folded = fold(name)
    match = _HANDLE.fullmatch(folded)
    if match is None:
        words = folded.split()
        if words and words[-1] in {'region', 'side'}:
            return Handle('', None, tuple(words))
        return Handle(folded, None, ())
    region = tuple((match['region'] or '').split())
    return Handle(match['noun'], int(match['number']), region)


def parse_mention(phrase: str) -> Mention:
    """Split a phrase about a thing; the qualifier after 'next to', 'on', 'from' ... is cut off."""
    words = fold(phrase).split()
    cut = next((i for i, w in enumerate(words) if i and w in QUALIFIERS), len(words))
    head, qualifier = words[:cut], ' '.join(words[cut:])
    if ' '.join(head) in _OWNERS:
        return Mention(' '.join(head), None, '', '', False, qualifier)
    number = int(head.pop()) if len(head) > 1 and head[-1].isdecimal() else None
    places = [PLACES[w] for w in head if w in PLACES]
    parts = [singular(w) for w in head if singular(w) in PARTS]
    noun = [w for w in head if w not in PLACES and singular(w) not in PARTS]
    relative = False
    if places or parts:
        relative = bool(places) and not parts and bool(_LINKS & set(head))
        noun = [w for w in noun if w not in _LINKS]
    place = places[0] if places else ''
    part = parts[0] if parts else ''
    return Mention(' '.join(noun), number, place, part, relative, qualifier)


def match_noun(noun: str, thing: str) -> float:
    """Return how well a noun phrase names a thing, 0 (not at all) to 1 (its very name).

    Args:
        noun: Folded noun phrase, without place, part and number.
        thing: Folded name of the thing, without number.
    """
    score = _match_singular(noun, thing)
    return score or _match_singular(singular(noun), thing)


def match_handle(phrase: str, name: str) -> float:
    """Return how well a phrase names the thing or region that a body calls `name`, in [0, 1].

    The name itself, as a static decomposition has it, is 1.
    """
    return 1.0 if phrase == name else _match_parts(parse_mention(phrase), parse_handle(name))


def expand(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Return the scene's names with all synonyms, so that a plan may use everyday words."""
    names: dict[str, None] = {}
    for name in vocabulary:
        noun = parse_handle(name).noun or fold(name)
        for word in (fold(name), noun, *SYNONYMS.get(noun, ())):
            names.setdefault(word)
        if noun in THINGS_WITH_DRAWERS:
            names.setdefault('drawer')
    return tuple(names)


def _match_parts(mention: Mention, handle: Handle) -> float:
    """Score noun, number and region together."""
    if not handle.noun:
        return 0.9 if _is_beside(mention, set(handle.region)) else 0.0
    if mention.number is not None and mention.number != handle.number:
        return 0.0
    if mention.noun:
        score = match_noun(mention.noun, handle.noun)
    else:
        score = 0.9 if mention.part and handle.noun in THINGS_WITH_DRAWERS else 0.0
    return score * _match_region(mention, handle)


def _is_beside(mention: Mention, region: set[str]) -> bool:
    """Tell whether a place on a table ('plate right region') is the one 'right of plate'."""
    if not mention.relative or not {mention.place} <= region:
        return False
    names = {mention.noun, *SYNONYMS.get(mention.noun, ())}
    owners = _OWNERS.get(mention.noun, set())
    return any(set(name.split()) <= region for name in names | owners if name)


def _match_region(mention: Mention, handle: Handle) -> float:
    """Return 1 where place and region agree, 0 where they contradict, 0.6 where one is silent."""
    if not mention.place:
        return 0.6 if handle.places else 1.0
    if mention.place in handle.places:
        on_top = handle.region[-1:] == ('side',)
        has_drawers = handle.noun in THINGS_WITH_DRAWERS
        if mention.part and on_top:
            return 0.0
        if mention.relative and mention.place == 'top' and has_drawers and not on_top:
            return 0.0
        return 1.0
    if handle.places or mention.part or mention.relative:
        return 0.0
    return 0.6


def _match_singular(noun: str, thing: str) -> float:
    """Score two names by identity, synonym and shared whole words, in this order."""
    if not noun or not thing:
        return 0.0
    if noun == thing:
        return 1.0
    if noun in SYNONYMS.get(thing, ()):
        return 0.95
    if thing in SYNONYMS and noun in _OWNERS:
        return 0.0
    words, own = noun.split(), thing.split()
    if words[-1] == own[-1] and sorted(w for w in words if w != 'and') == sorted(own):
        return 0.95
    if words in (own[: len(words)], own[-len(words) :]):
        return (0.6 if own[-1] == words[-1] else 0.5) + 0.3 * len(words) / len(own)
    is_list = 'and' in words or ',' in noun
    if not is_list and is_whole_word_part(thing, noun):
        rest = words[words.index(own[-1]) + 1 :]
        if all(w in CONTAINERS for w in rest):
            return 0.5 + 0.3 * len(own) / len(words)
    return 0.0


def counted(number: int, thing: str) -> str:
    """Return how many of a thing, as 1 episode, 2 episodes.

    Args:
        number: How many.
        thing: One of them; its plural has an s.
    """
    return f'{number} {thing}' if number == 1 else f'{number} {thing}s'


def singular(phrase: str) -> str:
    """Return the phrase with its last word in the singular, by the plain English endings."""
    for ending, instead in (('ies', 'y'), ('shes', 'sh'), ('xes', 'x'), ('s', '')):
        if phrase.endswith(ending) and not phrase.endswith('ss'):
            return phrase[: -len(ending)] + instead
    return phrase
