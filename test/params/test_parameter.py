"""The pattern of parameters: types, bounds and choices are checked in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.params.parameter import parameter_infos
from structrl_ros.params.parameter import parameters_from_values


@dataclass(frozen=True, kw_only=True)
class ArmParameters:
    address: str = parameter(description='Address of the arm.')
    rate_hz: float = parameter(5.0, description='Rate.', bounds=(0.1, 100.0))
    retries: int = parameter(2, description='Retries.', bounds=(0, None))
    simulated: bool = parameter(False, description='No arm at all.')
    roles: tuple[str, ...] = parameter((), description='Cameras.', choices=('head', 'wrist'))
    offsets: tuple[float, ...] = parameter((0.0,), description='m.', bounds=(None, 1.0))

    def __post_init__(self) -> None:
        check_parameters(self)


def made(**values: Any) -> ArmParameters:
    return parameters_from_values(ArmParameters, {'address': 'arm', **values}, 'arm_node')


def test_defaults_are_taken_and_integers_pass_for_floats() -> None:
    assert made(rate_hz=10) == ArmParameters(address='arm', rate_hz=10.0)
    assert type(made(rate_hz=10).rate_hz) is float


def test_text_of_graph_arguments_becomes_the_type_of_the_parameter() -> None:
    got = made(rate_hz='2.5', retries='3', simulated='true', roles='head,wrist', offsets='0.5')
    assert got == ArmParameters(
        *(),
        address='arm',
        rate_hz=2.5,
        retries=3,
        simulated=True,
        roles=('head', 'wrist'),
        offsets=(0.5,),
    )
    assert made(roles='').roles == ()
    assert made(roles=['head']).roles == ('head',)


@pytest.mark.parametrize(
    ('values', 'line'),
    [
        ({'rate_hz': 0.0}, "arm_node: parameter 'rate_hz' is 0.0; allowed: 0.1 to 100"),
        ({'rate_hz': float('nan')}, "arm_node: parameter 'rate_hz' is nan; allowed: finite"),
        ({'rate_hz': 'fast'}, "arm_node: parameter 'rate_hz' is 'fast'; allowed: float"),
        ({'rate_hz': True}, "arm_node: parameter 'rate_hz' is True; allowed: float"),
        ({'retries': -1}, "arm_node: parameter 'retries' is -1; allowed: at least 0"),
        ({'retries': 1.5}, "arm_node: parameter 'retries' is 1.5; allowed: int"),
        ({'simulated': 'maybe'}, "arm_node: parameter 'simulated' is 'maybe'; allowed: bool"),
        ({'simulated': 1}, "arm_node: parameter 'simulated' is 1; allowed: bool"),
        ({'roles': ['foot']}, "arm_node: parameter 'roles' is 'foot'; allowed: head, wrist"),
        ({'roles': 3}, "arm_node: parameter 'roles' is 3; allowed: a list of str"),
        ({'offsets': [2.0]}, "arm_node: parameter 'offsets' is 2.0; allowed: at most 1"),
        ({'address': 7}, "arm_node: parameter 'address' is 7; allowed: str"),
        ({'adress': 'x'}, "arm_node: unknown parameter 'adress'; known: address, offsets"),
    ],
)
def test_wrong_values_are_refused_with_one_line(values: dict[str, Any], line: str) -> None:
    with pytest.raises(ParameterError) as error:
        made(**values)
    assert str(error.value).startswith(line)
    assert '\n' not in str(error.value)


def test_a_parameter_without_default_must_be_given() -> None:
    with pytest.raises(ParameterError, match="arm_node: parameter 'address' must be given: Addr"):
        parameters_from_values(ArmParameters, {}, 'arm_node')


def test_the_dataclass_itself_refuses_too() -> None:
    with pytest.raises(ParameterError, match='rate_hz'):
        ArmParameters(address='arm', rate_hz=-1.0)


def test_infos_keep_description_and_order() -> None:
    infos = parameter_infos(ArmParameters)
    assert list(infos)[:2] == ['address', 'rate_hz']
    assert infos['rate_hz'].description == 'Rate.'
    assert infos['rate_hz'].read_only
