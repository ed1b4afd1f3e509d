"""Demonstrations of the twin, all episodes side by side: the expert alone, or in turns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.twin.perturbation import ENTRIES
from structrl_ros.sim.twin.perturbation import perturb
from structrl_ros.sim.twin.recorder import Recorder
from structrl_ros.sim.twin.recorder import TwinEpisodes
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Adds noise (B, 4), scaled already, to `ee_delta_pose` actions (B, 7).
Perturb = Callable[[Float32, Float64], Float32]
#: A policy at the wheel: features (B, F) to chunks in the body's action space (B, L, 7).
Act = Callable[[Float32], Float32]
#: Turns of policy and expert in chunks, from and to.
POLICY_CHUNKS = (2, 9)
EXPERT_CHUNKS = (3, 8)


def demonstrations(
    task: str,
    episodes: int,
    seed: int,
    *,
    perturbed: float = 2.0 / 3.0,
    perturbation: float = 0.15,
    shortcut: float = 0.0,
    settings: TwinSettings | None = None,
    disturb: Perturb = perturb,
) -> TwinEpisodes:
    """Return episodes of the expert; of those without a shortcut only the successful ones.

    Args:
        task: Name.
        episodes: How many are played, from 1.
        seed: Of the scenes and of all noise.
        perturbed: Share of episodes in which half of the steps are perturbed, labels clean (DART).
        perturbation: Standard deviation of `disturb`'s noise.
        shortcut: Share of episodes in which what has been opened is shut at once, before anything
            is in it; each of them ends there, without success.
        settings: Of the world.
        disturb: Adds the noise.

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
        noisy = disturb(label, noise[rows])
        is_noisy = np.abs(noise[rows]).sum(axis=1) > 0.0
        executed = np.where(is_noisy[:, None], noisy, label).astype(np.float32)
        recorder.step(label, executed, np.ones(len(rows), dtype=np.bool_))
        recorder.stop(is_short, closing)
    return recorder.episodes(keep_failures=False)


def takeovers(
    task: str,
    episodes: int,
    seed: int,
    act: Act,
    *,
    settings: TwinSettings | None = None,
) -> TwinEpisodes:
    """Return episodes in which a policy and the expert take turns; every step is labelled.

    A turn of the policy is 2 to 9 chunks, one of the expert 3 to 8 (as long as a chunk); the
    policy begins. Failures are kept.

    Raises:
        SimulationError: If the task is unknown.
    """
    found = find_task(task)
    random = np.random.default_rng((seed, 2))
    recorder = Recorder(found, _starts(seed, episodes), settings or TwinSettings())
    is_policy = np.ones(episodes, dtype=np.bool_)
    left = random.integers(*POLICY_CHUNKS, episodes, endpoint=True)
    while recorder.is_running:
        wanted = act(recorder.seen)
        chunks = np.zeros((episodes, wanted.shape[1], 7), dtype=np.float32)
        chunks[recorder.rows] = wanted
        for k in range(chunks.shape[1]):
            if recorder.is_running:
                rows = recorder.rows
                label = recorder.label()
                at_wheel = is_policy[rows]
                executed = np.where(at_wheel[:, None], chunks[rows, k], label)
                recorder.step(label, executed.astype(np.float32), ~at_wheel)
        left -= 1
        turns = left == 0
        is_policy ^= turns
        fresh = np.where(
            is_policy,
            random.integers(*POLICY_CHUNKS, episodes, endpoint=True),
            random.integers(*EXPERT_CHUNKS, episodes, endpoint=True),
        )
        left = np.where(turns, fresh, left)
    return recorder.episodes(keep_failures=True)


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
