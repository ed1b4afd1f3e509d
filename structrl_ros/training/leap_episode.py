"""A demonstration cut into atomic skills, with the key frames around and within each.

REVER, Section III-A: every skill keeps an observation from before it and one from after it, and
one from the middle of its execution, at which it is not done yet.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.types import Subtask
from structrl_ros.types import UInt8

#: Where in a skill its middle frame may lie, as shares of its length.
MIDDLE = (0.3, 0.8)

#: Forms of pictures, and the quality of JPEG.
PICTURE_FORMATS = ('jpeg', 'png')
_JPEG_QUALITY = 92

#: Names that say where, not what: 'right of the plate' is published where a goal names it.
_PLACE = re.compile(r'\bof\b')

#: The picture of every camera role at one moment, as files.
KeyFrame = tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEpisode:
    """One demonstration of N skills.

    Attributes:
        name: Unique, for example 'tabletop-pack_lunch-0-3'.
        source: 'tabletop', 'libero', 'bag' or 'lerobot'.
        body: `BodySpec.name`, or what the recording calls its robot.
        task: Name.
        seed: Of the scene, -1 where nobody told.
        initial_state: -1 where nobody told.
        instruction: The demonstration's own sentence.
        objects: What is in the scene, as a planner is given it.
        phrases: The N skills in controlled form, in the order in which they were done.
        roles: Cameras of each key frame.
        moments: N + 1 low-level steps (nanoseconds in recordings): start, end of each skill.
        boundaries: The key frames of `moments`.
        middles: Step of each middle frame, -1 where a skill is too short to have one; length N.
        middle_frames: The frames of `middles`, () where there is none.
        licence: Of the source.
    """

    name: str
    source: str
    body: str
    task: str
    seed: int
    initial_state: int
    instruction: str
    objects: tuple[str, ...]
    phrases: tuple[str, ...]
    roles: tuple[str, ...]
    moments: tuple[int, ...]
    boundaries: tuple[KeyFrame, ...]
    middles: tuple[int, ...]
    middle_frames: tuple[KeyFrame, ...]
    licence: str

    @property
    def steps(self) -> tuple[Step, ...]:
        """The skills as steps."""
        return tuple(parse_phrase(phrase) for phrase in self.phrases)

    @property
    def scene(self) -> str:
        """Body and things: demonstrations with equal ones happen in one scene, for the split."""
        things = sorted(name for name in self.objects if not _PLACE.search(name))
        return f'{self.body}: {", ".join(things)}'


def find_moments(
    plan: Sequence[Subtask],
    grounded: Mapping[str, str | None],
    first_true: Mapping[str, int | None],
) -> tuple[int, ...]:
    """Return start and ends of the skills, by the events that the tracker counts.

    A skill ends with the low-level step in which its predicate is true for the first time, and
    the next one begins there.

    Args:
        plan: Steps in order.
        grounded: Id of each to its predicate.
        first_true: Predicate to the first step, from 0, in which it was true.

    Returns:
        N + 1 rising numbers of steps that were made: 0, then that of each event.

    Raises:
        TrainingError: If a step has no event, or the events came in another order.
    """
    moments = [0]
    for subtask in plan:
        name = grounded.get(subtask.id)
        event = None if name is None else first_true.get(name)
        if event is None:
            raise TrainingError(f'{subtask.phrase!r} has no event')
        if event + 1 <= moments[-1]:
            raise TrainingError(f'{subtask.phrase!r} was done before the skill that precedes it')
        moments.append(event + 1)
    return tuple(moments)


def pick_middles(moments: Sequence[int], seed: int, name: str) -> tuple[int, ...]:
    """Return a moment within each skill, drawn from `MIDDLE` of it; -1 in one without any.

    Args:
        moments: Rising, N + 1.
        seed: Of the draw, with the episode's name.
        name: Of the episode.
    """
    random = np.random.default_rng([seed, *name.encode()])
    middles = []
    for begin, end in itertools.pairwise(moments):
        at = begin + round(float(random.uniform(*MIDDLE)) * (end - begin))
        middles.append(at if begin < at < end else -1)
    return tuple(middles)


def picture_file(image: UInt8, kind: str) -> bytes:
    """Return a picture, RGB (H, W, 3), as a PNG (exact) or JPEG file.

    Raises:
        ParameterError: If the form is unknown.
    """
    from PIL import Image

    if kind not in PICTURE_FORMATS:
        raise ParameterError(f'picture format {kind!r}; allowed: {", ".join(PICTURE_FORMATS)}')
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind.upper(), quality=_JPEG_QUALITY)
    return stream.getvalue()


def picture_pixels(file: bytes) -> UInt8:
    """Return the pixels of a picture's file, RGB (H, W, 3).

    Raises:
        ParameterError: If it is cut or no picture.
    """
    from PIL import Image

    try:
        return np.asarray(Image.open(io.BytesIO(file)).convert('RGB'))
    except (OSError, SyntaxError, ValueError) as error:
        raise ParameterError(f'a picture of {len(file)} bytes is cut or none: {error}') from None
