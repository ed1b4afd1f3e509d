"""What camera_node asks of its frames, from its parameters."""

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs')

from structrl_ros.drivers.cameras.reader import ReaderLimits
from structrl_ros.drivers.cameras.region import Region
from structrl_ros.nodes.camera_opening import frame_region
from structrl_ros.nodes.camera_opening import reader_limits
from structrl_ros.params.camera import CameraParameters

pytestmark = pytest.mark.ros


def asked(**values):
    return CameraParameters(role='head', backend='opencv', source='0', **values)


@pytest.mark.parametrize(
    ('values', 'region'),
    [
        ({}, Region(None, None)),
        ({'crop': (10, 20, 300, 200)}, Region((10, 20, 300, 200), None)),
        ({'resize': (96, 64)}, Region(None, (96, 64))),
        ({'crop': (0, 1, 2, 3), 'resize': (4, 5)}, Region((0, 1, 2, 3), (4, 5))),
    ],
)
def test_a_frame_is_cut_and_scaled_as_the_parameters_say(values, region):
    assert frame_region(asked(**values)) == region


def test_a_size_is_demanded_of_frames_only_where_one_is_given():
    assert reader_limits(asked()).size is None
    assert reader_limits(asked(width=640, height=480)).size == (640, 480)


def test_every_limit_is_that_of_the_parameter_of_its_name():
    values = {
        'max_age_s': 0.7,
        'frozen_after_s': 1.7,
        'reset_after_s': 5.7,
        'reconnect_s': 2.7,
        'rate_hz': 27.0,
    }
    assert reader_limits(asked(**values)) == ReaderLimits(size=None, **values)


def test_limits_that_are_not_given_are_those_of_the_reader_but_for_the_rate():
    nominal = asked()
    assert reader_limits(nominal) == ReaderLimits(rate_hz=nominal.rate_hz)
