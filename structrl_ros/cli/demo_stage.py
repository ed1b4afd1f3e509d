"""What a demo needs besides its graph: for an arm, a scene, and a controller to move it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.params.sim import SIMULATED_BODIES

#: Bodies of the demo that are arms: of a simulated controller, and of nobody (kinematic).
FRANKA_SIM, FRANKA_FAKE = 'franka-sim', 'franka-fake'
#: All bodies of the demo.
DEMO_BODIES = (*SIMULATED_BODIES, FRANKA_SIM, FRANKA_FAKE)
#: Task of such a demo where none is named.
FIRST_TASK = 'apple_in_bowl'

#: The arm of a demo, in the scene of the tabletop: z = 0 is the table.
_FRANKA = {
    'body': 'franka',
    'arm': 'fake',
    'mirror': 'true',
    'box_low': '0.25,-0.5,0.01',
    'box_high': '0.75,0.5,0.6',
    'translation_velocity': '0.3',
    'rotation_velocity': '1.5',
    'control_rate_hz': '10.0',
}
#: Driver of the simulated controller, whose time is everybody's.
_SIMULATED = {'arm': 'fci', 'dry_run': 'false', 'realtime': 'try', 'simulated': 'true'}
#: Allowances of a machine that draws, thinks and simulates a controller at 1 kHz all at once, and
#: accelerations of an arm that hits nobody. A real cell keeps the defaults.
_PATIENCE = """\
arm_node:
  ros__parameters:
    heartbeat_timeout_s: 3.0
    max_chunk_age_s: 10.0
    max_state_age_s: 2.0
    translation_acceleration: 4.0
planner_node:
  ros__parameters:
    subtask_timeout_s: 120.0
policy_node:
  ros__parameters:
    chunk_length: 10
"""


@dataclass(frozen=True)
class Stage:
    """Arguments of the graph, the sentence ('' is the body's own), and a look whether all runs."""

    arguments: Mapping[str, str]
    instruction: str
    check: Callable[[], None]


@contextmanager
def staged(arguments: Mapping[str, str], folder: Path) -> Iterator[Stage]:
    """Have ready, while the context lasts, what the body of a demo needs.

    Args:
        arguments: Of the graph `deploy`; its `body` may be one of the arms above as well.
        folder: For logs.

    Raises:
        ArmError: If the simulated controller is not installed, or does not start.
        ParameterError: If the demo has no such body.
        SimulationError: If the task cannot be mirrored.
    """
    body = arguments.get('body')
    if body not in DEMO_BODIES:
        raise ParameterError(
            f'body is {body!r}; a demo has: {", ".join(DEMO_BODIES)}; '
            'an arm: structrl up deploy body:=franka (docs/franka.md)'
        )
    if body not in (FRANKA_SIM, FRANKA_FAKE):
        yield Stage(arguments, '', lambda: None)
        return
    scene, sentence = _scene(arguments.get('task') or FIRST_TASK, folder)
    own = {**_FRANKA, **scene}
    if body == FRANKA_FAKE:
        yield Stage({**own, **arguments, 'body': 'franka'}, sentence, lambda: None)
        return
    from structrl_ros.cli.simulated_controller import SimulatedController
    from structrl_ros.sim.arm_mirror.mirror import object_width

    with SimulatedController(folder, object_width=object_width(own['task'])) as controller:
        own |= {**_SIMULATED, 'robot_ip': controller.address}
        yield Stage({**own, **arguments, 'body': 'franka'}, sentence, controller.check)


def _scene(name: str, folder: Path) -> tuple[dict[str, str], str]:
    """Return the arguments of the scene of a task, and its sentence.

    Raises:
        SimulationError: If the task cannot be mirrored.
    """
    from structrl_ros.sim.arm_mirror.mirror import mirrored_tasks
    from structrl_ros.sim.tabletop.task_files import find_task

    if name not in mirrored_tasks():
        allowed = ', '.join(mirrored_tasks())
        raise SimulationError(f'no task {name!r} for an arm; allowed: {allowed}')
    task = find_task(name)
    folder.mkdir(parents=True, exist_ok=True)
    patience = folder / 'cell.yaml'
    patience.write_text(_PATIENCE, encoding='utf-8')
    objects = ','.join(task.vocabulary)
    return {'task': name, 'objects': objects, 'params_file': str(patience)}, task.instruction
