"""Groups of things by category, shape and colour: what is read, what is refused."""

import pytest

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.plan.instruction_groups import Group
from structrl_ros.plan.instruction_groups import attributes_of
from structrl_ros.plan.instruction_groups import members
from structrl_ros.plan.instruction_groups import read_group
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.types import PlanRequest

TABLE = ('apple', 'orange', 'green ball', 'red block', 'basket')
SHELF = ('alphabet soup', 'cream cheese', 'tomato sauce', 'ketchup', 'milk', 'butter', 'basket')


def _moved(sentence, scene):
    text = RulePlanner().propose(PlanRequest(sentence, scene, None))
    return [s.objects[0] for s in parse_plan(text, objects=scene).steps if s.action == 'place']


@pytest.mark.parametrize(
    ('sentence', 'scene', 'things'),
    [
        ('Put all the fruit in the basket.', TABLE, ['apple', 'orange']),
        ('Put everything round into the basket', TABLE, ['apple', 'orange', 'green ball']),
        ('gather the red ones in the basket', TABLE, ['apple', 'red block']),
        ('Put the toys in the basket', TABLE, ['green ball', 'red block']),
        ('put the green one in the basket', TABLE, ['green ball']),
        ('put everything that is red and the green ball in the basket', TABLE,
         ['apple', 'red block', 'green ball']),
        ('put everything in the basket', TABLE, ['apple', 'orange', 'green ball', 'red block']),
        ('Put the cans in the basket', SHELF, ['alphabet soup', 'tomato sauce']),
        ('put all dairy products in the basket', SHELF, None),
        ('put the dairy in the basket', SHELF, ['cream cheese', 'milk', 'butter']),
    ],
)  # fmt: skip
def test_words_of_category_shape_and_colour_pick_the_things(sentence, scene, things):
    if things is None:
        with pytest.raises(PlanSyntaxError, match='names nothing in the scene'):
            _moved(sentence, scene)
    else:
        assert _moved(sentence, scene) == things


def test_one_of_several_is_refused_and_the_choice_is_named():
    with pytest.raises(PlanSyntaxError, match="'apple' or 'red block'"):
        _moved('put the red one in the basket', TABLE)


def test_nothing_of_a_kind_is_refused():
    with pytest.raises(PlanSyntaxError, match='names nothing in the scene'):
        _moved('put the meat in the basket', TABLE)


@pytest.mark.parametrize(
    'sentence',
    [
        'Make me some coffee.',
        "I'm thirsty. Bring me something to drink in the basket.",
        'I do not like sweet drinks. Bring me a drink in the basket.',
    ],
)
def test_wishes_and_preferences_are_refused(sentence):
    with pytest.raises(PlanSyntaxError, match='begins with no known verb'):
        RulePlanner().propose(PlanRequest(sentence, SHELF, None))


def test_a_name_in_the_scene_goes_before_a_description():
    assert _moved('put the orange in the basket', TABLE) == ['orange']
    assert _moved('put the red block in the basket', TABLE) == ['red block']


def test_a_thing_with_no_entry_has_the_colours_of_its_name_alone():
    assert attributes_of('green widget') == {'green'}
    assert attributes_of('red ball') == {'red', 'round', 'toy'}
    assert 'red' not in attributes_of('green apple')


@pytest.mark.parametrize('phrase', ['red', 'the', '', 'wet things', 'all', 'basket'])
def test_what_is_no_description_is_none(phrase):
    assert read_group(phrase) is None


def test_fixtures_belong_to_no_group():
    everything = Group(frozenset(), is_all=True)
    assert members(everything, ('lunch box', 'white cabinet', 'apple')) == ('apple',)
