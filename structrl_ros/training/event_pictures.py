"""Pictures and potentials of rollouts that were kept as states: drawn when they are wanted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from structrl_ros.progress.estimate import Estimate
from structrl_ros.progress.views import Views
from structrl_ros.progress.views import make_views
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.grm_potential import AskedGrm
from structrl_ros.training.leap_episode import picture_file
from structrl_ros.training.shaping_run import demonstrated_goal
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

#: Scene of the demonstration whose last frame is the goal.
_GOAL_SEED = 0


class Drawer:
    """Draws boundaries of episodes; one scene at a time, in the thread that made it."""

    def __init__(self, image_size: int) -> None:
        """Prepare; `image_size` in pixels."""
        self._body = TabletopBody(image_size=image_size)
        self._goals: dict[tuple[str, int], Views] = {}

    def pictures(
        self, episode: EventEpisode, boundaries: Sequence[int], roles: Sequence[str]
    ) -> Iterator[list[UInt8]]:
        """Yield the pictures of all roles at each boundary.

        Raises:
            SimulationError: If a state is of another version of the task.
        """
        self._body.reset(episode.task, episode.seed, episode.initial_state)
        for boundary in boundaries:
            self._body.set_simulator_state(np.array(episode.simulator_states[boundary]))
            yield [self._body.render(role) for role in roles]

    def goal(self, task: str, view_px: int) -> Views:
        """Return what is seen at the end of a demonstration.

        Raises:
            TrainingError: If no demonstration succeeds.
        """
        if (task, view_px) not in self._goals:
            found = demonstrated_goal(self._body, task, _GOAL_SEED, view_px)
            self._goals[task, view_px] = found
        return self._goals[task, view_px]

    def close(self) -> None:
        """Free the scene."""
        self._body.close()


def with_pictures(
    episode: EventEpisode, drawer: Drawer, roles: Sequence[str], frames: int
) -> EventEpisode:
    """Return the episode with frames, evenly over it and both ends among them."""
    last = episode.chunks
    spread = np.linspace(0, last, min(frames, last + 1)).round().astype(int)
    boundaries = np.unique(spread).tolist()
    files = [
        picture_file(picture, 'jpeg')
        for moment in drawer.pictures(episode, boundaries, roles)
        for picture in moment
    ]
    return dataclasses.replace(
        episode, roles=tuple(roles), frame_chunks=tuple(boundaries), images=tuple(files)
    )


def with_potential(
    episode: EventEpisode, drawer: Drawer, asked: AskedGrm, roles: Sequence[str]
) -> EventEpisode:
    """Return the episode with the GRM's potential and gate at every boundary (Eq. 12 to 17)."""
    estimate = Estimate(asked.layout, drawer.goal(episode.task, asked.view_px))
    potential: list[float] = [0.0]
    gate: list[bool] = [False]
    shown = drawer.pictures(episode, range(episode.chunks + 1), roles)
    for boundary, moment in enumerate(shown):
        pictures = dict(zip(roles, moment, strict=True))
        estimate.observe(boundary, make_views(pictures, asked.view_px))
        if boundary:
            answers: Float64 = asked.model.hops(estimate.queries())
            estimate.take(answers)
            potential.append(estimate.potential)
            gate.append(estimate.negative_branch)
    return dataclasses.replace(episode, potential=tuple(potential), negative_branch=tuple(gate))
