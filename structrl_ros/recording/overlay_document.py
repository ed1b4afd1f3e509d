"""The HTML of the overlay page, in the colours of the reports."""

from __future__ import annotations

from jinja2 import Environment
from jinja2 import PackageLoader
from jinja2 import StrictUndefined
from markupsafe import Markup

from structrl_ros.evaluation.alignment import MODES
from structrl_ros.recording.report_style import palette_rules


def overlay_document(role: str) -> str:
    """Return the page; it asks its own server for pictures and state, and nobody else."""
    environment = Environment(
        loader=PackageLoader('structrl_ros.recording', '.'),
        autoescape=True,
        undefined=StrictUndefined,
    )
    template = environment.get_template('overlay_page.html')
    return template.render(role=role, modes=MODES, palette=Markup(palette_rules()))
