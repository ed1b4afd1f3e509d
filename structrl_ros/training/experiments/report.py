"""The report of experiments: one self-contained HTML file, from the results document."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from structrl_ros.models.whole_files import whole_file
from structrl_ros.recording.report_pages import render_page
from structrl_ros.training.experiments.charts import chart_rules
from structrl_ros.training.experiments.charts import curves_chart
from structrl_ros.training.experiments.charts import overview
from structrl_ros.training.experiments.charts import seeds_chart
from structrl_ros.types import JsonObject

#: Measures that are counts and not shares: fewer digits.
_COUNTS = ('steps', 'idle')


def write_report(folder: Path, document: JsonObject) -> Path:
    """Write report.html and overview.svg into a folder, and return the path of the report.

    Raises:
        CheckpointError: If a file cannot be written.
    """
    path = folder / 'report.html'
    for place, words in (
        (path, render_report(document)),
        (folder / 'overview.svg', overview(document['experiments'])),
    ):
        with whole_file(place) as part:
            part.write_text(f'{words}\n', encoding='utf-8')
    return path


def render_report(document: JsonObject) -> str:
    """Return the HTML; it needs no network and no other file."""
    return render_page(
        'report_learning.html',
        package='structrl_ros.training.experiments',
        filters={'figure': figure, 'interval': interval},
        document=document,
        rules=Markup(chart_rules()),
        seeds_charts={e['name']: Markup(seeds_chart(e)) for e in document['experiments']},
        curves_charts={e['name']: Markup(curves_chart(e)) for e in document['experiments']},
        most_seeds={
            e['name']: max(arm['seeds'] for arm in e['arms']) for e in document['experiments']
        },
    )


def figure(value: float | None, measure: str = '') -> str:
    """Return a number as tables show it, '' for none."""
    if value is None:
        return ''
    return f'{value:.1f}' if measure in _COUNTS else f'{value:.3f}'


def interval(found: JsonObject, measure: str = '') -> str:
    """Return '[0.210, 0.482]', '' where there is no interval."""
    if found['low'] is None:
        return ''
    return f'[{figure(found["low"], measure)}, {figure(found["high"], measure)}]'
