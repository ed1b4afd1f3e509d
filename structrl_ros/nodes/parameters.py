"""ROS parameters of a node from its dataclass in `params/`: declared, checked and read back."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any
from typing import TypeVar

from rcl_interfaces.msg import FloatingPointRange
from rcl_interfaces.msg import IntegerRange
from rcl_interfaces.msg import ParameterDescriptor
from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import ParameterInfo
from structrl_ros.params.parameter import bounds_text
from structrl_ros.params.parameter import parameter_infos
from structrl_ros.params.parameter import parameters_from_values

Parameters = TypeVar('Parameters')

_LARGEST_INT = 2**63 - 1
_LARGEST_FLOAT = 1.7976931348623157e308


def declare(node: Node, kind: type[Parameters]) -> Parameters:
    """Declare the parameters of a dataclass on a node and return their values.

    Types are dynamic for ROS and checked by the dataclass, so `rate_hz:=10` is taken for 10.0.
    Parameters that are not read-only may be set while the node runs; a value that the dataclass
    refuses is refused. Read them again with `current`.

    Raises:
        ParameterError: If a value is not allowed or one without default is absent; the line
            names the node.
    """
    infos, hints = parameter_infos(kind), typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        default = None if field.default is dataclasses.MISSING else field.default
        descriptor = _descriptor(infos[field.name], hints[field.name])
        try:
            node.declare_parameter(field.name, _to_ros(default), descriptor)
        except ParameterException as error:
            raise ParameterError(f'{node.get_name()}: {error}') from None
    values = current(node, kind)
    if not all(info.read_only for info in infos.values()):
        node.add_on_set_parameters_callback(lambda changes: _judge(node, kind, changes))
    return values


def current(node: Node, kind: type[Parameters]) -> Parameters:
    """Return the parameters of a node as they are now.

    Raises:
        ParameterError: If a value is not allowed or one without default is absent.
    """
    return parameters_from_values(kind, _values(node, kind), node.get_name())


def _values(node: Node, kind: type[Any]) -> dict[str, Any]:
    names = list(parameter_infos(kind))
    values = {name: node.get_parameter(name).value for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _judge(node: Node, kind: type[Any], changes: list[Parameter]) -> SetParametersResult:
    names = parameter_infos(kind)
    changed = {change.name: change.value for change in changes if change.name in names}
    try:
        parameters_from_values(kind, {**_values(node, kind), **changed}, node.get_name())
    except ParameterError as error:
        return SetParametersResult(successful=False, reason=str(error))
    return SetParametersResult(successful=True)


def _descriptor(info: ParameterInfo, kind: Any) -> ParameterDescriptor:
    allowed = []
    if info.choices is not None:
        allowed.append('one of ' + ', '.join(str(choice) for choice in info.choices))
    if info.bounds is not None:
        allowed.append(bounds_text(info.bounds))
    descriptor = ParameterDescriptor(
        description=info.description,
        additional_constraints='; '.join(allowed),
        read_only=info.read_only,
        dynamic_typing=True,
    )
    low, high = info.bounds or (None, None)
    if info.bounds is not None and kind is int:
        first = -_LARGEST_INT if low is None else int(low)
        last = _LARGEST_INT if high is None else int(high)
        descriptor.integer_range = [IntegerRange(from_value=first, to_value=last, step=1)]
    if info.bounds is not None and kind is float:
        first_real = -_LARGEST_FLOAT if low is None else float(low)
        last_real = _LARGEST_FLOAT if high is None else float(high)
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=first_real, to_value=last_real, step=0.0)
        ]
    return descriptor


def _to_ros(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
