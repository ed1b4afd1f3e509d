"""The questions of a LEAP set, from templates: a role, the skills that there are, the output form.

REVER, Section III-A2. A change of a template is a new `VERSION`, since a model that was trained on
one set answers another differently.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.models.vlm.choosers import LETTERS

VERSION = 1

#: The skills, as `plan.grammar` reads them.
SKILLS = (
    'grasp THING',
    'place THING in|on|to PLACE',
    'open THING',
    'close THING',
    'turn on THING',
    'turn off THING',
    'press THING',
    'pour THING into PLACE',
)

_ROLES = (
    'You are the planner of a robot arm with one gripper.',
    'You decide what a robot arm does next. It has one hand and carries one thing at a time.',
    'A robot arm at a table carries out skills one after the other. You write its plans.',
)
_WATCHERS = (
    'You watch a robot arm at work.',
    'You check the work of a robot arm from pictures.',
)
_PLAN_FORM = (
    'Think first between <think> and </think>. Then give the plan between <answer> and </answer>, '
    'one skill a line, numbered, and nothing else. Write a grasp before each placing and pouring.'
)
_COMPLETION_FORM = (
    'Think first between <think> and </think>. Then answer True or False between <answer> and '
    '</answer>, nothing else.'
)
_CHOICE_FORM = (
    'Think first between <think> and </think>. Then give the letter of the right plan between '
    '<answer> and </answer>, nothing else.'
)


def plan_prompt(instruction: str, objects: Sequence[str], random: np.random.Generator) -> str:
    """Return the question for a plan."""
    return '\n'.join(
        [
            _pick(_ROLES, random),
            f'Skills: {"; ".join(SKILLS)}.',
            f'In the scene: {", ".join(objects)}.',
            'The picture shows the scene now.',
            f'Instruction: {instruction}',
            _PLAN_FORM,
        ]
    )


def completion_prompt(phrase: str, random: np.random.Generator) -> str:
    """Return the question whether a skill has been done, for a picture before and one now."""
    return '\n'.join(
        [
            _pick(_WATCHERS, random),
            f'Skills: {"; ".join(SKILLS)}.',
            'The first picture is from before the skill, the second from now.',
            f'Skill: {phrase}',
            'Is it done?',
            _COMPLETION_FORM,
        ]
    )


def choice_prompt(
    instruction: str,
    objects: Sequence[str],
    options: Sequence[Sequence[str]],
    random: np.random.Generator,
) -> str:
    """Return the question which of four plans is right."""
    listed = [
        f'{letter}. {"; ".join(steps)}' for letter, steps in zip(LETTERS, options, strict=True)
    ]
    return '\n'.join(
        [
            _pick(_ROLES, random),
            f'Skills: {"; ".join(SKILLS)}.',
            f'In the scene: {", ".join(objects)}.',
            'The picture shows the scene now.',
            f'Instruction: {instruction}',
            'Which plan carries it out?',
            *listed,
            _CHOICE_FORM,
        ]
    )


def plan_answer(phrases: Sequence[str]) -> str:
    """Return the inside of the answer block of a plan."""
    return '\n'.join(f'{i}. {phrase}' for i, phrase in enumerate(phrases, start=1))


def _pick(texts: Sequence[str], random: np.random.Generator) -> str:
    return texts[int(random.integers(len(texts)))]
