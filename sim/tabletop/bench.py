"""What the MuJoCo tabletop does and costs here: success of the experts, steps a CPU second.

    python -m structrl_ros.sim.tabletop.bench [--episodes 100] [--tasks pack_lunch ...]

prints the tables of docs/tabletop.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.sim.tabletop.task_files import tasks


@dataclass(frozen=True, slots=True)
class ExpertScore:
    """How the expert did in some episodes of a task.

    Attributes:
        task: Name.
        episodes: How many.
        successes: Of them.
        steps: Low-level steps of the successful ones, mean.
        longest: Of the successful ones.
        failed: (seed, initial state) of the others, and what was not true at their end.
        episode_s: CPU seconds an episode, the expert's included.
    """

    task: str
    episodes: int
    successes: int
    steps: float
    longest: int
    failed: tuple[tuple[int, tuple[str, ...]], ...]
    episode_s: float


@dataclass(frozen=True, slots=True)
class StepRate:
    """Low-level steps (0.1 s) of a CPU second, under the expert's actions.

    Attributes:
        task: Name.
        freedoms: Of the model (nv).
        steps: With truth and state vector.
        bare_steps: Of MuJoCo alone: 50 physics steps.
        reset_ms: CPU milliseconds of a reset.
    """

    task: str
    freedoms: int
    steps: float
    bare_steps: float
    reset_ms: float


def measure_expert(
    task: str, episodes: int = 100, *, first: int = 0, physics: Physics | None = None
) -> ExpertScore:
    """Let the reactive expert play a task without noise.

    Args:
        task: Name.
        episodes: How many: seed and initial state are `first`, `first` + 1, ...
        first: The experts were tuned on 1000 and above.
        physics: Settings; None for those that grasps need.

    Raises:
        SimulationError: If the task is unknown.
    """
    body = TabletopBody(physics=physics)
    lengths: list[int] = []
    failed: list[tuple[int, tuple[str, ...]]] = []
    began = time.process_time()
    for number in range(first, first + episodes):
        info = body.reset(task, number, number)
        for step in range(info.horizon_steps):
            outcome = body.step(body.expert_action())
            if outcome.success:
                lengths.append(step + 1)
                break
        else:
            truth = zip(info.predicate_names, outcome.values, strict=True)
            failed.append((number, tuple(name for name, value in truth if not value)))
    spent = time.process_time() - began
    body.close()
    return ExpertScore(
        task=task,
        episodes=episodes,
        successes=len(lengths),
        steps=float(np.mean(lengths)) if lengths else 0.0,
        longest=max(lengths, default=0),
        failed=tuple(failed),
        episode_s=spent / episodes,
    )


def measure_rate(task: str, *, steps: int = 300) -> StepRate:
    """Measure one process on the states that the expert goes through.

    Raises:
        SimulationError: If the task is unknown.
    """
    import mujoco

    body = TabletopBody()
    resets = [_cpu_seconds(lambda: body.reset(task, 0, 0)) for _ in range(6)][1:]
    spent = bare = 0.0
    for step in range(steps):
        if step % 60 == 0:
            body.reset(task, step, step)
        action = body.expert_action()
        spent += _cpu_seconds(lambda: (body.step(action), body.features()))  # noqa: B023
        state = body.simulator_state()
        bare += _cpu_seconds(lambda: mujoco.mj_step(body.model, body.data, 50))
        body.set_simulator_state(state)
    freedoms = int(body.model.nv)
    body.close()
    return StepRate(task, freedoms, steps / spent, steps / bare, 1e3 * float(np.mean(resets)))


def measure_picture(size: int, role: str = 'head') -> float:
    """Return the CPU milliseconds of a picture (median of twelve).

    Raises:
        SimulationError: If OpenGL does not work here.
    """
    body = TabletopBody(image_size=size)
    body.reset('pack_lunch', 0, 0)
    body.render(role)
    costs = [_cpu_seconds(lambda: body.render(role)) for _ in range(12)]
    body.close()
    return 1e3 * float(np.median(costs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog='structrl_ros.sim.tabletop.bench')
    parser.add_argument('--episodes', type=int, default=100, help='for each task')
    parser.add_argument('--first', type=int, default=0, help='first seed and initial state')
    parser.add_argument('--tasks', nargs='*', default=list(tasks()), choices=list(tasks()))
    parser.add_argument('--rates', action='store_true', help='steps a CPU second and pictures too')
    chosen = parser.parse_args(arguments)
    for task in chosen.tasks:
        score = measure_expert(task, chosen.episodes, first=chosen.first)
        sys.stdout.write(
            f'| {task} | {score.successes}/{score.episodes} | {score.steps:.0f} | '
            f'{score.longest} | {score.episode_s:.2f} |\n'
        )
        for number, missing in score.failed:
            sys.stdout.write(f'    {number}: not {", ".join(missing)}\n')
        sys.stdout.flush()
    for task in chosen.tasks if chosen.rates else ():
        rate = measure_rate(task)
        sys.stdout.write(
            f'| {task} | {rate.freedoms} | {rate.steps:.0f} | {rate.bare_steps:.0f} | '
            f'{rate.reset_ms:.1f} |\n'
        )
    for size in (64, 128, 224) if chosen.rates else ():
        sys.stdout.write(f'| {size} px | {measure_picture(size):.0f} ms |\n')
    return 0


def _cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == '__main__':
    sys.exit(main())
