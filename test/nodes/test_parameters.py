"""Parameters on a real node: declared with descriptors, read back, guarded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from structrl_ros.errors import ParameterError
from structrl_ros.nodes.parameters import current
from structrl_ros.nodes.parameters import declare
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter

pytestmark = pytest.mark.ros


@dataclass(frozen=True, kw_only=True)
class ProbeParameters:
    rate_hz: float = parameter(5.0, description='Rate in Hz.', bounds=(0.1, 100.0))
    gain: float = parameter(1.0, description='Gain.', bounds=(0.0, 2.0), read_only=False)
    mode: str = parameter('slow', description='Mode.', choices=('slow', 'fast'))
    roles: tuple[str, ...] = parameter((), description='Cameras.')

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, kw_only=True)
class AddressParameters:
    address: str = parameter(description='Address of the arm.')


@pytest.fixture
def node() -> Iterator[Any]:
    context = rclpy.Context()
    context.init()
    made: list[Node] = []

    def make(**overrides: Any) -> Node:
        given = [Parameter(name, value=value) for name, value in overrides.items()]
        made.append(Node('probe', context=context, parameter_overrides=given))
        return made[-1]

    yield make
    for each in made:
        each.destroy_node()
    context.shutdown()


def test_overrides_are_read_back_and_integers_pass_for_floats(node: Any) -> None:
    values = declare(node(rate_hz=10, roles=['head', 'left_wrist']), ProbeParameters)
    assert values == ProbeParameters(rate_hz=10.0, roles=('head', 'left_wrist'))


def test_descriptors_carry_description_and_bounds(node: Any) -> None:
    probe = node()
    declare(probe, ProbeParameters)
    rate = probe.describe_parameter('rate_hz')
    assert rate.description == 'Rate in Hz.'
    assert rate.read_only
    assert rate.floating_point_range[0].to_value == 100.0
    assert 'slow, fast' in probe.describe_parameter('mode').additional_constraints


@pytest.mark.parametrize(
    ('overrides', 'line'),
    [
        ({'mode': 'warp'}, "probe: parameter 'mode' is 'warp'; allowed: slow, fast"),
        ({'rate_hz': 'x'}, "probe: parameter 'rate_hz' is 'x'; allowed: float"),
        ({'rate_hz': 1000.0}, 'probe: Invalid parameter value'),
    ],
)
def test_wrong_overrides_are_refused_with_the_nodes_name(
    node: Any, overrides: dict[str, Any], line: str
) -> None:
    with pytest.raises(ParameterError) as error:
        declare(node(**overrides), ProbeParameters)
    assert str(error.value).startswith(line)


def test_only_parameters_that_are_not_read_only_change_and_within_bounds(node: Any) -> None:
    probe = node()
    declare(probe, ProbeParameters)
    (done,) = probe.set_parameters([Parameter('gain', value=1.5)])
    assert done.successful
    assert current(probe, ProbeParameters).gain == 1.5
    for name, value in (('rate_hz', 6.0), ('gain', 7.0), ('gain', 'loud')):
        (done,) = probe.set_parameters([Parameter(name, value=value)])
        assert not done.successful, name
    assert current(probe, ProbeParameters) == ProbeParameters(gain=1.5)


def test_a_parameter_without_default_stops_the_node(node: Any) -> None:
    with pytest.raises(ParameterError, match="probe: parameter 'address' must be given: Address"):
        declare(node(), AddressParameters)
    assert declare(node(address='arm'), AddressParameters) == AddressParameters(address='arm')
