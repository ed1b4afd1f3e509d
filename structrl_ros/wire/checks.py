"""Field checks of the codecs: rclpy's own are off by default, so the contract is checked here.

Every failing check raises `MessageError` with one line that names message, field, what was got
and what is allowed.
"""

from __future__ import annotations

import array
import math
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NoReturn

import numpy as np

from structrl_ros.errors import MessageError

#: Longest list of names (objects, predicates, subtasks, joints) in a message.
MAX_NAMES = 1024
#: Longest text in characters.
MAX_TEXT = 65_536
#: Most values in an array of numbers (a chunk, a simulator state).
MAX_VALUES = 1_048_576

UINT16 = 2**16 - 1
UINT32 = 2**32 - 1
UINT64 = 2**64 - 1


def checked_text(message: str, field: str, value: str) -> str:
    """Return a text that survives the wire: no NUL, valid UTF-8, at most MAX_TEXT characters."""
    if not isinstance(value, str):
        raise MessageError(f'{message}.{field} is {type(value).__name__}; allowed: str')
    if len(value) > MAX_TEXT:
        raise MessageError(
            f'{message}.{field} has {len(value)} characters; allowed: at most {MAX_TEXT}'
        )
    if '\0' in value:
        raise MessageError(f'{message}.{field} holds a NUL character; allowed: text without NUL')
    try:
        value.encode('utf-8')
    except UnicodeEncodeError:
        raise MessageError(f'{message}.{field} is no valid UTF-8') from None
    return value


def checked_names(message: str, field: str, values: Iterable[str]) -> list[str]:
    """Return a list of at most MAX_NAMES checked texts."""
    names = list(values)
    checked_count(message, field, len(names), MAX_NAMES)
    return [checked_text(message, f'{field}[{i}]', name) for i, name in enumerate(names)]


def checked_count(message: str, field: str, count: int, limit: int) -> None:
    """Refuse an over-long array."""
    if count > limit:
        raise MessageError(f'{message}.{field} has {count} entries; allowed: at most {limit}')


def checked_int(message: str, field: str, value: int, high: int, low: int = 0) -> int:
    """Return an integer within [low, high], the range of the field's type."""
    number = int(value)
    if number != value or not low <= number <= high:
        raise MessageError(f'{message}.{field} is {value}; allowed: integers {low} to {high}')
    return number


def checked_float(message: str, field: str, value: float) -> float:
    """Return a finite number."""
    number = float(value)
    if not math.isfinite(number):
        raise MessageError(f'{message}.{field} is {number}; allowed: finite numbers')
    return number


def checked_duration(message: str, field: str, value: float, *, zero: bool = True) -> float:
    """Return a duration in seconds: finite, and positive (or zero where `zero` allows it)."""
    seconds = checked_float(message, field, value)
    if seconds < 0.0 or (seconds == 0.0 and not zero):
        allowed = 'zero or positive' if zero else 'positive'
        raise MessageError(f'{message}.{field} is {seconds} s; allowed: {allowed} seconds')
    return seconds


def checked_unit(message: str, field: str, value: float, low: float = 0.0) -> float:
    """Return a number within [low, 1]."""
    number = checked_float(message, field, value)
    if not low <= number <= 1.0:
        raise MessageError(f'{message}.{field} is {number}; allowed: {low:g} to 1')
    return number


def checked_values(message: str, field: str, values: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return a flat or shaped array of finite numbers as a contiguous copy of `dtype`.

    Raises:
        MessageError: If it holds more than MAX_VALUES numbers, NaN or infinity.
    """
    numbers = np.array(values, dtype=dtype, order='C')
    checked_count(message, field, numbers.size, MAX_VALUES)
    finite = np.isfinite(numbers)
    if not finite.all():
        at = int(np.flatnonzero(~finite.ravel())[0])
        got = numbers.ravel()[at]
        raise MessageError(f'{message}.{field}[{at}] is {got}; allowed: finite numbers')
    return numbers


def refuse_shape(message: str, field: str, shape: Sequence[int], allowed: str) -> NoReturn:
    """Raise the error of an array whose shape the contract does not know."""
    raise MessageError(f'{message}.{field} has shape {tuple(shape)}; allowed: {allowed}')


def as_array(values: np.ndarray[Any, Any]) -> array.array[Any]:
    """Return the numbers as `array.array`, which rclpy takes without a copy per element."""
    flat = array.array(values.dtype.char)
    flat.frombytes(values.tobytes())
    return flat
