"""Parameters of grm_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.types import ROLES


@dataclass(frozen=True, kw_only=True)
class GrmParameters:
    """Which progress model is asked about the episode, how often, and what it sees."""

    model: str = parameter(
        'grm_tabletop',
        description='Progress model: a folder that structrl train grm wrote, or a shipped name.',
    )
    rate_hz: float = parameter(
        0.0,
        description="Questions a second of the body's time; 0 = one a chunk, as in lock-step.",
        bounds=(0.0, 100.0),
    )
    goal: str = parameter(
        '',
        description='Goal image: a picture (of the first role), or a bag or run whose last '
        'pictures are taken; empty leaves the backward term out.',
    )
    roles: tuple[str, ...] = parameter(
        ('head', 'left_wrist'),
        description='Cameras that the model looks at; one that gives nothing is left out.',
        choices=ROLES,
    )
    instruction: str = parameter(
        '', description="Sentence that the model is told; empty: the plan's, else the episode's."
    )
    gamma: float = parameter(
        0.99, description='Discount of the shaping term, in (0, 1].', bounds=(0.0, 1.0)
    )
    lockstep: bool = parameter(
        False, description='Answer every chunk, by exact stamps; as in sim_node.'
    )
    max_age_s: float = parameter(
        0.5,
        description='Real time: oldest picture that a question may show, seconds.',
        bounds=(0.0, 60.0),
    )
    wait_s: float = parameter(
        2.0,
        description='Wall time to wait for a camera before it is left out.',
        bounds=(0.0, 600.0),
    )
    threads: int = parameter(
        1, description='Threads of torch; the numbers of a check need the same.', bounds=(1, 64)
    )
    device: str = parameter(
        'auto',
        description='Where a vision-language model runs; a small one is on the CPU.',
        choices=('auto', 'cpu', 'cuda', 'mps'),
    )
    autostart: bool = parameter(
        True, description='Configure and activate at start, without a lifecycle manager.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        if not self.roles:
            raise ParameterError("parameter 'roles' is empty; allowed: at least one camera")
        if self.gamma <= 0.0:
            raise ParameterError(f"parameter 'gamma' is {self.gamma:g}; allowed: in (0, 1]")
