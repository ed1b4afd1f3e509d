"""Worlds and demonstrators of a body by its name, in this process or in a pool of processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any
from typing import Protocol

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.ports import Body
from structrl_ros.ports import StateBody
from structrl_ros.ports import VectorWorld
from structrl_ros.sim.registry import BODIES
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.demonstrating import ExpertWorld
from structrl_ros.training.demonstrating import WorldDemonstrator
from structrl_ros.training.lanes import LaneWorld
from structrl_ros.training.planned_demonstrator import PlannedDemonstrator
from structrl_ros.training.pool_world import PoolWorld
from structrl_ros.training.selected_features import select_features
from structrl_ros.types import Float32

#: Bodies that are arrays over all lanes by themselves.
VECTORISED = ('twin',)
_TWIN_OPTIONS = (
    'image_size',
    'horizon_steps',
    'checkpoints',
    *(setting.name for setting in fields(TwinSettings)),
)
#: Lanes of a demonstrator that steps its bodies one after another.
_LANES = 8


def world_maker(
    body: str,
    *,
    environments: int,
    workers: int = 0,
    options: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] = (),
) -> MakeWorld:
    """Return what makes the worlds of a body.

    Args:
        body: Name in the registry of bodies.
        environments: Lanes.
        workers: Processes; 1: this one, 0: as many as there are cores. The twin, which is one
            array over its lanes, always stays in this one.
        options: Of the body.
        feature_names: Features that the policy sees; none: all.

    Raises:
        ParameterError: If there is no body of the name.
    """
    if body not in BODIES:
        raise ParameterError(f'unknown body {body!r}; known: {", ".join(BODIES)}')
    own = dict(options or {})
    processes = min(workers or len(os.sched_getaffinity(0)), environments)
    make: Callable[[], VectorWorld]
    if body in VECTORISED:
        make = partial(_make_twin, environments, own)
    elif processes > 1:
        make = partial(_make_pool, body, environments, processes, own)
    else:
        make = partial(_make_lanes, body, environments, own)
    return partial(_make_seen, make, tuple(feature_names)) if feature_names else make


def make_demonstrator(
    body: str,
    tasks: Sequence[str],
    *,
    initial_states: int = 1,
    roles: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    feature_names: Sequence[str] = (),
) -> WorldDemonstrator | PlannedDemonstrator:
    """Return the scripted expert of a body, for `train_sft`; close it afterwards.

    Args:
        body: Name in the registry of bodies.
        tasks: What is to be shown.
        initial_states: Of each task, to draw from.
        roles: Cameras whose pictures are kept.
        options: Of the body.
        feature_names: Features that the policy sees; none: all.
    """
    own = dict(options or {})
    if body in VECTORISED:
        world: ExpertWorld = _make_twin(64, own)
    elif body == 'tabletop':
        world = ExpertLanes([_state_body(body, own) for _ in range(_LANES)])
    else:
        made = _state_body(body, own)
        return PlannedDemonstrator(
            made, tasks, initial_states=initial_states, roles=roles, feature_names=feature_names
        )
    seen: ExpertWorld = select_features(world, feature_names)
    return WorldDemonstrator(seen, tasks, initial_states=initial_states, roles=roles)


class ViewedBody(StateBody, Protocol):
    """A body of the tabletop, that an expert can look into."""

    @property
    def task(self) -> Task:
        """What is played."""

    @property
    def view(self) -> WorldView:
        """What there is to see now, one lane."""


class ExpertLanes(LaneWorld):
    """Lanes of tabletop bodies that ask the scripted expert at every step."""

    def __init__(self, bodies: Sequence[ViewedBody]) -> None:
        """Take bodies without scenes."""
        super().__init__(bodies)
        self._viewed = tuple(bodies)

    def expert_actions(self) -> Float32:
        """Return what the expert would do now, (B, 7); zero in lanes without a scene."""
        actions = np.zeros((self.spec.lanes, 7), dtype=np.float32)
        for lane, body in enumerate(self._viewed):
            if self.tasks[lane] is not None:
                actions[lane] = to_body(expert_moves(body.view, body.task))[0]
        return actions


def _make_seen(make: Callable[[], VectorWorld], names: Sequence[str]) -> VectorWorld:
    seen: VectorWorld = select_features(make(), names)
    return seen


def _make_twin(environments: int, options: Mapping[str, Any]) -> TwinWorld:
    try:
        return TwinWorld(environments, **options)
    except TypeError as error:
        reason = str(error).rpartition('() ')[2]
        raise ParameterError(
            f'option of body twin: {reason}; allowed: {", ".join(_TWIN_OPTIONS)}'
        ) from None


def _make_lanes(body: str, environments: int, options: Mapping[str, Any]) -> VectorWorld:
    return LaneWorld([_state_body(body, options) for _ in range(environments)])


def _make_pool(
    body: str, environments: int, processes: int, options: Mapping[str, Any]
) -> VectorWorld:
    make = partial(_state_body, body, options)
    return PoolWorld(make, lanes=environments, workers=processes)


def _state_body(body: str, options: Mapping[str, Any]) -> Any:
    made: Body = make_body(body, **options)
    if not isinstance(made, StateBody):
        raise ParameterError(f'body {body!r} tells no state vector; no policy can practise on it')
    return made
