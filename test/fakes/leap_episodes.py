"""Demonstrations cut into skills, without a simulator: every key frame is a colour of its own."""

from __future__ import annotations

import hashlib

import numpy as np

from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_episode import picture_file

LUNCH = (
    'open lunch box',
    'grasp chicken',
    'place chicken in lunch box',
    'grasp apple',
    'place apple in lunch box',
    'close lunch box',
)


def frame(name: str, number: int) -> tuple[bytes, ...]:
    """Return a key frame of 8 x 8 px that no other name and number have."""
    digest = hashlib.sha256(f'{name} {number}'.encode()).digest()
    pixels = np.resize(np.frombuffer(digest, dtype=np.uint8), (8, 8, 3))
    return (picture_file(pixels, 'png'),)


def skill_episode(
    task: str = 'pack_lunch',
    number: int = 0,
    *,
    phrases: tuple[str, ...] = LUNCH,
    objects: tuple[str, ...] = ('chicken', 'apple', 'lunch box'),
    instruction: str = 'open the lunch box, put the chicken and the apple in it, and close it',
    source: str = 'tabletop',
    seed: int = 0,
) -> SkillEpisode:
    """Return a demonstration in which each skill took ten steps."""
    name = f'{source}-{task}-{seed}-{number}'
    count = len(phrases)
    return SkillEpisode(
        name=name,
        source=source,
        body=source,
        task=task,
        seed=seed,
        initial_state=number,
        instruction=instruction,
        objects=objects,
        phrases=phrases,
        roles=('head',),
        moments=tuple(10 * i for i in range(count + 1)),
        boundaries=tuple(frame(name, i) for i in range(count + 1)),
        middles=tuple(10 * i + 5 for i in range(count)),
        middle_frames=tuple(frame(name, 100 + i) for i in range(count)),
        licence='Apache-2.0',
    )


def three_scenes() -> list[SkillEpisode]:
    """Return six demonstrations of three scenes; two of the scenes share a sentence."""
    fruit = ('grasp apple', 'place apple in bowl')
    more = ('grasp lemon', 'place lemon in bowl')
    apple = 'pick up the apple and place it in the bowl'
    return [
        *(skill_episode(number=i) for i in range(2)),
        *(
            skill_episode('apple', i, phrases=fruit, objects=('apple', 'bowl'), instruction=apple)
            for i in range(2)
        ),
        skill_episode(
            'fruit', 0, phrases=fruit, objects=('apple', 'bowl', 'lemon'), instruction=apple
        ),
        skill_episode(
            'fruit_lemon',
            0,
            phrases=more,
            objects=('apple', 'bowl', 'lemon'),
            instruction='put the lemon in the bowl',
        ),
    ]
