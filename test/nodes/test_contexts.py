"""Namespaces that a person gives, before anything of ROS is opened for them."""

from functools import partial

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

import rclpy

from structrl_ros.errors import ParameterError
from structrl_ros.nodes.contexts import allowed_namespace
from structrl_ros.nodes.contexts import joined_graph

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


def test_a_graph_is_left_however_the_block_ends():
    make = partial(rclpy.create_node, 'visitor')
    with (
        pytest.raises(KeyError),
        joined_graph(make, 'cell/left') as (node, executor),
    ):
        assert node.get_fully_qualified_name() == '/cell/left/visitor'
        assert executor.get_nodes() == [node]
        raise KeyError
    assert not node.context.ok()
    assert executor.get_nodes() == []


def test_a_node_that_cannot_be_made_leaves_no_context_open():
    contexts = []

    def make(**options):
        contexts.append(options['context'])
        raise ParameterError('no node')

    with pytest.raises(ParameterError, match='no node'), joined_graph(make):
        pytest.fail('there is no node')
    assert not contexts[0].ok()


def test_a_namespace_that_is_none_is_refused_before_a_node_is_made():
    with pytest.raises(ParameterError, match='is not allowed'), joined_graph(pytest.fail, 'a-b'):
        pytest.fail('there is no such place')
