"""Rollouts with true failure events: a policy plays watched tabletop bodies."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.sim.events.reviewer import chunk_of_moments
from structrl_ros.sim.events.reviewer import review_track
from structrl_ros.sim.events.track import read_track
from structrl_ros.sim.events.watcher import STATE_NAMES
from structrl_ros.sim.events.watcher import WatchedTabletop
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.training.collecting import collect
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.event_episode import label_fields
from structrl_ros.training.event_episode import split_of
from structrl_ros.training.lanes import LaneWorld
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.world_types import EpisodeStart

#: Bodies side by side, and the episodes whose states are held at once.
_LANES = 8
_TOGETHER = 32
#: Beginning of the entropy of scenes; practice and evaluations draw from others.
_EVENTS = 17


def event_scenes(task: str, count: int, seed: int) -> tuple[EpisodeStart, ...]:
    """Return scenes of a task that no practice or evaluation draws, the first ones the same."""
    words = list(task.encode())
    seeds = np.random.default_rng([_EVENTS, seed, *words]).integers(0, 2**31, count)
    return tuple(EpisodeStart(task, int(scene), 0) for scene in seeds.tolist())


def play_events(
    policy: ChunkPolicy,
    name: str,
    starts: Sequence[EpisodeStart],
    *,
    calibration_offset: float,
    seed: int,
    explore: bool,
    image_size: int,
) -> Iterator[EventEpisode]:
    """Play episodes and yield them with their labels, in order.

    Args:
        policy: Who plays.
        name: What the set calls it.
        starts: Scenes.
        calibration_offset: Of what the policy perceives, m.
        seed: Of the policy's noise.
        explore: Whether it explores, as in practice.
        image_size: Of pictures that are drawn later.

    Raises:
        ParameterError: If the policy sees other features than the tabletop tells.
        SimulationError: If the simulator fails.
    """
    bodies = [
        WatchedTabletop(calibration_offset=calibration_offset, image_size=image_size)
        for _ in range(min(_LANES, len(starts)))
    ]
    world = LaneWorld(bodies)
    if policy.config.feature_names != world.spec.feature_names:
        world.close()
        raise ParameterError(
            f'policy {name} sees {len(policy.config.feature_names)} features; allowed: one of the '
            f'body tabletop, which tells {len(world.spec.feature_names)}'
        )
    try:
        for begin in range(0, len(starts), _TOGETHER):
            for body in bodies:
                body.clear()
            part = starts[begin : begin + _TOGETHER]
            played = collect(
                policy, world, part, seed=seed, iteration=begin, explore=explore, batch=_LANES
            )
            for number in range(len(part)):
                kept = bodies[number % len(bodies)].kept[number // len(bodies)]
                yield _episode(played, number, kept, name, calibration_offset)
    finally:
        world.close()


def _episode(
    played: Rollouts, number: int, kept: tuple[list[Any], list[Any]], name: str, offset: float
) -> EventEpisode:
    """Return one episode with its label, which sees every control period."""
    start, task = played.starts[number], played.tasks[number]
    steps = played.steps[number, : played.lengths[number]].tolist()
    vectors, states = kept
    track = read_track(
        find_task(start.task), np.array(vectors), STATE_NAMES, chunk_of_moments(steps)
    )
    boundaries = [0, *np.cumsum(steps).tolist()]
    fields: dict[str, Any] = label_fields(review_track(track))
    return EventEpisode(
        id=f'{start.task}-{start.seed}-{name}-{offset:g}',
        split=split_of(start.task, start.seed, start.initial_state),
        task=start.task,
        instruction=task.instruction,
        policy=name,
        calibration_offset=offset,
        seed=start.seed,
        initial_state=start.initial_state,
        steps=tuple(steps),
        success=bool(played.success[number]),
        states=tuple(tuple(vectors[b].tolist()) for b in boundaries),
        simulator_states=tuple(tuple(states[b].tolist()) for b in boundaries),
        **fields,
    )
