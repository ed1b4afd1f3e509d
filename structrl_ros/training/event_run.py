"""Making of a corpus of failure events: parts are played, drawn, and put into splits."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.training.event_episode import SPLITS
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.event_pictures import Drawer
from structrl_ros.training.event_pictures import with_pictures
from structrl_ros.training.event_pictures import with_potential
from structrl_ros.training.event_play import event_scenes
from structrl_ros.training.event_play import play_events
from structrl_ros.training.event_set import claim_set
from structrl_ros.training.event_set import part_path
from structrl_ros.training.event_set import write_rows
from structrl_ros.training.event_set import write_splits
from structrl_ros.training.shaping_run import ask_grm
from structrl_ros.training.start_policy import load_start

#: Is told of each part: its name, and how many episodes it has.
Tell = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """What one run adds to a set.

    Attributes:
        out: Folder of the set.
        policy: Folder of a checkpoint, or of a run.
        name: What the set calls it.
        tasks: Of the tabletop.
        scenes: Of each task; the first ones are the same for every policy.
        offsets: Calibration offsets, m; each plays all scenes.
        explore: Whether the policy explores.
        seed: Of scenes and noise, one a set.
        roles: Cameras of pictures.
        frames: Pictures of each camera and rollout; 0 draws none.
        size_px: Of pictures.
        grm: Progress model that is asked of the failures in `grm_splits`; '' is none.
        grm_splits: Splits whose failures get potentials.
    """

    out: Path
    policy: str
    name: str
    tasks: tuple[str, ...]
    scenes: int
    offsets: tuple[float, ...]
    explore: bool = True
    seed: int = 0
    roles: tuple[str, ...] = ('head',)
    frames: int = 0
    size_px: int = 96
    grm: str = ''
    grm_splits: tuple[str, ...] = SPLITS[1:]

    def __post_init__(self) -> None:
        """Refuse names that are none.

        Raises:
            ParameterError: If something is outside its range.
            SimulationError: If a task is unknown.
        """
        if not re.fullmatch(r'[A-Za-z0-9_.]{1,40}', self.name):
            raise ParameterError(f'name {self.name!r}; allowed: letters, digits, _ and . (40)')
        if self.frames == 1 or self.scenes < 1 or not self.tasks or not self.offsets:
            raise ParameterError(
                f'{self.frames} frames, {self.scenes} scenes, tasks {self.tasks}, offsets '
                f'{self.offsets}; allowed: 0 frames or 2 and more, 1 of the others or more'
            )
        for task in self.tasks:
            find_task(task)


def make_events(request: EventRequest, tell: Tell) -> list[EventEpisode]:
    """Play what is not there yet, write the splits, and return all episodes of the set.

    A part that is whole is not played again, so a run that was stopped goes on.

    Raises:
        StructRLError: If the policy, the set or the simulator fails.
    """
    kept = ('seed', 'roles', 'frames', 'size_px', 'grm', 'grm_splits')
    settings = {name: _plain(getattr(request, name)) for name in kept}
    claim_set(request.out, settings)
    policy = None
    for offset in request.offsets:
        for task in request.tasks:
            name = f'{request.name}-{offset:g}-{task}-{request.scenes}'
            path = part_path(request.out, name)
            if path.is_file():
                continue
            policy = load_start(request.policy) if policy is None else policy
            episodes = list(
                play_events(
                    policy,
                    request.name,
                    event_scenes(task, request.scenes, request.seed),
                    calibration_offset=offset,
                    seed=request.seed,
                    explore=request.explore,
                    image_size=request.size_px,
                )
            )
            write_rows(path, _shown(episodes, request))
            tell(name, len(episodes))
    return write_splits(request.out)


def _shown(episodes: Sequence[EventEpisode], request: EventRequest) -> list[EventEpisode]:
    """Return the episodes with the pictures and potentials that are wanted."""
    if not request.frames and not request.grm:
        return list(episodes)
    drawer, found = Drawer(request.size_px), []
    try:
        for episode in episodes:
            shown = episode
            if request.frames:
                shown = with_pictures(shown, drawer, request.roles, request.frames)
            if request.grm and not episode.success and episode.split in request.grm_splits:
                asked = ask_grm(request.grm, episode.instruction)
                shown = with_potential(shown, drawer, asked, ('head', 'left_wrist'))
            found.append(shown)
    finally:
        drawer.close()
    return found


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
