"""Claims of Appendix A: primitives, targets, operators, windows, onsets and segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.progress.operators import NEGATIVE
from structrl_ros.progress.operators import ROBUST
from structrl_ros.progress.operators import VALID_PROGRESS
from structrl_ros.progress.operators import Operator
from structrl_ros.progress.operators import active_primitives
from structrl_ros.progress.operators import admitted_operators
from structrl_ros.progress.operators import plan_edit

G, P = Primitive.GRASP_LIFT, Primitive.PLACE_TRANSFER
OPEN, CLOSE, ON = Primitive.OPEN, Primitive.CLOSE, Primitive.TOGGLE_ON
PLACE_BOWL = 'Pick up the black bowl next to the plate and place it on the plate.'
OPEN_PLACE = 'open the top drawer and put the bowl inside'
INSTRUCTIONS = (
    PLACE_BOWL,
    OPEN_PLACE,
    'put both the soup and the sauce in the basket',
    'turn on the stove and put the moka pot on it',
    'close the bottom drawer',
    'push the plate to the front of the stove',
    'put the yellow mug in the microwave and close it',
    'pick up the cube',
)


@pytest.mark.parametrize(
    ('instruction', 'primitives', 'target', 'many', 'stages', 'colour'),
    [
        (PLACE_BOWL, (G, P), 'black bowl', False, False, 'black'),
        (OPEN_PLACE, (OPEN, G, P), 'top drawer', False, True, ''),
        ('put both soup and sauce in the basket', (G, P), 'soup and sauce', True, False, ''),
        ('turn on the stove and put the pot on it', (ON, G, P), 'stove', False, True, ''),
        ('close the bottom drawer of the cabinet', (CLOSE,), 'bottom drawer', False, False, ''),
        ('push plate to front', (Primitive.PUSH_MOVE,), 'plate', False, False, ''),
        ('switch_off the lamp', (Primitive.TOGGLE_OFF,), 'lamp', False, False, ''),
        ('put the red mug in the oven and close it', (G, P, CLOSE), 'red mug', False, True, 'red'),
        ('grasp the peg, then insert the peg into the hole', (G, P), 'peg', False, False, ''),
        ('put the pen in the cup and put the lid on it', (G, P, G, P), 'pen', False, True, ''),
    ],
)
def test_instruction_is_parsed(instruction, primitives, target, many, stages, colour):
    got = parse_manipulation(instruction)
    assert got.primitives == primitives
    assert got.target == target
    assert got.has_many_objects is many
    assert got.is_multi_stage is stages
    assert got.target_colour == colour


def test_instruction_without_an_action_is_one_line():
    with pytest.raises(ParameterError, match=r"'be nice': no action in it; allowed: pick up, "):
        parse_manipulation('be nice')


def test_operators_follow_the_primitives():
    pick, place, drawer = map(parse_manipulation, ('pick up cube', PLACE_BOWL, 'open drawer'))
    assert set(admitted_operators(pick)) == ROBUST | (NEGATIVE - {Operator.NON_RELEASE})
    assert set(admitted_operators(place)) == ROBUST | NEGATIVE
    assert set(admitted_operators(drawer)) == ROBUST
    assert not any(operator.is_negative for operator in admitted_operators(drawer))


def test_several_rightful_targets_keep_their_identity():
    many = admitted_operators(parse_manipulation('put both the soup and the sauce in the basket'))
    assert {o for o in many if o.is_negative} == {Operator.EMPTY_GRASP, Operator.NON_RELEASE}


def test_composites_switch_where_the_paper_says():
    for instruction, first, second, at in (
        (PLACE_BOWL, G, P, 0.45),
        (OPEN_PLACE, OPEN, P, 0.45),
        ('put the mug in the microwave and close it', P, CLOSE, 0.65),
        ('turn on the stove and put the pot on it', ON, P, 0.35),
    ):
        active = active_primitives(parse_manipulation(instruction), 101)
        switch = round(at * 100)
        assert active == (first,) * switch + (second,) * (101 - switch), instruction


@given(st.sampled_from(INSTRUCTIONS), st.sampled_from(list(Operator)), st.integers(2, 300))
def test_every_edit_begins_in_its_window_and_ends_with_its_segment(instruction, operator, total):
    parsed = parse_manipulation(instruction)
    active = active_primitives(parsed, total)
    assert len(active) == total
    if operator not in admitted_operators(parsed):
        with pytest.raises(ParameterError, match='allowed: '):
            plan_edit(operator, parsed, active)
        return
    edit = plan_edit(operator, parsed, active)
    if edit is None:
        assert not operator.is_persistent
        return
    assert 0 <= edit.start < edit.stop <= total == edit.total
    assert list(edit.frames) == list(range(edit.start, edit.stop))
    if operator.is_persistent:
        assert (edit.start, edit.stop) == (0, total)
        return
    lowest, highest = VALID_PROGRESS[edit.primitive]
    assert lowest <= edit.start / (total - 1) <= highest
    assert edit.primitive == active[edit.start]
    if operator.is_negative:
        assert edit.start > 0
    if parsed.is_multi_stage:
        assert set(active[edit.start : edit.stop]) == {edit.primitive}
    else:
        assert edit.stop == total


def test_onsets_by_hand():
    parsed = parse_manipulation(PLACE_BOWL)
    active = active_primitives(parsed, 101)
    onsets = {
        operator: plan_edit(operator, parsed, active).start
        for operator in (*sorted(NEGATIVE), Operator.FOREGROUND_OCCLUSION)
    }
    assert onsets == {
        Operator.EMPTY_GRASP: 18,
        Operator.NON_RELEASE: 75,
        Operator.TARGET_REPLACEMENT: 18,
        Operator.WRONG_OBJECT: 18,
        Operator.FOREGROUND_OCCLUSION: 18,
    }


def test_release_of_the_events_comes_before_the_rule_of_thumb():
    parsed = parse_manipulation(PLACE_BOWL)
    active = active_primitives(parsed, 101)
    released = [i >= 60 for i in range(101)]
    assert plan_edit(Operator.NON_RELEASE, parsed, active, released).start == 60
    assert plan_edit(Operator.NON_RELEASE, parsed, active, [False] * 101) is None
    with pytest.raises(ParameterError, match='released: 3 frames; allowed: 101'):
        plan_edit(Operator.NON_RELEASE, parsed, active, [True] * 3)


def test_edit_of_one_subgoal_stops_before_the_next():
    parsed = parse_manipulation('put the mug in the microwave and close it')
    active = active_primitives(parsed, 101)
    edit = plan_edit(Operator.WRONG_OBJECT, parsed, active)
    assert (edit.start, edit.stop) == (28, 65)


def test_trajectory_of_one_frame_has_no_progress():
    with pytest.raises(ParameterError, match='1 frames; allowed: 2 and more'):
        active_primitives(parse_manipulation('pick up the cube'), 1)
