"""Parameters of recorder_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter


@dataclass(frozen=True, kw_only=True)
class RecorderParameters:
    """Where recorder_node writes its bag, and which cameras it takes."""

    directory: str = parameter(
        '', description='Folder of the bag, made by the recorder; empty records nothing.'
    )
    images: str = parameter(
        'head',
        description='Cameras to record: a simulator renders a camera only for a subscriber.',
        choices=('head', 'all', 'none'),
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
