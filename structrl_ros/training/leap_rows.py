"""The triplets of a set: question, pictures, answer (REVER, Section III-A2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrl_ros.models.vlm.choosers import LETTERS
from structrl_ros.naming import fold
from structrl_ros.training.leap_choices import Parts
from structrl_ros.training.leap_choices import make_choice
from structrl_ros.training.leap_choices import parts_of
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_prompts import choice_prompt
from structrl_ros.training.leap_prompts import completion_prompt
from structrl_ros.training.leap_prompts import plan_answer
from structrl_ros.training.leap_prompts import plan_prompt
from structrl_ros.training.leap_sentences import everyday_words
from structrl_ros.training.leap_sentences import say
from structrl_ros.training.leap_sentences import say_orders
from structrl_ros.training.leap_sentences import say_wish
from structrl_ros.training.leap_units import ComposedTask
from structrl_ros.training.leap_units import compose

#: What a row asks for.
KINDS = ('plan', 'completion', 'choice')

#: `correct` of a row that is no choice.
NO_CHOICE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LeapRow:
    """One triplet.

    Attributes:
        id: Unique in the set.
        kind: One of `KINDS`.
        split: 'train' or 'test'.
        source: Of the demonstration: 'tabletop', 'libero', 'bag' or 'lerobot'.
        scene: `SkillEpisode.scene`.
        episode: Name of the demonstration whose pictures these are.
        task: Of it.
        seed: Of it.
        initial_state: Of it.
        way: How the task was composed, 'demonstrated' for completion.
        style: Of the instruction, 'skill' for completion.
        instruction: The sentence; for completion the skill's phrase.
        objects: What is in the scene.
        prompt: The whole question in words.
        answer: What stands between <answer> and </answer>.
        plan: Phrases of the true plan; of completion the one skill.
        options: Of a choice four plans, else ().
        distractors: Kind of each option, 'right' for the right one.
        correct: Index of the right option, -1 where there is none.
        done: Of completion whether the skill is done.
        roles: Cameras.
        images: Files of all roles at one moment, then of the next one (completion has two).
    """

    id: str
    kind: str
    split: str
    source: str
    scene: str
    episode: str
    task: str
    seed: int
    initial_state: int
    way: str
    style: str
    instruction: str
    objects: tuple[str, ...]
    prompt: str
    answer: str
    plan: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...]
    correct: int
    done: bool | None
    roles: tuple[str, ...]
    images: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSettings:
    """How many tasks are composed of a demonstration, and the seed of everything drawn."""

    plans: int = 6
    seed: int = 0


def make_rows(
    episodes: Sequence[SkillEpisode], split: str, settings: RowSettings
) -> Iterator[LeapRow]:
    """Yield the rows of one split; choices are made for the test split alone.

    Args:
        episodes: All of the split, so that tasks of one scene can be joined.
        split: 'train' or 'test'.
        settings: How many, and the seed.
    """
    scenes: dict[str, list[SkillEpisode]] = {}
    for episode in episodes:
        scenes.setdefault(episode.scene, []).append(episode)
    parts = parts_of(episode.phrases for episode in episodes)
    for episode in episodes:
        others = [o for o in scenes[episode.scene] if o.name != episode.name]
        for number, task in enumerate(compose(episode, others, settings.plans, settings.seed)):
            random = np.random.default_rng([settings.seed, number, *episode.name.encode()])
            yield from _plan_rows(task, number, split, parts, random)
        yield from _completion_rows(episode, split, settings.seed)


def drop_leaks(train: Sequence[LeapRow], test: Sequence[LeapRow]) -> list[LeapRow]:
    """Return the training rows whose instruction is in no row of the test split."""
    known = {fold(row.instruction) for row in test}
    return [row for row in train if fold(row.instruction) not in known]


def count_rows(rows: Sequence[LeapRow], *names: str) -> Counter[tuple[str, ...]]:
    """Return how many rows have each combination of the fields that are named."""
    return Counter(tuple(str(getattr(row, name)) for name in names) for row in rows)


def _plan_rows(
    task: ComposedTask, number: int, split: str, parts: Parts, random: np.random.Generator
) -> Iterator[LeapRow]:
    """Yield the plan of a task, and in the test split the choice among four."""
    for style, sentence in _sentences(task, random):
        name = f'{task.episode.name}-plan{number}-{style}'
        about = _about(task.episode, split) | {
            'way': task.way,
            'style': style,
            'instruction': sentence,
            'objects': task.objects,
            'plan': task.phrases,
            'images': task.episode.boundaries[task.moment],
            'done': None,
        }
        yield LeapRow(
            id=name,
            kind='plan',
            prompt=plan_prompt(sentence, task.objects, random),
            answer=plan_answer(task.phrases),
            options=(),
            distractors=(),
            correct=NO_CHOICE,
            **about,
        )
        choice = None
        if split == 'test':
            choice = make_choice(task.phrases, task.objects, parts, random)
        if choice is not None:
            yield LeapRow(
                id=f'{name}-choice',
                kind='choice',
                prompt=choice_prompt(sentence, task.objects, choice.options, random),
                answer=LETTERS[choice.correct],
                options=choice.options,
                distractors=choice.kinds,
                correct=choice.correct,
                **about,
            )


def _sentences(task: ComposedTask, random: np.random.Generator) -> list[tuple[str, str]]:
    """Return the styles and sentences of a task: its own one, and one that was composed."""
    found = [('own', task.episode.instruction)] if task.way == 'whole' else []
    wish = say_wish(task.units, random) if random.random() < 0.5 else None
    words = everyday_words(task.objects, random)
    if wish is not None:
        found.append(('wish', say(wish, words)))
    else:
        found.append(('orders', say(say_orders(task.units, random), words)))
    return found


def _completion_rows(episode: SkillEpisode, split: str, seed: int) -> Iterator[LeapRow]:
    """Yield for each skill the end frame as done, and a frame from its middle as not done."""
    for number, phrase in enumerate(episode.phrases):
        ends: list[tuple[bool, KeyFrame]] = [(True, episode.boundaries[number + 1])]
        if episode.middle_frames[number]:
            ends.append((False, episode.middle_frames[number]))
        for done, now in ends:
            random = np.random.default_rng([seed, number, done, *episode.name.encode()])
            yield LeapRow(
                id=f'{episode.name}-skill{number}-{"end" if done else "middle"}',
                kind='completion',
                way='demonstrated',
                style='skill',
                instruction=phrase,
                objects=episode.objects,
                prompt=completion_prompt(phrase, random),
                answer=str(done),
                plan=(phrase,),
                options=(),
                distractors=(),
                correct=NO_CHOICE,
                done=done,
                images=(*episode.boundaries[number], *now),
                **_about(episode, split),
            )


def _about(episode: SkillEpisode, split: str) -> dict[str, Any]:
    return {
        'split': split,
        'source': episode.source,
        'scene': episode.scene,
        'episode': episode.name,
        'task': episode.task,
        'seed': episode.seed,
        'initial_state': episode.initial_state,
        'roles': episode.roles,
    }
