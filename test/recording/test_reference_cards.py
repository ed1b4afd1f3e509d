"""References by their number, at the size of what is laid over them."""

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.recording.reference_cards import ReferenceCards
from structrl_ros.recording.references import Reference


def picture(level, height=16, width=24):
    return np.full((height, width, 3), level, dtype=np.uint8)


def test_without_a_reference_the_first_picture_is_one_and_stays_it():
    cards = ReferenceCards()
    with pytest.raises(ParameterError, match='no picture has come'):
        cards.reference(0)
    live = picture(7)
    cards.see(live)
    live[:] = 0
    cards.see(picture(9))
    assert len(cards.references) == 1
    assert (cards.reference(0).picture == 7).all()


def test_an_overlay_has_the_size_of_the_live_picture_and_is_made_once_for_it():
    given = (Reference('a', '', picture(1)), Reference('b', '', picture(2)))
    cards = ReferenceCards(given)
    cards.see(picture(9))
    assert cards.references == given
    small, large = picture(0), picture(0, 32, 40)
    first = cards.overlay(1, small)
    assert (first.reference == 2).all()
    assert cards.overlay(1, small) is first
    assert cards.overlay(0, large).reference.shape == large.shape
    assert cards.overlay(1, small) is not first  # overlays of another size are let go


@pytest.mark.parametrize('card', [-1, 2])
def test_a_card_that_is_not_there_is_refused(card):
    cards = ReferenceCards([Reference('a', '', picture(1)), Reference('b', '', picture(2))])
    with pytest.raises(ParameterError, match=f'card {card}; allowed: 0 to 1'):
        cards.overlay(card, picture(0))
