"""A few lines of SVG: elements with escaped text, axes with round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape


def element(name: str, *content: str, **attributes: str | float) -> str:
    """Return an element; content is markup, attributes are escaped, `_` in names becomes `-`.

    `class_` gives the attribute class.
    """
    pairs = ''.join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value), quote=True)}"'
        for key, value in attributes.items()
    )
    inner = ''.join(content)
    return f'<{name}{pairs}>{inner}</{name}>' if inner else f'<{name}{pairs}/>'


def text(words: str, x: float, y: float, class_: str = 'label', **attributes: str | float) -> str:
    """Return a text element with escaped words."""
    return element('text', escape(words), x=x, y=y, class_=class_, **attributes)


def titled(markup: str, words: str) -> str:
    """Return a group with a tooltip that screen readers read too."""
    return element('g', element('title', escape(words)), markup)


def round_ticks(low: float, high: float, about: int = 8) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten that cover [low, high] inside."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, about)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1.0, 2.0, 5.0) if raw <= m * power), 10.0 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def polyline(points: Iterable[tuple[float, float]], class_: str) -> str:
    """Return an open line through the points."""
    joined = ' '.join(f'{_number(x)},{_number(y)}' for x, y in points)
    return element('polyline', points=joined, class_=class_)


def _number(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f'{value:.2f}'.rstrip('0').rstrip('.')
