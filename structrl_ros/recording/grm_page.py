"""The page of a VOC benchmark: tables, and curves of progress beside the truth."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from structrl_ros import __version__
from structrl_ros.errors import BagError
from structrl_ros.evaluation.grm_paired import ArmDifference
from structrl_ros.evaluation.grm_scores import ModelResult
from structrl_ros.evaluation.grm_scores import TrajectoryScore
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.recording.report_pages import render_page
from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.svg import element
from structrl_ros.recording.svg import polyline
from structrl_ros.recording.svg import round_ticks
from structrl_ros.recording.svg import text
from structrl_ros.recording.svg import titled

_WIDTH, _HEIGHT = 480.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 8.0, 10.0, 34.0


def write_grm_page(
    path: Path,
    models: Sequence[ModelResult],
    differences: Sequence[ArmDifference],
    facts: Mapping[str, str],
    *,
    each: int = 2,
) -> Path:
    """Write the benchmark as one self-contained page.

    Args:
        path: Of the page.
        models: In the order of the tables; the first `SERIES` of them have curves.
        differences: Of arms.
        facts: What it was measured on, name to words.
        each: Trajectories of each family that are drawn, the first ones with a VOC.

    Raises:
        BagError: If the file cannot be written.
    """
    drawn = models[:SERIES]
    page = render_page(
        'report_grm.html',
        models=models,
        differences=differences,
        facts=facts,
        families=[family.value for family in VocFamily],
        keys=[entry.label for entry in drawn],
        charts={
            family.value: [
                (name, Markup(curve_chart(name, [_of(entry, name) for entry in drawn], drawn)))
                for name in _first_of(models[0].scores, family, each)
            ]
            for family in VocFamily
        },
        version=__version__,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write {path}: {error.strerror}') from error
    return path


def _first_of(scores: Sequence[TrajectoryScore], family: VocFamily, each: int) -> list[str]:
    """Return the trajectories that are drawn: an episode each, as long as there are some."""
    mine = [score for score in scores if score.family == family and score.estimate]
    firsts = {score.episode: score for score in reversed(mine)}
    ordered = [score for score in mine if firsts[score.episode] is score]
    ordered += [score for score in mine if firsts[score.episode] is not score]
    return [score.trajectory for score in ordered[:each]]


def _of(entry: ModelResult, name: str) -> TrajectoryScore:
    return next(score for score in entry.scores if score.trajectory == name)


def curve_chart(
    name: str, scores: Sequence[TrajectoryScore], models: Sequence[ModelResult]
) -> str:
    """Return the SVG of one trajectory: the truth dashed, an estimate of each model."""
    truth = scores[0].truth
    values = [value for score in scores for value in (*score.truth, *score.estimate)]
    low = -1.0 if min(values, default=0.0) < 0.0 else 0.0
    span = _WIDTH - _LEFT - _RIGHT

    def point(t: int, value: float) -> tuple[float, float]:
        share = (value - low) / (1.0 - low)
        x = _LEFT + span * t / max(len(truth) - 1, 1)
        return x, _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share

    parts = []
    for tick in round_ticks(low, 1.0, 4):
        y = point(0, tick)[1]
        parts.append(element('line', x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_='grid'))
        parts.append(text(f'{tick:g}', _LEFT - 6, y + 4, 'tick', text_anchor='end'))
    for tick in round_ticks(0.0, len(truth) - 1, 6):
        x = point(int(tick), low)[0]
        parts.append(text(f'{tick:g}', x, _HEIGHT - 16, 'tick', text_anchor='middle'))
    middle = _LEFT + span / 2.0
    parts.append(text('frame', middle, _HEIGHT - 2, 'tick', text_anchor='middle'))
    line = polyline([point(t, value) for t, value in enumerate(truth)], 'line truth dashed')
    parts.append(titled(line, 'true potential'))
    for number, (score, model) in enumerate(zip(scores, models, strict=True)):
        points = [point(t, value) for t, value in enumerate(score.estimate)]
        voc = 'none' if score.voc is None else f'{score.voc:.3f}'
        line = polyline(points, f'line term{number}')
        parts.append(titled(line, f'{model.label}: VOC {voc}'))
    return element(
        'svg',
        element('title', f'Progress of {name}'),
        *parts,
        viewBox=f'0 0 {_WIDTH:.0f} {_HEIGHT:.0f}',
        role='img',
        class_='chart small-chart',
        aria_label=f'True potential and estimates over the frames of {name}',
    )
