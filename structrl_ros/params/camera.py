"""Parameters of camera_node: one node is one camera of one role."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.types import ROLES


@dataclass(frozen=True, kw_only=True)
class CameraParameters:
    """Which camera plays which role, what is asked of it, and when it is in trouble."""

    role: str = parameter(description='Role that this camera plays.', choices=ROLES)
    backend: str = parameter(
        description='realsense, opencv, file, or ros_topic (a driver that runs already).',
        choices=('realsense', 'opencv', 'file', 'ros_topic'),
    )
    source: str = parameter(
        '',
        description="Serial number ('' = the only one) or recording (realsense), device (opencv), "
        'path (file), topic of the pictures (ros_topic).',
    )
    width: int = parameter(
        0, description='Width that frames must have, pixels; 0 = any.', bounds=(0, 8192)
    )
    height: int = parameter(
        0, description='Height that frames must have, pixels; 0 = any.', bounds=(0, 8192)
    )
    rate_hz: float = parameter(
        30.0, description='Frames a second to ask for.', bounds=(0.1, 1000.0)
    )
    depth: bool = parameter(
        False, description='Publish depth on the pixels of the picture (realsense).'
    )
    crop: tuple[int, ...] = parameter(
        (), description='Part to keep: x, y, width, height in pixels of the camera; empty = all.'
    )
    resize: tuple[int, ...] = parameter(
        (), description='Width and height to scale to after the crop; empty = as it is.'
    )
    intrinsics: str = parameter(
        '',
        description='YAML of ROS camera calibration, instead of what the camera tells.',
    )
    frame_id: str = parameter('', description="Optical frame; '' = <role>_camera_optical.")
    info_topic: str = parameter(
        '', description="camera_info of a ros_topic; '' = beside the pictures."
    )
    transport: str = parameter(
        'raw',
        description='Type of a ros_topic: Image or CompressedImage.',
        choices=('raw', 'compressed'),
    )
    loop: bool = parameter(False, description='Begin a file or recording again at its end.')
    max_age_s: float = parameter(
        0.5, description='Seconds after which the newest frame is stale.', bounds=(0.01, 60.0)
    )
    frozen_after_s: float = parameter(
        1.0,
        description='Seconds of bit-equal pictures after which they are withheld; 0 = never '
        '(a simulator, a still picture).',
        bounds=(0.0, 60.0),
    )
    reconnect_s: float = parameter(
        1.0, description='Seconds between two attempts to open the camera.', bounds=(0.01, 60.0)
    )
    reset_after_s: float = parameter(
        5.0,
        description='Seconds of silence after which the device is restarted; 0 = never.',
        bounds=(0.0, 600.0),
    )
    autostart: bool = parameter(
        True, description='Configure and activate at start, without a lifecycle manager.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
        _check_numbers('crop', self.crop, 4, 'x, y, width, height', lowest=0)
        _check_numbers('resize', self.resize, 2, 'width, height', lowest=1)
        if (self.width == 0) != (self.height == 0):
            raise ParameterError(
                f'width is {self.width}, height {self.height}; allowed: both 0, or both a size'
            )
        if self.backend != 'realsense' and not self.source:
            raise ParameterError(f"parameter 'source' must be given for backend {self.backend}")

    @property
    def optical_frame(self) -> str:
        """Frame of the pictures."""
        return self.frame_id or f'{self.role}_camera_optical'


def _check_numbers(
    name: str, values: tuple[int, ...], count: int, words: str, *, lowest: int
) -> None:
    if values and (len(values) != count or min(values) < lowest or min(values[-2:]) < 1):
        raise ParameterError(f'parameter {name!r} is {list(values)}; allowed: {words}, or none')
