"""What LIBERO costs on this machine: CPU time of steps and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from structrl_ros.sim.libero.body import SETTLING_STEPS
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.camera import PictureDetail
from structrl_ros.sim.libero.installation import import_libero
from structrl_ros.sim.libero.installation import initial_states
from structrl_ros.sim.libero.installation import quiet
from structrl_ros.sim.libero.installation import task_file
from structrl_ros.sim.libero.tasks import find_task
from structrl_ros.types import Float32

_STILL = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)


@dataclass(frozen=True, slots=True)
class StepCost:
    """CPU milliseconds of one low-level step: LIBERO's own `env.step`, and the body's."""

    task: str
    bare_ms: float
    body_ms: float

    @property
    def ratio(self) -> float:
        """The body's cost over the bare environment's; 1 or less means no overhead."""
        return self.body_ms / self.bare_ms


@dataclass(frozen=True, slots=True)
class PictureCost:
    """CPU milliseconds of one picture, the median of several, and of opening OpenGL."""

    role: str
    size: int
    detail: str
    first_ms: float
    picture_ms: float


def measure_step_cost(task: str = 'long/0', *, steps: int = 100) -> StepCost:
    """Compare the bare LIBERO environment with `LiberoBody`, the same actions in turn.

    Both run in this process and are stepped alternately in blocks of ten, so that a busy machine
    slows both. The bare environment evaluates success in its step, the body also grasps.

    Args:
        task: Any name that `find_task` knows.
        steps: Low-level steps for each, rounded up to tens.

    Raises:
        SimulationError: If LIBERO is missing or the task is unknown.
    """
    body = LiberoBody()
    body.reset(task, 0, 0)
    bare = bare_environment(task, seed=0, initial_state=0)
    random = np.random.default_rng(0)
    spent = {'bare': 0.0, 'body': 0.0}
    for block in range(1 + (steps + 9) // 10):
        actions = random.uniform(-0.5, 0.5, (10, 7)).astype(np.float32)
        for name, step in (('bare', bare.step), ('body', body.step)):
            cost = _cpu_seconds(partial(_step_all, step, actions))
            spent[name] += cost if block else 0.0  # the first block compiles the controller
    body.close()
    bare.close()
    blocks = (steps + 9) // 10 * 10
    return StepCost(task, spent['bare'] / blocks * 1e3, spent['body'] / blocks * 1e3)


def measure_picture_cost(
    role: str, *, size: int = 256, detail: PictureDetail = 'full', task: str = 'long/0'
) -> PictureCost:
    """Measure the pictures of one camera role, twelve of them.

    Raises:
        SimulationError: If LIBERO or OpenGL is missing.
    """
    body = LiberoBody(image_size=size, picture_detail=detail)
    body.reset(task, 0, 0)
    first = _cpu_seconds(lambda: body.render(role))
    costs = [_cpu_seconds(lambda: body.render(role)) for _ in range(12)]
    body.close()
    return PictureCost(role, size, detail, first * 1e3, float(np.median(costs)) * 1e3)


def bare_environment(task: str, seed: int, initial_state: int) -> Any:
    """Return LIBERO's own environment as its users make it: seed, reset, state, settling steps.

    For comparisons. Its `step` is LIBERO's.

    Raises:
        SimulationError: If LIBERO is missing or the task is unknown.
    """
    found = find_task(task)
    wrapper = import_libero()
    with quiet():
        environment = wrapper.ControlEnv(
            bddl_file_name=str(task_file(found)),
            use_camera_obs=False,
            has_offscreen_renderer=False,
        )
        environment.seed(seed)
        environment.env.reset()  # ControlEnv.reset would try again for ever on any error
        environment.set_init_state(initial_states(found)[initial_state])
        for _ in range(SETTLING_STEPS):
            environment.step(np.array(_STILL))
    return environment


def _step_all(step: Callable[[Float32], object], actions: Float32) -> None:
    for action in actions:
        step(action)


def _cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
