"""The page of a mismatch report: what to look at first, then everything, with pictures."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markupsafe import Markup
from PIL import Image

from structrl_ros.errors import BagError
from structrl_ros.recording.mismatch import MismatchReport
from structrl_ros.recording.mismatch_actions import dimension_names
from structrl_ros.recording.mismatch_charts import light_chart
from structrl_ros.recording.mismatch_charts import share_chart
from structrl_ros.recording.mismatch_latency import latencies
from structrl_ros.recording.report_pages import render_page
from structrl_ros.types import UInt8

#: Longest side of a shown picture in pixels, and JPEG quality (1 to 95).
LONGEST_SIDE, QUALITY = 320, 80


def write_page(report: MismatchReport, path: Path) -> Path:
    """Write the report as one self-contained page.

    Raises:
        BagError: If the file cannot be written.
    """
    try:
        path.write_text(render(report), 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write {path}: {error.strerror}') from error
    return path


def render(report: MismatchReport) -> str:
    """Return the HTML of a report; it needs no network and no other file."""
    first = report.worth_a_look
    return render_page(
        'mismatch_template.html',
        report=report,
        first=first,
        others=[line for line in report.lines if line not in first],
        pictures=list(_pictures(report)),
        latencies=list(_latencies(report)),
        actions=list(_actions(report)),
        number=format_number,
    )


def format_number(value: float) -> str:
    """Return a number with three figures that count."""
    return '0' if abs(value) < 5e-5 else f'{value:.3g}' if abs(value) < 1000 else f'{value:.0f}'


def _pictures(report: MismatchReport) -> Iterator[dict[str, Any]]:
    """Yield for each camera the middle picture of either side and the histograms."""
    for role, ours in report.sim.pictures.items():
        theirs = report.real.pictures.get(role)
        if theirs:
            yield {
                'role': role,
                'sides': [
                    (name, _data_url(side[len(side) // 2]), side[0].shape)
                    for name, side in (('first', ours), ('second', theirs))
                ],
                'chart': Markup(light_chart(role, ours, theirs)),
            }


def _latencies(report: MismatchReport) -> Iterator[tuple[str, Markup]]:
    theirs = latencies(report.real)
    for name, values in latencies(report.sim).items():
        if name in theirs:
            yield name, Markup(share_chart(name, 'ms', values, theirs[name]))


def _actions(report: MismatchReport) -> Iterator[dict[str, Any]]:
    """Yield chart and details of each dimension."""
    ours, theirs = report.sim.actions(), report.real.actions()
    details = {line.name: line.details for line in report.lines if line.details}
    if not details:
        return
    for index, name in enumerate(dimension_names(ours.shape[1])):
        line = f'action {name}'
        chart = share_chart(line, 'of the limit', ours[:, index], theirs[:, index])
        yield {'name': line, 'chart': Markup(chart), 'details': details[line]}


def _data_url(pixels: UInt8) -> str:
    picture = Image.fromarray(pixels)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    out = io.BytesIO()
    picture.save(out, 'JPEG', quality=QUALITY, optimize=True)
    return 'data:image/jpeg;base64,' + b64encode(out.getvalue()).decode('ascii')
