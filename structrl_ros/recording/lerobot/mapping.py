"""From the names of any LeRobot dataset to those of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.lerobot import layout
from structrl_ros.recording.lerobot.demonstration import Demonstration
from structrl_ros.recording.lerobot.features import ACTION_NAMES
from structrl_ros.recording.lerobot.features import OWN_KEY
from structrl_ros.recording.lerobot.layout import Info
from structrl_ros.recording.lerobot.reader import DatasetEpisode
from structrl_ros.types import ROLES

_KEYS = {
    'state': layout.STATE_KEY,
    'action': layout.ACTION_KEY,
    'reward': layout.REWARD_KEY,
    'done': layout.DONE_KEY,
    'success': layout.SUCCESS_KEY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureMap:
    """How a dataset is read.

    Attributes:
        keys: Name of the contract (state, action, reward, done, success, a role) -> feature.
        state_names: Of the entries of the state; () takes the dataset's.
        action_space: Of the actions; '' takes the dataset's, which only ours tell.
        gripper: Values of the last entry of an action that mean open and closed.
        chunk_length: Steps of a chunk where the dataset has no chunks.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    state_names: tuple[str, ...] = ()
    action_space: str = ''
    gripper: tuple[float, float] = (-1.0, 1.0)
    chunk_length: int = 8

    def __post_init__(self) -> None:
        """Refuse what is not allowed.

        Raises:
            ParameterError: Saying what is.
        """
        allowed = (*_KEYS, *ROLES)
        if unknown := sorted(set(self.keys) - set(allowed)):
            raise ParameterError(f'map {", ".join(unknown)}; allowed: {", ".join(allowed)}')
        if self.gripper[0] == self.gripper[1]:
            raise ParameterError(f'gripper {self.gripper[0]:g} for open and closed; allowed: two')
        if self.chunk_length < 1:
            raise ParameterError(f'chunk length {self.chunk_length}; allowed: 1 and more')

    def key(self, name: str) -> str:
        """Return the feature that stands for something of the contract."""
        own = _KEYS.get(name, layout.IMAGE_PREFIX + name)
        return self.keys.get(name, own)


def action_space(info: Info, how: FeatureMap) -> str:
    """Return the action space of a dataset.

    Raises:
        DatasetError: If nobody tells it, or the actions are of another size.
    """
    own = info.document.get(OWN_KEY)
    told = own.get('action_space', '') if isinstance(own, dict) else ''
    space = how.action_space or str(told)
    if not space:
        raise DatasetError(
            'the dataset does not tell its action space; give --action-space '
            f'({", ".join(ACTION_NAMES)})'
        )
    size = _feature(info, how.key('action')).shape
    expected = ACTION_NAMES.get(space)
    if expected and size != (len(expected),):
        raise DatasetError(f'action has shape {size}; {space}: ({len(expected)},)')
    return space


def state_names(info: Info, how: FeatureMap) -> tuple[str, ...]:
    """Return the names of the entries of the state.

    Raises:
        DatasetError: If there are none, or more or fewer than entries.
    """
    feature = _feature(info, how.key('state'))
    names = how.state_names or feature.names or ()
    if (len(names),) != feature.shape:
        got = ', '.join(names) or 'none'
        raise DatasetError(
            f'{how.key("state")} has {feature.shape[0]} entries and the names {got}; '
            'allowed: one each (--state-names)'
        )
    return names


def camera_roles(info: Info, how: FeatureMap) -> tuple[str, ...]:
    """Return the roles that the dataset has pictures of.

    Raises:
        DatasetError: If a feature that a role is mapped to has none.
    """
    for role in ROLES:
        key = how.keys.get(role)
        if key is not None and key not in info.cameras:
            have = ', '.join(info.cameras) or 'none'
            raise DatasetError(f'{role} is mapped to {key}; pictures of the dataset: {have}')
    return tuple(role for role in ROLES if how.key(role) in info.cameras)


