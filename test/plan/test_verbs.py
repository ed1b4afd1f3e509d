"""One table of verbs for all who read a sentence."""

from collections import Counter

import pytest

from structrl_ros.plan.instruction import Clause
from structrl_ros.plan.instruction import split_clauses
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.verbs import ACTIONS


def test_each_word_asks_for_one_action():
    counts = Counter(word for words in ACTIONS.values() for word in words)
    assert set(counts.values()) == {1}


@pytest.mark.parametrize('word', [*ACTIONS['take'], *ACTIONS['place'], *ACTIONS['push']])
def test_planner_and_operators_read_the_same_words(word):
    kind, primitive = {
        **dict.fromkeys(ACTIONS['take'], ('take', Primitive.GRASP_LIFT)),
        **dict.fromkeys(ACTIONS['place'], ('place', Primitive.PLACE_TRANSFER)),
        **dict.fromkeys(ACTIONS['push'], ('push', Primitive.PUSH_MOVE)),
    }[word]
    assert split_clauses(f'{word} the cup') == (Clause(kind, 'cup'),)
    found = parse_manipulation(f'{word} the cup')
    assert found.primitives[-1] is primitive
    assert found.target == 'cup'


def test_to_move_is_to_place_for_a_plan_and_to_push_for_the_operators():
    assert split_clauses('move the cup to the plate')[0].kind == 'place'
    assert parse_manipulation('move the cup to the plate').primitives == (Primitive.PUSH_MOVE,)
