"""A recorded demonstration of which skills and moments are known, as an episode of skills."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.errors import TrainingError
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_episode import pick_middles
from structrl_ros.training.leap_simulated import FrameSettings

#: By name an episode, or the line that says why it is left out.
Cut = Iterator[tuple[str, SkillEpisode | str]]

#: Gives the key frames of ascending moments.
Frames = Callable[[Sequence[int]], Mapping[int, KeyFrame]]

#: Licence of a recording that tells none.
UNKNOWN_LICENCE = 'of the recording, yours to say'


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is known of a demonstration but its pictures; fields as in `SkillEpisode`."""

    name: str
    source: str
    body: str
    task: str
    seed: int
    initial_state: int
    instruction: str
    objects: tuple[str, ...]
    phrases: tuple[str, ...]
    moments: tuple[int, ...]
    licence: str


def add_frames(recording: Recording, frames: Frames, settings: FrameSettings) -> SkillEpisode:
    """Return the episode; without a list of things the scene is what its skills name.

    Raises:
        TrainingError: If a phrase is no skill of the grammar.
    """
    try:
        steps = [parse_phrase(phrase) for phrase in recording.phrases]
    except PlanSyntaxError as error:
        raise TrainingError(str(error)) from None
    named = dict.fromkeys(thing for step in steps for thing in step.objects)
    middles = pick_middles(recording.moments, settings.seed, recording.name)
    found = frames(sorted({*recording.moments, *(m for m in middles if m >= 0)}))
    return SkillEpisode(
        name=recording.name,
        source=recording.source,
        body=recording.body,
        task=recording.task,
        seed=recording.seed,
        initial_state=recording.initial_state,
        instruction=recording.instruction,
        objects=recording.objects or tuple(named),
        phrases=recording.phrases,
        roles=settings.roles,
        moments=recording.moments,
        boundaries=tuple(found[moment] for moment in recording.moments),
        middles=middles,
        middle_frames=tuple(found[m] if m >= 0 else () for m in middles),
        licence=recording.licence,
    )


def recording_name(path: Path) -> str:
    """Return a name for a folder: its own, and that above it for a run's bag."""
    path = path.resolve()
    words = f'{path.parent.name}-{path.name}' if path.name == 'bag' else path.name
    return re.sub(r'[^A-Za-z0-9.]+', '_', words)
