"""Parameters of sim_node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.sim.registry import check_task

#: Simulated bodies, as graphs and commands list them (`structrl_ros.sim.registry` makes them).
SIMULATED_BODIES = ('libero', 'tabletop', 'twin', 'kinematic')


@dataclass(frozen=True, kw_only=True)
class SimParameters:
    """What sim_node simulates, and how its clock runs."""

    body: str = parameter(
        'libero',
        description='World behind the Body port.',
        choices=SIMULATED_BODIES,
    )
    task: str = parameter('', description="Task by name or suite/number; '' = the body's first.")
    seed: int = parameter(0, description='Seed of the scene.', bounds=(0, 2**31 - 1))
    initial_state: int = parameter(0, description='Index of the initial state.', bounds=(0, None))
    lockstep: bool = parameter(
        False, description='Advance only while a chunk is executed; else hold the wall clock.'
    )
    image_size: int = parameter(
        224, description='Width and height of the camera images in pixels.', bounds=(16, 1024)
    )
    picture_detail: str = parameter(
        'full',
        description="full: LIBERO's own pictures; light: thinner meshes, cheaper.",
        choices=('full', 'light'),
    )
    camera_rate_hz: float = parameter(
        5.0,
        description='Images a second of simulated time for each role that has a subscriber.',
        bounds=(0.0, 100.0),
        read_only=False,
    )
    max_chunk_age_s: float = parameter(
        3.0,
        description='Seconds after the observation behind a chunk until the body holds.',
        bounds=(0.05, 60.0),
    )
    blend_steps: int = parameter(
        3,
        description='Rows over which a newer chunk fades in (real time only).',
        bounds=(0, 100),
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        refuse_unknown_task(self.body, self.task)

    @property
    def body_options(self) -> dict[str, Any]:
        """Options of the body's constructor; the others draw in one detail only."""
        options: dict[str, Any] = {'image_size': self.image_size}
        if self.body == 'libero':
            options['picture_detail'] = self.picture_detail
        return options


def refuse_unknown_task(body: str, task: str) -> None:
    """Refuse a misspelt task before anything starts; '' is the body's first.

    Raises:
        ParameterError: If the body has none of this name; the line lists what is allowed.
    """
    if not task:
        return
    try:
        check_task(body, task)
    except SimulationError as error:
        raise ParameterError(str(error)) from None
