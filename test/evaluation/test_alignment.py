"""Overlays of a live picture over a reference, and what the score and the shift say."""

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.alignment import EDGE_COLOUR
from structrl_ros.evaluation.alignment import Overlay
from structrl_ros.evaluation.alignment import edges


def scene(right=0, down=0, thing=(60, 40), size=(120, 192)):
    """Return a table with a pattern and a red thing, or none."""
    random = np.random.default_rng(0)
    pattern = np.kron(random.integers(90, 150, (40, 60, 1)), np.ones((8, 8, 3)))
    image = pattern[80 - down : 80 - down + size[0], 80 - right : 80 - right + size[1]].copy()
    if thing:
        x, y = thing
        image[y : y + 24, x : x + 24] = (230, 20, 20)
    return image.astype(np.uint8)


def test_equal_pictures_score_one_and_lie_upon_each_other():
    overlay = Overlay(scene())
    assert overlay.match(scene()).score == pytest.approx(1.0)
    assert overlay.shift_px(scene()) == (0.0, 0.0)
    assert not overlay.draw(scene(), 'difference', 1.0).any()


def test_light_alone_leaves_the_score():
    darker = (scene().astype(float) * 0.6 + 20).astype(np.uint8)
    assert Overlay(scene()).match(darker).score > 0.95


def test_the_score_falls_with_the_distance_of_a_small_thing():
    overlay = Overlay(scene())
    scores = [overlay.match(scene(thing=(60 + far, 40))).score for far in (0, 4, 12)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] - scores[-1] > 0.2


def test_the_worst_part_is_where_a_thing_is_missing():
    found = Overlay(scene(thing=(12, 84))).match(scene(thing=None))
    assert found.worst < 0.6
    assert found.worst_at[0] < 0.3
    assert found.worst_at[1] > 0.6


def test_a_moved_camera_is_told_by_its_shift():
    found = Overlay(scene()).shift_px(scene(right=12, down=-8, thing=(72, 32)))
    assert found == pytest.approx((12.0, -8.0), abs=2.0)


def test_pictures_without_structure_score_zero():
    flat = np.full((32, 32, 3), 90, np.uint8)
    assert Overlay(flat).match(flat).score == 0.0


def test_a_blend_is_the_weighted_mean():
    reference, live = np.full((8, 8, 3), 200, np.uint8), np.full((8, 8, 3), 100, np.uint8)
    overlay = Overlay(reference)
    assert (overlay.draw(live, 'blend', 0.0) == 100).all()
    assert (overlay.draw(live, 'blend', 0.25) == 125).all()
    assert (overlay.draw(live, 'blend', 1.0) == 200).all()


def test_edges_of_the_reference_are_drawn_and_nothing_else_changes():
    reference, live = scene(), scene(thing=(100, 60))
    drawn = Overlay(reference).draw(live, 'edges', 1.0)
    mask = edges(reference)
    assert 0.03 < mask.mean() < 0.12
    assert (drawn[~mask] == live[~mask]).all()
    assert np.abs(drawn[mask].astype(int) - EDGE_COLOUR).max() <= 1


def test_a_difference_is_bright_where_a_thing_was_and_is():
    drawn = Overlay(scene(thing=(20, 20))).draw(scene(thing=(120, 80)), 'difference', 1.0)
    assert drawn[25:40, 25:40].min() > 100
    assert drawn[85:100, 125:140].min() > 100
    assert drawn[60:70, 70:90].max() == 0


@pytest.mark.parametrize(
    ('mode', 'alpha', 'shape', 'line'),
    [
        ('mix', 0.5, (120, 192, 3), "overlay 'mix' with alpha 0.5; allowed: blend, edges"),
        ('blend', 1.5, (120, 192, 3), 'alpha 1.5; allowed'),
        ('blend', 0.5, (64, 64, 3), r'picture of shape \(64, 64, 3\); allowed: \(120, 192, 3\)'),
    ],
)
def test_what_cannot_be_drawn_is_refused(mode, alpha, shape, line):
    with pytest.raises(ParameterError, match=line):
        Overlay(scene()).draw(np.zeros(shape, np.uint8), mode, alpha)


def test_what_is_no_reference_is_refused():
    with pytest.raises(ParameterError, match='8 pixels and more'):
        Overlay(np.zeros((4, 4, 3), np.uint8))
