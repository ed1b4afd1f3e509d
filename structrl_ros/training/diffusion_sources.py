"""Picture chunks from files: our own, and the episodes of LeRobot data sets.

Of a LeRobot v3.0 data set whose state is the contract's (what `structrl export lerobot` writes of
bags), the arm's own state is read; of others nothing but pictures, sentences and actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import DatasetError
from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
from structrl_ros.models.policies.proprioception import arm_vector
from structrl_ros.recording.lerobot.layout import ACTION_KEY
from structrl_ros.recording.lerobot.layout import IMAGE_PREFIX
from structrl_ros.recording.lerobot.layout import STATE_KEY
from structrl_ros.recording.lerobot.reader import DatasetEpisode
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.training.diffusion_chunks import PictureChunks
from structrl_ros.training.diffusion_chunks import join_chunks
from structrl_ros.training.diffusion_chunks import load_chunks
from structrl_ros.types import Float32
from structrl_ros.types import Proprioception

#: Numbers of an action in `ee_delta_pose`.
_BODY_DIMENSION = 7
#: The last entries of the contract's state: two fingers, and the pose of the end effector.
_TAIL = 9


def read_sources(
    paths: Sequence[Path], *, roles: Sequence[str], chunk_length: int, every: int
) -> PictureChunks:
    """Return the chunks of files, of folders of files, and of LeRobot data sets.

    Args:
        paths: Each a file of `save_chunks`, a folder of them, or a LeRobot v3.0 data set.
        roles: Cameras, of data sets.
        chunk_length: L, of data sets.
        every: Steps from one chunk to the next, of data sets.

    Raises:
        DatasetError: If one is none of that, has other cameras or actions, or is cut.
        CheckpointError: If a file is cut.
        ParameterError: If they do not fit together.
    """
    parts: list[PictureChunks] = []
    for path in paths:
        if (path / 'meta' / 'info.json').is_file():
            parts += _of_dataset(path, roles, chunk_length, every)
            continue
        files = [path] if path.is_file() else sorted(path.glob('*.safetensors'))
        if not files:
            raise DatasetError(
                f'{path} holds nothing to imitate; allowed: what structrl data demonstrations '
                'made, or a LeRobot v3.0 data set (structrl export lerobot makes one of bags)'
            )
        parts += [load_chunks(file) for file in files]
    return join_chunks(parts)


def _of_dataset(
    root: Path, roles: Sequence[str], chunk_length: int, every: int
) -> list[PictureChunks]:
    reader = DatasetReader(root)
    missing = [role for role in roles if IMAGE_PREFIX + role not in reader.info.cameras]
    if missing:
        have = ', '.join(reader.info.cameras) or 'none'
        raise DatasetError(f'{root} has no {IMAGE_PREFIX}{missing[0]}; it has {have}')
    action = reader.info.features.get(ACTION_KEY)
    if action is None or action.shape != (_BODY_DIMENSION,):
        raise DatasetError(
            f'{root}: {ACTION_KEY} is {None if action is None else action.shape}; allowed: '
            'seven numbers, ee_delta_pose'
        )
    parts = [
        _of_episode(root, episode, roles, chunk_length, every)
        for episode in reader.episodes()
        if episode.origin.get('success', True)
    ]
    if not parts:
        raise DatasetError(f'{root}: no episode of it ended with success')
    return parts


def _of_episode(
    root: Path, episode: DatasetEpisode, roles: Sequence[str], chunk_length: int, every: int
) -> PictureChunks:
    steps = len(episode)
    phrases = np.array(episode.subtasks or [episode.task] * steps)
    at = np.array([i for i in range(0, steps, every) if phrases[i]])
    rows = at[:, None] + np.arange(chunk_length)
    inside = np.minimum(rows, steps - 1)
    sentences = tuple(dict.fromkeys(phrases[at].tolist()))
    wanted = set(at.tolist())
    images = {
        role: np.stack(
            [p for i, p in enumerate(episode.pictures[IMAGE_PREFIX + role]()) if i in wanted]
        )
        for role in roles
    }
    features, names = _features(episode.columns.get(STATE_KEY), at)
    return PictureChunks(
        features=features,
        actions=np.asarray(episode.columns[ACTION_KEY], dtype=np.float32)[inside],
        valid=(rows < steps) & (phrases[inside] == phrases[at][:, None]),
        sentence=np.array([sentences.index(p) for p in phrases[at].tolist()], dtype=np.int64),
        targets=np.full((len(at), 3), np.nan, dtype=np.float32),
        sentences=sentences,
        feature_names=names,
        images=images,
        origin=f'LeRobot data set {root.name}',
    )


def _features(state: Any, at: Any) -> tuple[Float32, tuple[str, ...]]:
    """Return the arm's own state, if the data set has that of the contract."""
    if state is None or state.ndim != 2 or state.shape[1] < _TAIL:
        return np.zeros((len(at), 0), dtype=np.float32), ()
    tails = state[at, -_TAIL:]
    return np.stack([_arm(tail) for tail in tails]), PROPRIOCEPTION


def _arm(tail: Any) -> Float32:
    nothing = np.zeros(0)
    arm = Proprioception(
        stamp_ns=0,
        joint_names=(),
        joint_positions=nothing,
        joint_velocities=nothing,
        ee_pose=tail[2:],
        gripper=tail[:2],
    )
    return arm_vector(arm)
