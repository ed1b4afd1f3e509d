"""Grounding of phrases to predicates, and the monitor that reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.naming import counted
from structrl_ros.naming import expand
from structrl_ros.naming import fold
from structrl_ros.naming import match_handle
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.ports import Monitor
from structrl_ros.subtasks.grounding import ground
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Observation
from structrl_ros.types import Predicates

NAMES = (
    'in(alphabet_soup_1, basket_1_contain_region)',
    'in(tomato_sauce_1, basket_1_contain_region)',
    'on(moka_pot_1, flat_stove_1_cook_region)',
    'on(moka_pot_2, flat_stove_1_cook_region)',
    'turnon(flat_stove_1)',
    'close(white_cabinet_1_bottom_region)',
    'open(white_cabinet_1_middle_region)',
    'in(akita_black_bowl_1, white_cabinet_1_bottom_region)',
    'on(akita_black_bowl_1, white_cabinet_1_top_side)',
    'on(porcelain_mug_1, plate_1)',
    'on(white_yellow_mug_1, plate_2)',
    'on(chocolate_pudding_1, living_room_table_plate_right_region)',
    'on(plate_1, main_table_stove_front_region)',
    'in(black_book_1, desk_caddy_1_back_contain_region)',
    'on(wine_bottle_1, wine_rack_1_top_region)',
    'in(white_yellow_mug_1, microwave_1_heating_region)',
    'close(microwave_1)',
    'grasp(alphabet_soup_1)',
    'grasp(moka_pot_1)',
    'grasp(moka_pot_2)',
    'grasp(porcelain_mug_1)',
    'grasp(akita_black_bowl_1)',
)


def _plan(*phrases):
    return to_plan(parse_plan('\n'.join(phrases)))


@pytest.mark.parametrize(
    ('phrase', 'name'),
    [
        ('grasp the alphabet soup', 'grasp(alphabet_soup_1)'),
        ('pick up the soup', 'grasp(alphabet_soup_1)'),
        ('put alphabet_soup in the basket', 'in(alphabet_soup_1, basket_1_contain_region)'),
        ('put the sauce into the wicker basket', 'in(tomato_sauce_1, basket_1_contain_region)'),
        ('turn on the stove', 'turnon(flat_stove_1)'),
        ('close the bottom drawer of the cabinet', 'close(white_cabinet_1_bottom_region)'),
        ('close the lower drawer', 'close(white_cabinet_1_bottom_region)'),
        ('open the middle drawer', 'open(white_cabinet_1_middle_region)'),
        (
            'put the black bowl in the bottom drawer of the cabinet',
            'in(akita_black_bowl_1, white_cabinet_1_bottom_region)',
        ),
        (
            'put the bowl on top of the cabinet',
            'on(akita_black_bowl_1, white_cabinet_1_top_side)',
        ),
        ('put the white mug on the left plate', 'on(porcelain_mug_1, plate_1)'),
        ('put the yellow and white mug on the right plate', 'on(white_yellow_mug_1, plate_2)'),
        (
            'put the pudding to the right of the plate',
            'on(chocolate_pudding_1, living_room_table_plate_right_region)',
        ),
        (
            'put the plate to the front of the flat stove',
            'on(plate_1, main_table_stove_front_region)',
        ),
        (
            'place the book in the back compartment of the caddy',
            'in(black_book_1, desk_caddy_1_back_contain_region)',
        ),
        ('put the wine on the rack', 'on(wine_bottle_1, wine_rack_1_top_region)'),
        ('close microwave', 'close(microwave_1)'),
        ('grasp moka pot 2', 'grasp(moka_pot_2)'),
        ('grasp black bowl next to the ramekin', 'grasp(akita_black_bowl_1)'),
    ],
)
def test_phrase_grounds_to_its_predicate(phrase, name):
    assert ground(_plan(phrase)[0], NAMES) == name


@pytest.mark.parametrize(
    'phrase',
    [
        'close the middle drawer',  # only its opening is published
        'open the bottom drawer',  # only its closing is published
        'turn off the stove',
        'grasp the yellow and white mug',
        'grasp the ketchup',
        'put the bowl in the top drawer',  # on the cabinet is not in its drawer
        'put the white mug in the microwave',  # another mug is meant there
        'put the pudding on the plate',  # beside the plate is not on it
        'put the book in the front compartment of the caddy',
        'grasp moka pot 3',
        'pour the soup into the bowl',
        'stir the soup for a while',
    ],
)
def test_phrase_without_predicate_grounds_to_none(phrase):
    assert ground(_plan(phrase)[0], NAMES) is None


def test_two_equal_steps_ground_to_two_things_and_grasp_agrees_with_place():
    pot = ('grasp moka pot', 'place moka pot on stove')
    grounded = ground_all(_plan(*pot, *pot), NAMES)
    assert grounded == {
        'grasp(moka pot)': 'grasp(moka_pot_1)',
        'place(moka pot, stove)': 'on(moka_pot_1, flat_stove_1_cook_region)',
        'grasp(moka pot)#2': 'grasp(moka_pot_2)',
        'place(moka pot, stove)#2': 'on(moka_pot_2, flat_stove_1_cook_region)',
    }


def test_second_of_two_equal_steps_stays_the_second_when_only_it_is_left():
    pot = ('grasp moka pot', 'place moka pot on stove')
    steps = _plan(*pot, *pot)
    whole = ground_all(steps, NAMES)
    for left in (steps[2:], steps[3:], steps[2:3]):
        assert ground_all(left, NAMES) == {s.id: whole[s.id] for s in left}
    assert ground(steps[3], NAMES) == 'on(moka_pot_2, flat_stove_1_cook_region)'


def test_numbered_steps_keep_their_number_in_any_order():
    grounded = ground_all(_plan('grasp moka pot 2', 'grasp moka pot'), NAMES)
    assert list(grounded.values()) == ['grasp(moka_pot_2)', 'grasp(moka_pot_1)']


def test_grasp_follows_the_thing_of_the_next_placing():
    names = ('grasp(bowl_1)', 'grasp(bowl_2)', 'on(bowl_2, plate_1)')
    grounded = ground_all(_plan('grasp bowl', 'place bowl on plate'), names)
    assert grounded['grasp(bowl)'] == 'grasp(bowl_2)'


def test_step_that_repeats_another_beyond_the_names_gets_none():
    grounded = ground_all(_plan('close microwave', 'close microwave'), NAMES)
    assert list(grounded.values()) == ['close(microwave_1)', None]


def test_best_total_wins_over_the_first_fit():
    names = ('grasp(tomato_sauce_1)', 'grasp(bbq_sauce_1)')
    grounded = ground_all(_plan('grasp sauce', 'grasp bbq sauce'), names)
    assert list(grounded.values()) == ['grasp(tomato_sauce_1)', 'grasp(bbq_sauce_1)']


@given(st.permutations(NAMES))
def test_order_of_published_names_does_not_matter(names):
    pot = ('grasp moka pot', 'place moka pot on stove')
    steps = _plan(*pot, *pot, 'turn on stove', 'grasp soup', 'place soup in basket')
    assert ground_all(steps, names) == ground_all(steps, NAMES)


@given(st.lists(st.text(max_size=12), max_size=4), st.text(max_size=12))
def test_any_names_ground_without_an_error(names, phrase):
    step = _plan('grasp cup')[0]
    assert ground(step, names) in (None, *names)
    assert 0.0 <= match_handle(phrase, names[0] if names else '') <= 1.0


def test_open_and_close_of_one_drawer_never_match():
    close = _plan('close bottom drawer of cabinet')[0]
    assert ground(close, ('open(white_cabinet_1_bottom_region)',)) is None


def test_synonym_of_another_thing_never_matches_by_shared_words():
    assert match_handle('white mug', 'white_yellow_mug_1') == 0.0
    assert match_handle('white mug', 'porcelain_mug_1') == 0.95
    assert match_handle('chefmate 8 frypan', 'chefmate_8_frypan_1') == 1.0


def test_expanded_vocabulary_holds_synonyms_and_folded_names():
    names = expand(['porcelain_mug_1', 'white cabinet'])
    assert {'porcelain mug 1', 'porcelain mug', 'white mug', 'cabinet', 'drawer'} <= set(names)


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


def _observation(*true, names=NAMES):
    values = tuple(n in true for n in names)
    return Observation(5, 1, predicates=Predicates(5, 1, 1, 10, tuple(names), values, False))


def test_monitor_is_a_monitor_and_reads_the_truth():
    monitor = PredicateMonitor()
    assert isinstance(monitor, Monitor)
    step = _plan('grasp soup')[0]
    start = _observation()
    assert not monitor.verify(step, start, start).done
    assert monitor.verify(step, start, _observation('grasp(alphabet_soup_1)')).done


def test_monitor_follows_the_plan_with_two_equal_steps():
    steps = _plan('grasp moka pot', 'grasp moka pot')
    monitor = PredicateMonitor()
    monitor.follow(steps)
    first = _observation('grasp(moka_pot_1)')
    assert [monitor.verify(s, first, first).done for s in steps] == [True, False]


def test_monitor_judges_a_repeated_step_by_the_same_predicate():
    steps = _plan('close microwave', 'close microwave')
    monitor = PredicateMonitor()
    monitor.follow(steps)
    closed = _observation('close(microwave_1)')
    assert [monitor.verify(s, closed, closed).done for s in steps] == [True, True]


def test_monitor_without_predicates_says_so():
    empty = Observation(5, 1)
    with pytest.raises(StaleDataError, match='no predicates'):
        PredicateMonitor().verify(_plan('grasp soup')[0], empty, empty)


def test_monitor_of_a_step_that_nothing_tells_of_names_it():
    now = _observation()
    with pytest.raises(ParameterError, match=r'grasp\(ketchup\)'):
        PredicateMonitor().verify(_plan('grasp ketchup')[0], now, now)


def test_one_is_counted_in_the_singular():
    told = [counted(number, 'episode') for number in range(3)]
    assert told == ['0 episodes', '1 episode', '2 episodes']
