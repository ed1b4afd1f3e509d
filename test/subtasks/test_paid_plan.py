"""Claims of the plan that makes a tracker pay by a static decomposition."""

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.subtasks.paid_plan import paid_subtasks

NAMES = (
    'open(white_cabinet_1_top_region)',
    'grasp(moka_pot_2)',
    'on(moka_pot_2, flat_stove_1_cook_region)',
    'on(moka_pot_1, flat_stove_1_cook_region)',
    'in(black_bowl_1, white_cabinet_1_top_region)',
    'on(plate_1, main_table_plate_right_region)',
    'close(white_cabinet_1_top_region)',
    'turnon(flat_stove_1)',
)


def stages(*names):
    return [[GroundedSubtask(f'do {name}', name)] for name in names]


def test_every_step_is_grounded_to_its_own_predicate():
    steps = paid_subtasks(stages(*reversed(NAMES)), NAMES)
    assert [step.id for step in steps] == list(reversed(NAMES))
    assert ground_all(steps, NAMES) == {name: name for name in NAMES}
    assert [step.stage for step in steps] == list(range(len(NAMES)))
    assert {step.verb for step in steps} == {'open', 'grasp', 'place', 'close', 'turn on'}


def test_steps_that_are_not_published_are_left_out_and_the_others_keep_their_stage():
    steps = paid_subtasks(stages(*NAMES[:4]), NAMES[2:])
    assert [(step.id, step.stage) for step in steps] == [(NAMES[2], 2), (NAMES[3], 3)]


def test_a_predicate_without_verb_is_refused():
    with pytest.raises(ParameterError, match=r'levitate\(cup_1\): no verb for it; known kinds'):
        paid_subtasks(stages('levitate(cup_1)'), ['levitate(cup_1)'])
