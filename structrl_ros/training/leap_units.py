"""Skills composed to long-horizon tasks (REVER, Section III-A1).

A unit is what leaves the hand free again: a grasp with the placing or pouring that follows it, or
one use of a fixture. Any stretch of a demonstration's units is a task that begins at the key frame
before it. Placings next to each other may change their order, and units of two demonstrations of
one scene that have nothing to do with one another follow one another: such a task was composed,
never executed as a whole, and its rows say so (`way`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.naming import is_whole_word_part
from structrl_ros.naming import parse_mention
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.training.leap_episode import SkillEpisode

#: How a task was made: as demonstrated, a stretch of it, in another order, of two demonstrations.
WAYS = ('whole', 'stretch', 'reordered', 'joined')

#: Most steps of a composed task.
MAX_STEPS = 12


@dataclass(frozen=True, slots=True)
class Unit:
    """Steps that belong together, by their phrases."""

    phrases: tuple[str, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The phrases as steps."""
        return tuple(parse_phrase(phrase) for phrase in self.phrases)

    @property
    def moved(self) -> str:
        """Plain name of the thing that it moves, '' if it uses a fixture."""
        last = self.steps[-1]
        if last.action in ('grasp', 'place', 'pour'):
            return plain_name(last.objects[0])
        return ''

    @property
    def is_placing(self) -> bool:
        """Whether it takes something and puts it somewhere."""
        return self.steps[-1].action == 'place'

    @property
    def things(self) -> frozenset[str]:
        """Plain names of all that it is about."""
        return frozenset(plain_name(o) for step in self.steps for o in step.objects)


@dataclass(frozen=True, slots=True)
class ComposedTask:
    """A task of some units that begins at a key frame of a demonstration.

    Attributes:
        episode: Whose key frame it is.
        moment: Index of the key frame in `SkillEpisode.boundaries`.
        units: In order.
        way: One of `WAYS`.
        objects: What is in the scene.
        donor: Name of the second demonstration of a joined task, else ''.
    """

    episode: SkillEpisode
    moment: int
    units: tuple[Unit, ...]
    way: str
    objects: tuple[str, ...]
    donor: str = ''

    @property
    def phrases(self) -> tuple[str, ...]:
        """All steps in order: the plan."""
        return tuple(phrase for unit in self.units for phrase in unit.phrases)


def plain_name(thing: str) -> str:
    """Return a thing without what only tells which one is meant ('next to the ramekin')."""
    mention = parse_mention(thing)
    return thing.removesuffix(mention.qualifier).strip() if mention.qualifier else thing


def split_units(phrases: Sequence[str]) -> tuple[Unit, ...]:
    """Group the steps of a plan into units."""
    units: list[Unit] = []
    held: str | None = None
    for phrase in phrases:
        action = parse_phrase(phrase).action
        if held is not None and action in ('place', 'pour'):
            units.append(Unit((held, phrase)))
            held = None
            continue
        if held is not None:
            units.append(Unit((held,)))
            held = None
        if action == 'grasp':
            held = phrase
        else:
            units.append(Unit((phrase,)))
    if held is not None:
        units.append(Unit((held,)))
    return tuple(units)


def compose(
    episode: SkillEpisode, others: Sequence[SkillEpisode], count: int, seed: int
) -> list[ComposedTask]:
    """Return up to `count` tasks that begin in a demonstration, the whole one first.

    The others are drawn in proportion to their steps, since the horizon shall be long.

    Args:
        episode: Gives the key frames.
        others: Demonstrations of the same scene; itself is passed over.
        count: At least 1.
        seed: Of the choice, with the episode's name.
    """
    random = np.random.default_rng([seed, *episode.name.encode()])
    units = split_units(episode.phrases)
    whole = ComposedTask(episode, 0, units, 'whole', episode.objects)
    made = [*_stretches(episode, units), *_reordered(whole, random), *_joined(whole, others)]
    lengths = np.array([len(task.phrases) for task in made], dtype=np.float64)
    shares = lengths / max(1.0, lengths.sum())
    order = random.choice(len(made), len(made), replace=False, p=shares) if made else lengths
    chosen: dict[tuple[int, tuple[str, ...]], ComposedTask] = {(0, whole.phrases): whole}
    for i in map(int, order):
        if len(chosen) >= count:
            break
        chosen.setdefault((made[i].moment, made[i].phrases), made[i])
    return list(chosen.values())


def _stretches(episode: SkillEpisode, units: tuple[Unit, ...]) -> Iterator[ComposedTask]:
    """Yield every stretch of units but the whole."""
    starts = [0, *itertools.accumulate(len(unit.phrases) for unit in units)]
    for first, last in itertools.combinations(range(len(units) + 1), 2):
        if (first, last) != (0, len(units)):
            yield ComposedTask(
                episode, starts[first], units[first:last], 'stretch', episode.objects
            )


def _reordered(whole: ComposedTask, random: np.random.Generator) -> Iterator[ComposedTask]:
    """Yield the whole with two neighbouring placings of different things in turn."""
    places = [
        i
        for i, (a, b) in enumerate(itertools.pairwise(whole.units))
        if a.is_placing and b.is_placing and are_apart(a, b)
    ]
    for i in random.permutation(places).tolist():
        units = list(whole.units)
        units[i], units[i + 1] = units[i + 1], units[i]
        yield ComposedTask(whole.episode, 0, tuple(units), 'reordered', whole.objects)


def _joined(whole: ComposedTask, others: Sequence[SkillEpisode]) -> Iterator[ComposedTask]:
    """Yield the whole followed by another demonstration's, where they do not meet.

    One donor for each task is enough: all its demonstrations have the same plan.
    """
    plans = {other.phrases: other for other in others}
    for phrases, other in plans.items():
        units = split_units(phrases)
        count = len(whole.phrases) + len(phrases)
        are_free = all(are_apart(a, b) for a in whole.units for b in units)
        if count <= MAX_STEPS and are_free and whole.units[-1].steps[-1].action != 'grasp':
            objects = tuple(dict.fromkeys([*whole.objects, *other.objects]))
            joined = (*whole.units, *units)
            yield ComposedTask(whole.episode, 0, joined, 'joined', objects, other.name)


def are_apart(a: Unit, b: Unit) -> bool:
    """Tell whether two units do not meet: no thing that one moves or uses is the other's.

    They may put things into the same place. A fixture that one opens is not touched by the other.
    """
    for one, two in ((a, b), (b, a)):
        acted = {one.moved} if one.moved else one.things
        if any(_is_same(x, y) for x in acted for y in two.things):
            return False
    return True


def _is_same(a: str, b: str) -> bool:
    return is_whole_word_part(a, b) or is_whole_word_part(b, a)
