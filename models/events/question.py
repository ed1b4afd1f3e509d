"""What a vision-language model is asked about a failed rollout (MART-GRPO, Section E.1)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.questions import text_part
from structrl_ros.types import FailedRollout
from structrl_ros.types import JsonObject
from structrl_ros.types import UInt8

PROMPT = 'event_v1'


def shown_frames(rollout: FailedRollout, most: int) -> list[int]:
    """Return the numbers of the frames that are shown: evenly over the rollout, both ends too.

    Raises:
        ParameterError: If the rollout has no pictures, or less than two may be shown.
    """
    if most < 2:
        raise ParameterError(f'frames: {most}; allowed: 2 and more')
    count = len(rollout.frame_chunks)
    if not count or not rollout.views:
        raise ParameterError(
            f'a rollout of {rollout.task!r} without pictures; a vision-language model needs some'
        )
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int)).tolist()


def event_messages(
    rollout: FailedRollout,
    prompt: str,
    frames: Sequence[int],
    roles: Sequence[str],
    picture: Callable[[UInt8], JsonObject],
) -> tuple[list[JsonObject], list[UInt8]]:
    """Return the conversation that asks for a review, and its pictures in order.

    Args:
        rollout: What is reviewed.
        prompt: Text of the system's message.
        frames: Numbers of the frames to show.
        roles: Cameras.
        picture: Turns a picture into a part of a message.

    Raises:
        ParameterError: If a camera's pictures are missing.
    """
    missing = [role for role in roles if role not in rollout.views]
    if missing:
        have = ', '.join(rollout.views) or 'none'
        raise ParameterError(f'no pictures of camera {missing[0]!r}; the rollout has {have}')
    parts = [
        text_part(
            f'Instruction: {rollout.instruction}\nChunks: 1 to {rollout.chunks}. '
            f'Frames: 0 to {len(rollout.frame_chunks) - 1}.'
        )
    ]
    pictures: list[UInt8] = []
    for frame in frames:
        parts.append(text_part(_caption(rollout, frame)))
        for role in roles:
            pictures.append(rollout.views[role][frame])
            parts.append(picture(pictures[-1]))
    return [{'role': 'system', 'content': prompt}, {'role': 'user', 'content': parts}], pictures


def _caption(rollout: FailedRollout, frame: int) -> str:
    chunk = rollout.frame_chunks[frame]
    line = f'\nFrame {frame}, ' + (f'after chunk {chunk}' if chunk else 'at the start')
    if chunk < len(rollout.proprioception):
        x, y, z, _, opening = rollout.proprioception[chunk].tolist()
        line += f'; tool at {x:.2f} {y:.2f} {z:.2f} m, hand {opening:.1f} open'
    return f'{line}:'
