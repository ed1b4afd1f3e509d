"""Demonstrations of the twin, all episodes side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.twin.recorder import Recorder
from structrl_ros.sim.twin.recorder import TwinEpisodes
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Adds noise (B, 4), scaled already, to the motion of `ee_delta_pose` actions (B, 7).
Disturb = Callable[[Float32, Float64], Float32]
#: Entries of `ee_delta_pose` that the twin follows, without the gripper.
ENTRIES = (0, 1, 2, 5)


def disturb(actions: Float32, noise: Float64) -> Float32:
    """Return actions (B, 7) with noise (B, 4) on their motion: a quarter of it at rest.

    So it does not undo a grasp, where the hand stands still.
    """
    disturbed = actions.astype(np.float64)
    motion = disturbed[:, ENTRIES]
    disturbed[:, ENTRIES] = np.clip(motion + noise * (0.25 + 0.75 * np.abs(motion)), -1.0, 1.0)
    return disturbed.astype(np.float32)


def demonstrations(
    task: str,
    episodes: int,
    seed: int,
    *,
    perturbed: float = 2.0 / 3.0,
    perturbation: float = 0.15,
    shortcut: float = 0.0,
    settings: TwinSettings | None = None,
    disturbance: Disturb = disturb,
) -> TwinEpisodes:
    """Return episodes of the expert; of those without a shortcut only the successful ones.

    Args:
        task: Name.
        episodes: How many are played, from 1.
        seed: Of the scenes and of all noise.
        perturbed: Share of episodes in which half of the steps are perturbed, labels clean (DART).
        perturbation: Standard deviation of the noise that `disturbance` adds.
        shortcut: Share of episodes in which what has been opened is shut at once, before anything
            is in it; each of them ends there, without success.
        settings: Of the world.
        disturbance: Adds the noise.

    Raises:
        SimulationError: If the task is unknown, a number is outside its range, or the task has
            nothing to open and a shortcut is asked for.
    """
    found = find_task(task)
    _check_share('perturbed', perturbed)
    _check_share('shortcut', shortcut)
    random = np.random.default_rng((seed, 1))
    drawn = random.random((2, episodes))
    is_perturbed, is_short = drawn[0] < perturbed, drawn[1] < shortcut
    closing = _shortcut_predicate(found) if shortcut else -1
    recorder = Recorder(found, _starts(seed, episodes), settings or TwinSettings())
    for _ in range(found.horizon):
        if not recorder.is_running:
            break
        rows = recorder.rows
        label = recorder.label(is_short[rows], closing)
        noise = perturbation * random.standard_normal((episodes, len(ENTRIES)))
        noise[~(is_perturbed & (random.random(episodes) < 0.5))] = 0.0
        noisy = disturbance(label, noise[rows])
        is_noisy = np.abs(noise[rows]).sum(axis=1) > 0.0
        executed = np.where(is_noisy[:, None], noisy, label).astype(np.float32)
        recorder.step(label, executed)
        recorder.stop(is_short, closing)
    return recorder.episodes()


def _starts(seed: int, episodes: int) -> list[tuple[int, int]]:
    """Return (seed, initial state) of each episode."""
    states = np.random.default_rng((seed, 0)).integers(0, 2**31, (episodes, 2))
    return [(int(a), int(b)) for a, b in states]


def _shortcut_predicate(task: Task) -> int:
    """Return which predicate a shortcut makes true: the first closing."""
    for index, predicate in enumerate(task.predicates):
        if predicate.kind == 'close':
            return index
    raise SimulationError(f'task {task.name!r} has nothing to close: no shortcut')


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise SimulationError(f'{name} is {value}; allowed: 0 to 1')
