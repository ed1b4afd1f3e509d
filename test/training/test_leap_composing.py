"""Claims of LEAP's data engine without a simulator: cutting, composing, sentences, choices."""

import numpy as np
import pytest
from leap_episodes import LUNCH
from leap_episodes import skill_episode

from structrl_ros.errors import TrainingError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.training.leap_choices import KINDS
from structrl_ros.training.leap_choices import make_choice
from structrl_ros.training.leap_choices import parts_of
from structrl_ros.training.leap_episode import find_moments
from structrl_ros.training.leap_episode import pick_middles
from structrl_ros.training.leap_sentences import everyday_words
from structrl_ros.training.leap_sentences import say
from structrl_ros.training.leap_sentences import say_orders
from structrl_ros.training.leap_sentences import say_wish
from structrl_ros.training.leap_units import Unit
from structrl_ros.training.leap_units import compose
from structrl_ros.training.leap_units import split_units

PLAN = to_plan(parse_plan('grasp apple\nplace apple in bowl'))
NAMES = {PLAN[0].id: 'grasp(apple_1)', PLAN[1].id: 'in(apple_1, bowl_1)'}


class First(np.random.Generator):
    """Draws the first template of each list."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def integers(self, *arguments, **options):
        return 0


def test_skills_end_with_the_step_in_which_their_predicate_comes_true():
    assert find_moments(PLAN, NAMES, {'grasp(apple_1)': 11, 'in(apple_1, bowl_1)': 29}) == (
        0,
        12,
        30,
    )


@pytest.mark.parametrize(
    ('first', 'words'),
    [
        ({'grasp(apple_1)': 11, 'in(apple_1, bowl_1)': None}, 'has no event'),
        ({'grasp(apple_1)': 11, 'in(apple_1, bowl_1)': 11}, 'done before the skill'),
    ],
)
def test_events_that_do_not_cut_a_demonstration_leave_it_out(first, words):
    with pytest.raises(TrainingError, match=words):
        find_moments(PLAN, NAMES, first)


def test_middle_frames_lie_well_within_their_skill():
    moments = (0, 50, 51, 151)
    for seed in range(20):
        first, none, last = pick_middles(moments, seed, 'name')
        assert 15 <= first <= 40
        assert none == -1
        assert 81 <= last <= 131


def test_a_grasp_belongs_to_the_placing_that_follows_it():
    assert [unit.phrases for unit in split_units(LUNCH)] == [
        LUNCH[:1],
        LUNCH[1:3],
        LUNCH[3:5],
        LUNCH[5:],
    ]
    assert split_units(('grasp cup',))[0].moved == 'cup'


def test_a_stretch_begins_at_the_key_frame_before_its_first_skill():
    tasks = compose(skill_episode(), [], 100, 0)
    assert tasks[0].way == 'whole' and tasks[0].phrases == LUNCH
    stretches = [task for task in tasks if task.way == 'stretch']
    assert len(stretches) == 9
    for task in stretches:
        assert task.phrases == LUNCH[task.moment : task.moment + len(task.phrases)]


def test_only_placings_of_different_things_change_their_order():
    others = [task for task in compose(skill_episode(), [], 100, 0) if task.way == 'reordered']
    assert [task.phrases for task in others] == [(LUNCH[0], *LUNCH[3:5], *LUNCH[1:3], LUNCH[5])]
    assert others[0].moment == 0


def test_demonstrations_of_one_scene_are_joined_only_where_they_do_not_meet():
    things = ('bowl', 'wine bottle', 'plate', 'stove', 'rack')
    bowl = skill_episode('a', phrases=('grasp bowl', 'place bowl on stove'), objects=things)
    wine = skill_episode('b', phrases=('grasp wine bottle', 'place wine bottle on rack'))
    again = skill_episode('c', phrases=('grasp bowl', 'place bowl on plate'))
    joined = [t for t in compose(bowl, [wine, again], 100, 0) if t.way == 'joined']
    assert [(task.donor, task.phrases) for task in joined] == [
        (wine.name, (*bowl.phrases, *wine.phrases))
    ]


def test_orders_and_wishes_say_what_is_to_be_done():
    units = split_units(LUNCH)
    assert say_orders(units, First()) == (
        'open the lunch box, then put the chicken in the lunch box, then put the apple in the '
        'lunch box, and finally close the lunch box'
    )
    assert say_wish(units, First()) == (
        'I would like the chicken and the apple in the lunch box and the lunch box closed.'
    )
    opening = say_wish(units[:1], First())
    assert opening == 'I would like the lunch box open.'
    qualified = Unit(('grasp bowl next to ramekin', 'place bowl on plate'))
    assert say_wish([qualified], First()) is None
    assert say_orders([qualified], First()) == (
        'pick up the bowl next to the ramekin and place it on the plate'
    )


def test_two_things_of_one_name_are_counted():
    pot = ('grasp moka pot', 'place moka pot on stove')
    units = split_units((*pot, *pot))
    assert say_wish(units, First()) == 'I would like two moka pots on the stove.'
    assert say_orders(units, First()) == (
        'put the moka pot on the stove, and finally put another moka pot on the stove'
    )


def test_everyday_words_mean_one_thing_in_the_scene():
    names = ('akita black bowl', 'white bowl', 'flat stove')
    for seed in range(20):
        words = everyday_words(names, np.random.default_rng(seed))
        assert 'bowl' not in words.values()
    assert say('put the flat stove', {'flat stove': 'hob', 'stove': 'x'}) == 'put the hob'


def test_a_choice_has_one_right_plan_and_three_that_are_wrong_for_certain():
    objects = ('chicken', 'apple', 'lunch box', 'lemon', 'basket')
    parts = parts_of([LUNCH, ('grasp lemon', 'place lemon in basket')])
    kinds = set()
    for seed in range(60):
        choice = make_choice(LUNCH, objects, parts, np.random.default_rng(seed))
        assert len(set(choice.options)) == 4
        assert choice.options[choice.correct] == LUNCH
        assert choice.kinds[choice.correct] == 'right'
        for option, kind in zip(choice.options, choice.kinds, strict=True):
            kinds.add(kind)
            changed = sum(a != b for a, b in zip(option, LUNCH, strict=False))
            if kind == 'dropped':
                assert len(option) == len(LUNCH) - 1
            elif kind == 'reordered':
                assert sorted(option) == sorted(LUNCH) and changed == 2
            elif kind == 'replaced':
                assert len(option) == len(LUNCH) and changed == 1
            elif kind == 'wrong object':
                assert sorted(option) != sorted(LUNCH) and len(option) == len(LUNCH)
    assert kinds == {*KINDS, 'right'}


def test_an_order_that_could_be_done_is_no_distractor():
    plan = ('grasp cheese', 'place cheese in basket', 'grasp lemon', 'place lemon in basket')
    parts = parts_of([plan])
    for seed in range(40):
        choice = make_choice(
            plan, ('cheese', 'lemon', 'basket'), parts, np.random.default_rng(seed)
        )
        assert (*plan[2:], *plan[:2]) not in choice.options


def test_a_scene_without_other_things_may_have_no_choice():
    parts = parts_of([('press button',)])
    assert make_choice(('press button',), ('button',), parts, np.random.default_rng(0)) is None
