"""From demonstrations to a LEAP set: record what is missing, compose, split, write.

Demonstrations are kept one file each, so a run that was stopped goes on where it was; the parquet
files and the card are there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.training.leap_card import SetReport
from structrl_ros.training.leap_card import write_card
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_rows import RowSettings
from structrl_ros.training.leap_rows import drop_leaks
from structrl_ros.training.leap_rows import make_rows
from structrl_ros.training.leap_set import write_split
from structrl_ros.training.leap_simulated import FrameSettings
from structrl_ros.training.leap_simulated import SkillRecorder
from structrl_ros.training.leap_simulated import episode_name
from structrl_ros.training.leap_split import split_episodes
from structrl_ros.training.leap_store import claim_folder
from structrl_ros.training.leap_store import episode_path
from structrl_ros.training.leap_store import load_episodes
from structrl_ros.training.leap_store import save_episode
from structrl_ros.world_types import EpisodeStart


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTask:
    """Episodes of a task: initial states `first` to `first + episodes - 1`, all of one seed."""

    body: str
    task: str
    episodes: int
    first: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeapRequest:
    """What to make.

    Attributes:
        out: Folder of the set.
        tasks: What experts play.
        bags: Folders of recorded runs.
        datasets: Folders of LeRobot data sets.
        frames: How key frames are taken.
        rows: How many rows are composed.
        test_share: Of the demonstrations of each source (REVER: 0.1).
    """

    out: Path
    tasks: tuple[SimulatedTask, ...] = ()
    bags: tuple[Path, ...] = ()
    datasets: tuple[Path, ...] = ()
    frames: FrameSettings = field(default_factory=FrameSettings)
    rows: RowSettings = field(default_factory=RowSettings)
    test_share: float = 0.1


#: Told of each demonstration: its name, and why it was left out ('' if it was not).
Heard = Callable[[str, str], None]


def make_set(request: LeapRequest, workers: int = 1, heard: Heard | None = None) -> SetReport:
    """Record, compose, split and write.

    Args:
        request: What to make.
        workers: Processes that play scripted episodes, at least 1.
        heard: Is told of each demonstration as it is done.

    Raises:
        ParameterError: If a setting is wrong, or the folder holds something else.
        TrainingError: If no demonstration is left.
        BagError: If a bag is missing or damaged.
        DatasetError: If a data set is missing or has no skills, or a file of this one is cut.
        SimulationError: If a task or initial state is unknown.
    """
    if not (request.tasks or request.bags or request.datasets):
        raise ParameterError('nothing to make a set of; allowed: tasks, bags, data sets')
    told = {**asdict(request.frames), 'roles': list(request.frames.roles)}
    claim_folder(request.out, told)
    names: list[str] = []
    failed: list[str] = []
    for name, reason in _record(request, workers):
        if reason:
            failed.append(f'{name}: {reason}')
        else:
            names.append(name)
        if heard is not None:
            heard(name, reason)
    if not names:
        raise TrainingError(f'no demonstration is left of {len(failed)}: {failed[0]}')
    episodes = load_episodes(request.out, sorted(names))
    report = _compose(request, episodes, tuple(failed))
    for split, rows in (('train', report.train), ('test', report.test)):
        write_split(request.out, split, rows)
    shown = {**told, **asdict(request.rows), 'test share': request.test_share}
    write_card(request.out, report, shown)
    return report


def _compose(
    request: LeapRequest, episodes: Sequence[SkillEpisode], failed: tuple[str, ...]
) -> SetReport:
    train, test = split_episodes(episodes, request.test_share, request.rows.seed)
    tested = list(make_rows(test, 'test', request.rows))
    trained = list(make_rows(train, 'train', request.rows))
    kept = drop_leaks(trained, tested)
    return SetReport(
        train=tuple(kept),
        test=tuple(tested),
        episodes=tuple(episodes),
        leaks=len(trained) - len(kept),
        failed=failed,
    )


def _record(request: LeapRequest, workers: int) -> Iterator[tuple[str, str]]:
    """Yield name and reason of every demonstration, recording those that are not there yet."""
    play = partial(_play, request.out, request.frames)
    if workers > 1 and len(request.tasks) > 1:
        context = get_context('spawn')
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            for told in pool.map(play, request.tasks):
                yield from told
    else:
        for task in request.tasks:
            yield from play(task)
    if request.bags or request.datasets:
        from structrl_ros.training.leap_bags import cut_bag
        from structrl_ros.training.leap_datasets import cut_dataset
        from structrl_ros.training.leap_recorded import recording_name

        for paths in (request.bags, request.datasets):
            names = [recording_name(path) for path in paths]
            if twice := [name for name in names if names.count(name) > 1]:
                raise ParameterError(
                    f'two recordings are called {twice[0]}; allowed: folders of different names'
                )
        for bag in request.bags:
            yield from _keep(request.out, cut_bag(bag, request.frames))
        for root in request.datasets:
            yield from _keep(request.out, cut_dataset(root, request.frames))


def _play(out: Path, frames: FrameSettings, task: SimulatedTask) -> list[tuple[str, str]]:
    """Play the episodes of a task that are not there yet."""
    told: list[tuple[str, str]] = []
    recorder: SkillRecorder | None = None
    try:
        for state in range(task.first, task.first + task.episodes):
            start = EpisodeStart(task.task, task.seed, state)
            name = episode_name(task.body, start)
            if not episode_path(out, name).is_file():
                recorder = recorder or SkillRecorder(task.body, frames)
                try:
                    save_episode(out, recorder.record(start))
                except TrainingError as error:
                    told.append((name, str(error)))
                    continue
            told.append((name, ''))
    finally:
        if recorder is not None:
            recorder.close()
    return told


def _keep(out: Path, found: Iterator[tuple[str, SkillEpisode | str]]) -> Iterator[tuple[str, str]]:
    """Save what recordings gave; a line instead of an episode says why there is none."""
    for name, episode in found:
        if isinstance(episode, str):
            yield name, episode
        else:
            save_episode(out, episode)
            yield name, ''
