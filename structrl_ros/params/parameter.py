"""The pattern of a node's parameters: one frozen, keyword-only dataclass, checked in one place.

    @dataclass(frozen=True, kw_only=True)
    class SimParameters:
        seed: int = parameter(0, description='Seed of the scene.', bounds=(0, 2**31 - 1))

        def __post_init__(self) -> None:
            check_parameters(self)

The same check runs for a node's ROS parameters (`nodes/parameters.py`), for `launch/params/*.yaml`
and for a graph's arguments (`params/graph.py`). A field without default must be given: there is
none for an address, a limit or a path that could hurt somebody.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from typing import Any
from typing import TypeVar

from structrl_ros.errors import ParameterError

Parameters = TypeVar('Parameters')

_KEY = 'structrl_parameter'
_WORDS = {'true': True, 'false': False}


@dataclasses.dataclass(frozen=True, slots=True)
class ParameterInfo:
    """What is known of a parameter besides name, type and default.

    `bounds` are inclusive, None is open; `choices` are the allowed values; a parameter that is not
    `read_only` may be changed while the node runs.
    """

    description: str
    bounds: tuple[float | None, float | None] | None
    choices: tuple[Any, ...] | None
    read_only: bool


def parameter(
    default: Any = dataclasses.MISSING,
    *,
    description: str,
    bounds: tuple[float | None, float | None] | None = None,
    choices: tuple[Any, ...] | None = None,
    read_only: bool = True,
) -> Any:
    """Return a dataclass field that is a parameter.

    Args:
        default: Its value if none is given; without one the parameter must be given.
        description: One sentence with the unit.
        bounds: Inclusive lower and upper bound of a number, or of each number of a tuple.
        choices: The allowed values.
        read_only: Fixed once the node runs.
    """
    info = ParameterInfo(description, bounds, choices, read_only)
    return dataclasses.field(default=default, metadata={_KEY: info}, kw_only=True)


def parameter_infos(kind: type[Any]) -> dict[str, ParameterInfo]:
    """Return what is known of each parameter of a dataclass, in order."""
    return {field.name: field.metadata[_KEY] for field in dataclasses.fields(kind)}


def check_parameters(instance: Any) -> None:
    """Check types, bounds and choices of a whole dataclass; for its `__post_init__`.

    Raises:
        ParameterError: If a value has a wrong type or is not allowed.
    """
    kinds = typing.get_type_hints(type(instance))
    for name, info in parameter_infos(type(instance)).items():
        value = getattr(instance, name)
        _check_type(name, value, kinds[name])
        _check_allowed(name, value, info)


def parameters_from_values(
    kind: type[Parameters], values: Mapping[str, Any], where: str
) -> Parameters:
    """Return the parameters of a node from named values, as they come from YAML or ROS.

    An integer is taken where a float is due, a list where a tuple is due, and text where a number
    or truth value is due (arguments of a graph are text).

    Args:
        kind: The dataclass.
        values: Name to value; absent ones take their defaults.
        where: What the error starts with, such as the node's name.

    Raises:
        ParameterError: If a name is unknown, a value is not allowed, or one without default is
            absent.
    """
    infos, kinds = parameter_infos(kind), typing.get_type_hints(kind)
    for name in values:
        if name not in infos:
            raise ParameterError(
                f'{where}: unknown parameter {name!r}; known: {", ".join(sorted(infos))}'
            )
    absent = [
        field.name
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        if field.default is dataclasses.MISSING and field.name not in values
    ]
    if absent:
        raise ParameterError(
            f'{where}: parameter {absent[0]!r} must be given: {infos[absent[0]].description}'
        )
    converted = {name: _converted(value, kinds[name]) for name, value in values.items()}
    try:
        return kind(**converted)
    except ParameterError as error:
        raise ParameterError(f'{where}: {error}') from None


def _converted(value: Any, kind: Any) -> Any:
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        parts = value.split(',') if isinstance(value, str) and value else value
        is_list = isinstance(parts, list | tuple) or hasattr(parts, 'typecode')
        return tuple(_converted(part, element) for part in parts) if is_list else (value or ())
    if kind is float and isinstance(value, int | str) and not isinstance(value, bool):
        return _number(value, float)
    if kind is int and isinstance(value, str):
        return _number(value, int)
    if kind is bool and isinstance(value, str):
        return _WORDS.get(value.strip().lower(), value)
    return value


def _number(value: Any, kind: type[Any]) -> Any:
    try:
        return kind(value)
    except ValueError:
        return value


def _check_type(name: str, value: Any, kind: Any) -> None:
    if typing.get_origin(kind) is tuple:
        element = typing.get_args(kind)[0]
        if not isinstance(value, tuple):
            raise ParameterError(
                f'parameter {name!r} is {value!r}; allowed: a list of {element.__name__}'
            )
        for part in value:
            _check_type(name, part, element)
        return
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not fits:
        raise ParameterError(f'parameter {name!r} is {value!r}; allowed: {kind.__name__}')
    if kind is float and not math.isfinite(value):
        raise ParameterError(f'parameter {name!r} is {value}; allowed: finite numbers')


def _check_allowed(name: str, value: Any, info: ParameterInfo) -> None:
    for part in value if isinstance(value, tuple) else (value,):
        if info.choices is not None and part not in info.choices:
            known = ', '.join(str(choice) for choice in info.choices)
            raise ParameterError(f'parameter {name!r} is {part!r}; allowed: {known}')
        if info.bounds is not None and not _is_within(part, info.bounds):
            raise ParameterError(
                f'parameter {name!r} is {part}; allowed: {bounds_text(info.bounds)}'
            )


def _is_within(value: float, bounds: tuple[float | None, float | None]) -> bool:
    low, high = bounds
    return (low is None or value >= low) and (high is None or value <= high)


def bounds_text(bounds: tuple[float | None, float | None]) -> str:
    """Return bounds in words: '0 to 1', 'at least 0', 'at most 5'."""
    low, high = (None if bound is None else f'{bound:.12g}' for bound in bounds)
    if low is not None and high is not None:
        return f'{low} to {high}'
    return f'at least {low}' if low is not None else f'at most {high}'
