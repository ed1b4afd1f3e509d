"""Parameters of overlay_node: the live picture of a role over a reference."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.evaluation.alignment import MODES
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.types import ROLES


@dataclass(frozen=True, kw_only=True)
class OverlayParameters:
    """Which picture is shown over which, and how."""

    role: str = parameter('head', description='Camera role.', choices=ROLES)
    reference: str = parameter(
        '',
        description="Picture, bag, run, folder of placement cards or protocol; '' = the first "
        'picture that is heard.',
    )
    card: int = parameter(
        0,
        description='Which of the references, where there are several.',
        bounds=(0, 100_000),
        read_only=False,
    )
    mode: str = parameter(
        'blend', description='How the overlay is drawn.', choices=MODES, read_only=False
    )
    alpha: float = parameter(
        0.5, description='Weight of the reference.', bounds=(0.0, 1.0), read_only=False
    )
    rate_hz: float = parameter(10.0, description='Most overlays a second.', bounds=(0.1, 60.0))

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
