"""The columns of a dataset, from the contract: names, types and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.recording.lerobot import layout
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.steps import RecordedEpisode
from structrl_ros.recording.lerobot.videos import video_info
from structrl_ros.recording.lerobot.writer import Words
from structrl_ros.types import SOURCES

#: Names of the entries of an action by action space. `ee_delta_pose`: translations (1 = 0.05 m),
#: rotations (1 = 0.5 rad), both in the base frame, and the gripper (-1 open, +1 close).
ACTION_NAMES: Mapping[str, tuple[str, ...]] = {
    'ee_delta_pose': ('dx', 'dy', 'dz', 'drx', 'dry', 'drz', 'gripper')
}
#: Key in `info.json` with what LeRobot has no place for.
OWN_KEY = 'structrl'

MEANINGS = {
    layout.STATE_KEY: 'joints (rad or m), two fingers (m), end effector: position (m) and '
    'quaternion xyzw in the base frame',
    layout.ACTION_KEY: 'what was executed, after all limits',
    layout.REWARD_KEY: "the ledger's payment for a chunk, at its last step",
    layout.DONE_KEY: 'the episode ended with this step',
    layout.TRUNCATED_KEY: 'it ended by the horizon or an abort',
    layout.SUCCESS_KEY: 'the task was fulfilled with this step',
    layout.SUBTASK_KEY: 'what was pursued; row of meta/subtasks.parquet',
    layout.STAGE_KEY: 'stage of that subtask in the plan, -1: none',
    layout.INTERVENTION_KEY: 'an operator acted in this step',
    layout.ACTOR_KEY: f'source of the chunk: index of {", ".join(SOURCES)}; -1 unknown',
    layout.CHUNK_KEY: "the body's count of chunks, from 1",
    layout.TIME_KEY: "when the step began on the body's clock, from the start of the episode",
    layout.OBSERVED_KEY: 'when each observation was made, the same way',
}


def contract_features(
    state_names: tuple[str, ...],
    action_space: str,
    action_size: int,
    pictures: Mapping[str, tuple[int, int]],
    *,
    video: bool,
    fps: int,
    codec: str,
) -> dict[str, Feature]:
    """Return the features of a dataset made of bags.

    Args:
        state_names: Of the entries of the state.
        action_space: Of the chunks.
        action_size: Entries of an action.
        pictures: Camera role -> height and width.
        video: Pictures become a video each camera; else PNG files in the table.
        fps: Frames a second.
        codec: Of the videos.
    """
    names = ACTION_NAMES.get(action_space, ())
    names = names if len(names) == action_size else tuple(f'a{i}' for i in range(action_size))
    found = {
        layout.STATE_KEY: Feature('float32', (len(state_names),), state_names),
        layout.ACTION_KEY: Feature('float32', (action_size,), names),
    }
    for role, (height, width) in pictures.items():
        info = video_info(width, height, fps, codec) if video else None
        kind, names = 'video' if video else 'image', ('height', 'width', 'channels')
        found[layout.IMAGE_PREFIX + role] = Feature(kind, (height, width, 3), names, info)
    found[layout.REWARD_KEY] = Feature('float64', (1,))
    flags = (layout.DONE_KEY, layout.TRUNCATED_KEY, layout.SUCCESS_KEY, layout.INTERVENTION_KEY)
    found |= {key: Feature('bool', (1,)) for key in flags}
    counts = (layout.SUBTASK_KEY, layout.STAGE_KEY, layout.ACTOR_KEY, layout.CHUNK_KEY)
    found |= {key: Feature('int64', (1,)) for key in (*counts, layout.TIME_KEY)}
    observed = ('joint_states', 'ee_pose', *pictures)
    found[layout.OBSERVED_KEY] = Feature('int64', (len(observed),), observed)
    return found


def episode_columns(episode: RecordedEpisode, subtasks: Words) -> dict[str, NDArray[Any]]:
    """Return the columns of an episode, but for pictures and standard ones.

    Args:
        episode: With T steps.
        subtasks: Where phrases get their numbers.
    """
    steps, start_ns = episode.steps, episode.start.stamp_ns
    phrases = [subtasks.number(phrase) for phrase in steps.subtask]
    return {
        layout.STATE_KEY: steps.state,
        layout.ACTION_KEY: steps.action,
        layout.REWARD_KEY: steps.reward,
        layout.DONE_KEY: steps.terminated | steps.truncated,
        layout.TRUNCATED_KEY: steps.truncated,
        layout.SUCCESS_KEY: steps.success,
        layout.INTERVENTION_KEY: steps.intervention,
        layout.SUBTASK_KEY: np.array(phrases, dtype=np.int64),
        layout.STAGE_KEY: steps.stage,
        layout.ACTOR_KEY: steps.actor,
        layout.CHUNK_KEY: steps.chunk,
        layout.TIME_KEY: steps.begin - start_ns,
        layout.OBSERVED_KEY: steps.observed - start_ns,
    }
