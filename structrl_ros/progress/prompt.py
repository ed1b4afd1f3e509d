"""Text and images of a query for a vision-language model, in one order (Robo-Dopamine 2.0).

The text says how many panels there really are; panels without any frame are neither sent nor
mentioned, so that text and images stay aligned.
"""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.progress.context import Query
from structrl_ros.progress.strip import Panels
from structrl_ros.progress.views import Views
from structrl_ros.types import ROLES
from structrl_ros.types import UInt8

#: Changes with every change of the text; models are trained on one version.
PROMPT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text and the images that it counts through, in its order."""

    text: str
    images: tuple[UInt8, ...]


def make_prompt(instruction: str, query: Query) -> Prompt:
    """Return the prompt of a query: Eq. 3 in words.

    Anchors show the head view, or the first that there is; endpoints show every view that there
    is. Panels come before the endpoint that they precede.
    """
    lines = [
        'You judge how a robot advances in a task.',
        f'Task: {instruction}',
    ]
    images: list[UInt8] = []

    def add(label: str, found: list[UInt8]) -> None:
        if found:
            first, last = len(images) + 1, len(images) + len(found)
            numbers = f'image {first}' if first == last else f'images {first} to {last}'
            lines.append(f'{label}: {numbers}.')
            images.extend(found)

    add('Start of the task', [_first(query.start)])
    add('Goal of the task', [] if query.goal is None else [_first(query.goal)])
    add(f'History before BEFORE, {_count(query.pre)}', _filled(query.pre))
    add(f'BEFORE, {_slots(query.before)}', _shown(query.before))
    add(f'History between BEFORE and AFTER, {_count(query.between)}', _filled(query.between))
    add(f'AFTER, {_slots(query.after)}', _shown(query.after))
    lines += [
        'Panels run left to right, top to bottom, oldest first; grey cells are empty.',
        'How far does AFTER advance from BEFORE, in per cent of what was left to do, or of what '
        'was done if it falls back?',
        'Answer with <score>+NN%</score> or <score>-NN%</score>.',
    ]
    return Prompt('\n'.join(lines), tuple(images))


def _first(views: Views) -> UInt8:
    return _shown(views)[0]


def _shown(views: Views) -> list[UInt8]:
    return [
        image for image, is_there in zip(views.images, views.available, strict=True) if is_there
    ]


def _slots(views: Views) -> str:
    there = zip(ROLES, views.available, strict=True)
    return ' and '.join(role.replace('_', ' ') for role, is_there in there if is_there)


def _filled(panels: Panels) -> list[UInt8]:
    return [
        image for image, cells in zip(panels.images, panels.filled, strict=True) if cells.any()
    ]


def _count(panels: Panels) -> str:
    return f'{panels.count} panel' + ('' if panels.count == 1 else 's')
