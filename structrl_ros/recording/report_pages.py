"""From a template and values to a self-contained page; all reports have one base."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from jinja2 import ChoiceLoader
from jinja2 import Environment
from jinja2 import PackageLoader
from jinja2 import StrictUndefined
from markupsafe import Markup

from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.report_style import palette_rules


def render_page(
    template: str,
    *,
    package: str = 'structrl_ros.recording',
    filters: Mapping[str, Callable[..., str]] | None = None,
    **values: Any,
) -> str:
    """Return the HTML of a page; it needs no network and no other file.

    Args:
        template: Name of the template; it extends `report_base.html`.
        package: Where the template lies.
        filters: More filters of the template, by name.
        values: What the template shows; text is escaped, `Markup` is not.
    """
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, '.'), PackageLoader('structrl_ros.recording', '.')]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        ms=_milliseconds, seconds=_seconds, number=_number, percent=percent, bounds=_bounds
    )
    environment.filters.update(filters or {})
    environment.globals.update(palette=Markup(palette_rules()), series=SERIES)
    return environment.get_template(template).render(**values)


def percent(rate: float | None) -> str:
    """Return '83.0 %', '-' for none."""
    return '-' if rate is None else f'{rate * 100:.1f} %'


def _bounds(interval: tuple[float, float] | None) -> str:
    """Return '[74.5 %, 89.1 %]', '' for none."""
    return '' if interval is None else f'[{percent(interval[0])}, {percent(interval[1])}]'


def _milliseconds(seconds: float | None) -> str:
    return '-' if seconds is None else f'{seconds * 1e3:.1f}'


def _seconds(seconds: float | None) -> str:
    return '-' if seconds is None else f'{seconds:.2f}'


def _number(value: float | None, digits: int = 6) -> str:
    return '-' if value is None else f'{value:.{digits}f}'
