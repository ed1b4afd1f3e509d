"""Bodies and scripted experts by name; a world's packages are imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.ports import Body
from structrl_ros.ports import Policy

_BODIES = {
    'kinematic': ('structrl_ros.sim.kinematic.body', 'KinematicBody'),
    'libero': ('structrl_ros.sim.libero.body', 'LiberoBody'),
    'tabletop': ('structrl_ros.sim.tabletop.body', 'TabletopBody'),
    'twin': ('structrl_ros.sim.twin.body', 'TwinBody'),
}
_EXPERTS = {
    'fr3': ('structrl_ros.sim.arm_mirror.expert', 'MirrorExpert'),
    'kinematic': ('structrl_ros.sim.kinematic.expert', 'KinematicExpert'),
    'libero': ('structrl_ros.sim.libero.expert_policy', 'LiberoExpert'),
    'panda': ('structrl_ros.sim.arm_mirror.expert', 'MirrorExpert'),
    'tabletop': ('structrl_ros.sim.tabletop.expert_policy', 'TabletopExpert'),
    'twin': ('structrl_ros.sim.twin.expert', 'TwinExpert'),
}

_FIRST_TASKS = {
    'kinematic': 'kinematic/two_in_basket',
    'libero': 'long/0',
    'tabletop': 'pack_lunch',
    'twin': 'pack_lunch',
}
#: Modules whose `find_task` knows the tasks of a body, without a simulator.
_TASK_LISTS = {
    'kinematic': 'structrl_ros.sim.kinematic.body',
    'libero': 'structrl_ros.sim.libero.tasks',
    'tabletop': 'structrl_ros.sim.tabletop.task_files',
    'twin': 'structrl_ros.sim.tabletop.task_files',
}

#: Names that `make_body` takes.
BODIES = tuple(sorted(_BODIES))


def default_task(body_name: str) -> str:
    """Return the task of a body that is taken where none is named.

    Raises:
        ParameterError: If the body is unknown.
    """
    if body_name not in _FIRST_TASKS:
        known = ', '.join(BODIES)
        raise ParameterError(f'unknown body {body_name!r}; known: {known}')
    return _FIRST_TASKS[body_name]


def check_task(body_name: str, task: str) -> None:
    """Refuse a task that a body does not have, without making the body.

    Args:
        body_name: One of `BODIES`.
        task: As `Body.reset` takes it.

    Raises:
        SimulationError: If the body has none of this name; the line lists what is allowed.
    """
    import_module(_TASK_LISTS[body_name]).find_task(task)


def make_body(name: str, **options: Any) -> Body:
    """Return a simulated world, without a scene.

    Args:
        name: One of `BODIES`.
        **options: Passed to its constructor (`image_size`, `horizon_steps`, ...).

    Raises:
        ParameterError: If the name or an option is unknown.
    """
    body: Body = _make('body', _BODIES, name, options)
    return body


def make_expert(body_name: str, **options: Any) -> Policy:
    """Return the scripted expert of a body (privileged: it needs the simulator's state).

    Args:
        body_name: `BodySpec.name` of the body, also `Episode.body`.
        **options: Passed to its constructor (`chunk_length`, ...).

    Raises:
        ParameterError: If there is no expert for the body, or an option is unknown.
    """
    expert: Policy = _make('expert for body', _EXPERTS, body_name, options)
    return expert


def _make(kind: str, known: dict[str, tuple[str, str]], name: str, options: dict[str, Any]) -> Any:
    if name not in known:
        raise ParameterError(f'unknown {kind} {name!r}; known: {", ".join(sorted(known))}')
    module, class_name = known[name]
    build: Callable[..., Any] = getattr(import_module(module), class_name)
    try:
        return build(**options)
    except TypeError as error:
        raise ParameterError(f'{kind} {name!r}: {error}') from None
