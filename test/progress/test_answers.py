"""What every GRM does alike with queries and answers."""

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.progress.answers import check_query
from structrl_ros.progress.answers import hops_of
from structrl_ros.progress.answers import only_queries
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import make_views

LAYOUT = Layout(cell_px=4, grid=2)


def query(layout=LAYOUT):
    rollout = Rollout(layout)
    for t in range(2):
        rollout.observe(t, make_views({'head': np.full((8, 8, 3), t, np.uint8)}, 8))
    return rollout.forward()


def test_hops_are_the_answers_in_bounds_and_what_is_no_number_is_never_a_hop():
    answers = np.array([50.0, -250.0, 100.5, np.nan, np.inf, -np.inf])
    assert np.array_equal(
        hops_of(answers), [0.5, -1.0, 1.0, np.nan, np.nan, np.nan], equal_nan=True
    )


def test_a_query_of_another_layout_or_none_is_one_line():
    asked = query()
    assert only_queries([asked, asked]) == [asked, asked]
    with pytest.raises(ParameterError, match='context of type str; allowed: Query'):
        only_queries([asked, 'frame 3'])
    check_query(asked, LAYOUT, 8)
    with pytest.raises(ParameterError, match='views of 8 px; allowed: 16'):
        check_query(asked, LAYOUT, 16)
    static = query(Layout(pre_panels=0, between_panels=0, cell_px=4, grid=2))
    with pytest.raises(ParameterError, match=r'panels before of shape \(0, 8, 8, 3\); allowed'):
        check_query(static, LAYOUT, 8)