def demonstration(episode: DatasetEpisode, info: Info, how: FeatureMap) -> Demonstration:
    """Return an episode in the terms of the contract.

    Raises:
        DatasetError: If a feature is missing or not finite.
    """
    columns, length = episode.columns, len(episode)
    roles = camera_roles(info, how)
    begin = columns.get(layout.TIME_KEY)
    if begin is None:
        begin = np.round(np.arange(length) * 1e9 / info.fps).astype(np.int64)
    observed = _observed(columns, info, roles)
    if observed is None:
        observed = np.repeat(begin[:, None], 2 + len(roles), axis=1)
    chunk = columns.get(layout.CHUNK_KEY)
    if chunk is None:
        chunk = 1 + np.arange(length) // how.chunk_length
    success = _flags(columns, how.key('success'), length)
    done = _flags(columns, how.key('done'), length)
    if how.key('done') not in columns:
        done[-1] = True
    truncated = columns.get(layout.TRUNCATED_KEY)
    reward = columns.get(how.key('reward'))
    return Demonstration(
        task=episode.task,
        state=_rows(columns, how.key('state'), episode).astype(np.float64),
        action=_actions(_rows(columns, how.key('action'), episode), how.gripper),
        pictures={role: episode.pictures[how.key(role)] for role in roles},
        reward=None if reward is None else reward.reshape(length).astype(np.float64),
        done=done,
        truncated=done & ~success if truncated is None else truncated,
        success=success,
        intervention=_flags(columns, layout.INTERVENTION_KEY, length),
        begin_ns=begin,
        observed_ns=observed,
        chunk=chunk,
        subtask=_subtasks(episode),
        origin=episode.origin,
    )


def _feature(info: Info, key: str) -> layout.Feature:
    if key not in info.features:
        known = ', '.join(info.features)
        raise DatasetError(f'the dataset has no {key}; it has {known} (--map NAME=FEATURE)')
    return info.features[key]


def _rows(columns: Mapping[str, NDArray[Any]], key: str, episode: DatasetEpisode) -> NDArray[Any]:
    rows = columns[key].reshape(len(episode), -1)
    if not np.isfinite(rows).all():
        at = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DatasetError(f'episode {episode.number}, frame {at}: {key} is not finite')
    return rows


def _actions(actions: NDArray[Any], gripper: tuple[float, float]) -> NDArray[np.float32]:
    """Return actions whose gripper is -1 open and 1 closed."""
    found = actions.astype(np.float32)
    if gripper != (-1.0, 1.0):
        opened, closed = gripper
        found[:, -1] = 2.0 * (found[:, -1] - opened) / (closed - opened) - 1.0
    return found


def _observed(
    columns: Mapping[str, NDArray[Any]], info: Info, roles: tuple[str, ...]
) -> NDArray[np.int64] | None:
    """Return when joint_states, ee_pose and the roles were observed, None if nobody tells."""
    if layout.OBSERVED_KEY not in columns:
        return None
    names = info.features[layout.OBSERVED_KEY].names or ()
    wanted = ('joint_states', 'ee_pose', *roles)
    if any(name not in names for name in wanted):
        return None
    return np.array(columns[layout.OBSERVED_KEY][:, [names.index(n) for n in wanted]])


def _flags(columns: Mapping[str, NDArray[Any]], key: str, length: int) -> NDArray[np.bool_]:
    values = columns.get(key)
    if values is None:
        return np.zeros(length, dtype=bool)
    return np.array(values.reshape(length) != 0)


def _subtasks(episode: DatasetEpisode) -> tuple[str, ...]:
    """Return the ids that the bag had, else the phrases."""
    changes: Sequence[Any] = episode.origin.get('subtask_ids', ())
    if not changes:
        return episode.subtasks
    found = [''] * len(episode)
    for step, name in changes:
        found[step:] = [str(name)] * (len(episode) - step)
    return tuple(found)
