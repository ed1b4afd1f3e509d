"""Panels, visual order consistency, rank correlations and the reading of scores."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.progress.panels import PADDING
from structrl_ros.progress.panels import panel_indices
from structrl_ros.progress.panels import sample_window
from structrl_ros.progress.rank_correlation import average_ranks
from structrl_ros.progress.rank_correlation import spearman
from structrl_ros.progress.score_text import ScoreTextError
from structrl_ros.progress.score_text import parse_score
from structrl_ros.progress.voc import compute_voc

FOLDER = Path(__file__).parents[1] / 'golden'
PANELS = json.loads((FOLDER / 'panels.json').read_text())['cases']
VOC = json.loads((FOLDER / 'voc.json').read_text())['cases']
TIED = st.lists(st.integers(-3, 3), min_size=2, max_size=30)


def as_lists(panels):
    return [[None if i == PADDING else int(i) for i in panel] for panel in panels]


@pytest.mark.parametrize('case', PANELS, ids=[case['name'] for case in PANELS])
def test_panels_equal_golden(case):
    panels = panel_indices(**case['input'])
    assert as_lists(panels.before) == case['expected']['pre']
    assert as_lists(panels.between) == case['expected']['between']


@given(st.integers(0, 90), st.integers(0, 90), st.integers(0, 3), st.integers(0, 3))
def test_panel_frames_are_chronological_and_inside_their_window(t_before, t_after, pre, between):
    first, last = sorted((t_before, t_after))
    panels = panel_indices(t_before, t_after, pre_panels=pre, between_panels=between, grid=2)
    for cells, low, high in ((panels.before, 0, first), (panels.between, first + 1, last)):
        frames = [int(i) for i in cells.ravel() if i != PADDING]
        assert frames == sorted(set(frames))
        assert all(low <= frame < high for frame in frames)
        assert len(frames) == min(max(high - low, 0), cells.size)
        assert all(i == PADDING for i in cells.ravel()[len(frames) :])


@given(st.integers(2, 20), st.integers(0, 200))
def test_crowded_window_keeps_its_first_and_last_frame(capacity, more):
    cells = sample_window(10, 10 + capacity + more, capacity)
    assert (cells[0], cells[-1]) == (10, 10 + capacity + more - 1)


def test_one_cell_shows_the_middle_frame():
    assert list(sample_window(3, 8, 1)) == [5]


@pytest.mark.parametrize('field', ['t_before', 't_after', 'pre_panels', 'between_panels', 'grid'])
def test_negative_panel_argument_is_refused(field):
    arguments = {'t_before': 0, 't_after': 1, 'pre_panels': 1, 'between_panels': 1, 'grid': 1}
    with pytest.raises(ParameterError, match=f'^{field}: '):
        panel_indices(**arguments | {field: -1})


@pytest.mark.parametrize('case', VOC, ids=[case['name'] for case in VOC])
def test_voc_equals_golden(case):
    assert compute_voc(**case['input']) == pytest.approx(case['expected']['voc'], abs=1e-9)


@given(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=40))
def test_voc_of_rising_hops_is_one(hops):
    truth = np.linspace(0.0, 0.9, len(hops) + 1)
    potential = 1.0 - np.cumprod([1.0, *(1.0 - np.array(hops))])
    if len(set(potential)) == len(potential):
        assert compute_voc(hops, list(truth), [0] * len(hops)) == pytest.approx(1.0)


def test_voc_of_a_constant_prediction_is_zero_not_nan():
    assert compute_voc([0.0] * 4, [0.0, 0.25, 0.5, 0.75, 1.0], [0] * 4) == 0.0


def test_one_unparseable_hop_excludes_the_video_instead_of_zeroing_it():
    hops = [0.1] * 19
    truth = list(np.linspace(0.0, 1.0, 20))
    assert compute_voc(hops, truth, [0] * 19) == pytest.approx(1.0)
    hops[7] = float('nan')
    assert compute_voc(hops, truth, [0] * 19) is None


def test_voc_of_fewer_than_two_frames_is_none():
    assert compute_voc([], [0.0], []) is None
    assert compute_voc([], [], []) is None


def test_voc_lengths_that_differ_are_refused():
    with pytest.raises(ParameterError, match=r'^floors: '):
        compute_voc([0.1], [0.0, 1.0], [0, 0])
    with pytest.raises(ParameterError, match=r'^hops: '):
        compute_voc([0.1, 0.2], [0.0, 1.0], [0])


@given(TIED)
def test_average_ranks_equal_scipy(values):
    stats = pytest.importorskip('scipy.stats')
    ranked = average_ranks(np.array(values, dtype=float))
    np.testing.assert_array_equal(ranked, stats.rankdata(values))


@given(TIED, st.randoms())
def test_rank_correlation_equals_scipy_and_is_symmetric(values, random):
    stats = pytest.importorskip('scipy.stats')
    other = random.sample(values, len(values))
    if len(set(values)) < 2:
        assert spearman(values, other) == 0.0
    else:
        expected = stats.spearmanr(values, other)[0]
        assert spearman(values, other) == pytest.approx(expected, abs=1e-12)
    assert spearman(values, other) == spearman(other, values)


def test_correlation_of_one_point_is_none_not_a_division_by_zero():
    assert spearman([1.0], [1.0]) is None
    assert spearman([1.0, float('nan')], [1.0, 2.0]) is None


@pytest.mark.parametrize(
    ('text', 'hop'),
    [
        ('<score>+33%</score>', 0.33),
        ('Moving closer. <score> -20 % </score>\n', -0.2),
        ('<score>\N{MINUS SIGN}40%</score>', -0.4),
        ('<score>33%</score>', 0.33),
        ('<score>33</score>', 0.33),
        ('<score>+0.5%</score>', 0.005),
        ('<score>0%</score>', 0.0),
        ('<score>-100%</score>', -1.0),
    ],
)
def test_score_text_is_read(text, hop):
    assert parse_score(text) == pytest.approx(hop, abs=1e-15)


@pytest.mark.parametrize(
    'text',
    [
        '',
        '33%',
        'score: 33%',
        '<score>N/A</score>',
        '<score></score>',
        '<score>Error</score>',
        '<score>+10%</score><score>+90%</score>',
        '<score><score>+10%</score></score>',
        '<score>+10%</score></score>',
        '<score>+101%</score>',
        '<score>1e2%</score>',
        '<score>+-10%</score>',
        '<score>10%%</score>',
        '<score>nan</score>',
        '<score>٣٣%</score>',
        '<score>+10%',
        '<score>' * 40_000,
    ],
)
def test_score_that_cannot_be_parsed_is_an_error_and_never_zero(text):
    with pytest.raises(ScoreTextError):
        parse_score(text)


@given(st.text(alphabet='<score>/+-0123456789.% NA', max_size=60))
def test_any_text_gives_a_score_in_bounds_or_the_typed_error(text):
    try:
        assert -1.0 <= parse_score(text) <= 1.0
    except ScoreTextError as error:
        assert '\n' not in str(error)
