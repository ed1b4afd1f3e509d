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

    storage: str = parameter(
        'mcap', description='Storage of the bag, as of rosbag2.', choices=('mcap', 'sqlite3')
    )
    compression: str = parameter(
        'none', description='Compression of MCAP chunks.', choices=('none', 'zstd')
    )
    split_megabytes: float = parameter(
        0.0, description='Size at which a part of the bag ends; 0: never.', bounds=(0.0, 1e6)
    )
    split_seconds: float = parameter(
        0.0, description='Age at which a part of the bag ends; 0: never.', bounds=(0.0, 1e6)
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
