"""Namespaces that a person gives, before anything of ROS is opened for them."""

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

from structrl_ros.errors import ParameterError
from structrl_ros.nodes.contexts import allowed_namespace

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('name', ['left', '/left', '/cell_1/left', '/'])
def test_a_namespace_of_ros_passes_as_it_is(name):
    assert allowed_namespace(name) == name


def test_none_given_is_the_root():
    assert allowed_namespace('') is None


@pytest.mark.parametrize('name', ['a-b', 'a b', '/a//b', '1st', 'a/2'])
def test_another_is_refused_in_one_line(name):
    with pytest.raises(ParameterError, match=r"namespace '.*' is not allowed: ") as caught:
        allowed_namespace(name)
    assert '\n' not in str(caught.value)
