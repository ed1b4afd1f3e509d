"""One LIBERO environment whose scenes depend on (task, seed, initial state) alone.

LIBERO's own order decides its fixture poses: seed, reset, then the initial state. Three things in
it depend on what happened before, and are put right here:

* every hard reset appends the drawer and knob samplers of the scene once more, so that the n-th
  reset draws other random numbers than the first. This scene is the one of a fresh LIBERO
  environment after its first `reset()`;
* the gripper's command survives a soft reset;
* the solver's warm start survives from the state before.
"""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.installation import import_libero
from structrl_ros.sim.libero.installation import initial_states
from structrl_ros.sim.libero.installation import quiet
from structrl_ros.sim.libero.installation import task_file
from structrl_ros.sim.libero.tasks import INITIAL_STATES
from structrl_ros.sim.libero.tasks import LiberoTask

_PLACEMENT_TRIALS = 100


#: Version whose asset cache was examined; its functions are exported but not public.
_CACHE_KNOWN_IN = '3.3.2'


class LiberoScene:
    """LIBERO's environment of one task, without cameras.

    `environment` is the robosuite environment, `model` and `data` MuJoCo's own objects. They stay
    the same objects over all placements.
    """

    def __init__(self, task: LiberoTask, seed: int) -> None:
        """Build the model; takes seconds and about 1 GB.

        Raises:
            SimulationError: If LIBERO is missing.
        """
        wrapper = import_libero()
        keep_no_build_cache()
        self.task = task
        self._states = initial_states(task)
        self._seed: int | None = None
        with quiet(), _numpy_seed(seed):
            control = wrapper.ControlEnv(
                bddl_file_name=str(task_file(task)),
                use_camera_obs=False,
                has_offscreen_renderer=False,
                hard_reset=False,
            )
        self.environment: Any = control.env
        self.model: Any = self.environment.sim.model._model
        self.data: Any = self.environment.sim.data._data
        # The first hard reset of LIBERO would have doubled them.
        self.environment.object_property_initializers *= 2
        release_build_memory()

    @property
    def robot(self) -> Any:
        """The robosuite robot."""
        return self.environment.robots[0]

    def place(self, seed: int, initial_state: int) -> None:
        """Set fixtures by the seed and everything that moves by the initial state.

        Args:
            seed: Of the fixtures' poses, 0 to 2**32 - 1.
            initial_state: Row of LIBERO's initial states, 0 to 49.

        Raises:
            SimulationError: If the index or the seed is outside, or no placement is found.
        """
        if not 0 <= initial_state < INITIAL_STATES:
            raise SimulationError(
                f'{self.task.id}: no initial state {initial_state}; '
                f'allowed: 0 to {INITIAL_STATES - 1}'
            )
        gripper = self.robot.gripper
        gripper.current_action = np.zeros(gripper.dof)
        with quiet(), _numpy_seed(seed):
            self._reset()
        state = self._states[initial_state]
        self.data.time = state[0]
        self.data.qpos[:] = state[1 : 1 + self.model.nq]
        self.data.qvel[:] = state[1 + self.model.nq :]
        self.data.qacc_warmstart[:] = 0.0
        self.environment.sim.forward()

    def close(self) -> None:
        """Free the model; a second call does nothing."""
        if self.environment is None:
            return
        self.environment.close()
        self.environment = self.model = self.data = None
        gc.collect()  # robosuite's environment refers to itself

    def _reset(self) -> None:
        from robosuite.utils.errors import RandomizationError

        for _ in range(_PLACEMENT_TRIALS):
            try:
                self.environment.reset()
            except RandomizationError:
                continue
            return
        raise SimulationError(f'{self.task.id}: no free placement for the objects was found')


class _numpy_seed:  # noqa: N801 - used like a function
    """Seed numpy's global generator, which robosuite draws from, and put it back afterwards."""

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**32:
            raise SimulationError(f'seed {seed} is outside; allowed: 0 to 2**32 - 1')
        self._seed = seed

    def __enter__(self) -> None:
        self._before = np.random.get_state()
        np.random.seed(self._seed)

    def __exit__(self, *_: object) -> None:
        np.random.set_state(self._before)


def keep_no_build_cache() -> None:
    """Let MuJoCo's compiler cache no decoded assets; call before a build.

    Emptying the cache after a build can loop for ever (seen with Long task 4 in 3.3.2).
    """
    library = _mujoco_library()
    if library is not None and _mujoco_version() == _CACHE_KNOWN_IN:
        library.mj_globalCache.restype = ctypes.c_void_p
        library.mj_setCacheSize.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        library.mj_setCacheSize(library.mj_globalCache(), 0)


def release_build_memory() -> None:
    """Give back what MuJoCo's compiler keeps after a build: parsed XML and free heap."""
    library = _mujoco_library()
    if library is not None:
        library.mj_freeLastXML()
    trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)
    if trim is not None:
        trim(0)


def _mujoco_library() -> Any:
    """Return MuJoCo's shared library, or None where it is not found."""
    import mujoco

    path = next(Path(mujoco.__file__).parent.glob('libmujoco.so*'), None)
    return None if path is None else ctypes.CDLL(str(path))


def _mujoco_version() -> str:
    """Return MuJoCo's version."""
    import mujoco

    return str(mujoco.__version__)
