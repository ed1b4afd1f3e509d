"""Parameters of mirror_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.params.sim import refuse_unknown_task


@dataclass(frozen=True, kw_only=True)
class MirrorParameters:
    """Which scene stands around the arm that is followed, and how it is drawn."""

    robot: str = parameter('fr3', description='Kind of the arm.', choices=('fr3', 'panda'))
    task: str = parameter('', description="Tabletop task of the scene; '' = apple_in_bowl.")
    seed: int = parameter(0, description='Seed of the scene.', bounds=(0, 2**31 - 1))
    initial_state: int = parameter(0, description='Index of the initial state.', bounds=(0, None))
    image_size: int = parameter(
        224, description='Width and height of the camera images in pixels.', bounds=(16, 1024)
    )
    camera_rate_hz: float = parameter(
        5.0,
        description='Images a second for each role that has a subscriber.',
        bounds=(0.0, 100.0),
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        refuse_unknown_task('tabletop', self.task)

    @property
    def scene_task(self) -> str:
        """Task of the scene."""
        return self.task or 'apple_in_bowl'
