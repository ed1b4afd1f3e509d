"""Truth and vocabulary of LIBERO tasks other than Long 0."""

import numpy as np
import pytest

from structrl_ros.sim.libero.bench import bare_environment
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.predicates import fold_name
from structrl_ros.sim.libero.predicates import predicate_name
from structrl_ros.sim.libero.tasks import TASKS

pytestmark = pytest.mark.sim


def test_names_of_predicates_read_like_calls():
    assert predicate_name(['Turnon', 'flat_stove_1']) == 'turnon(flat_stove_1)'
    assert predicate_name(['in', 'a_1', 'b_1_region']) == 'in(a_1, b_1_region)'


def test_names_are_folded_without_number_and_underscore():
    assert fold_name('chefmate_8_frypan_1') == 'chefmate 8 frypan'
    assert fold_name('moka_pot_2') == 'moka pot'


def test_a_conjunct_that_is_true_at_reset_is_not_reported():
    body = LiberoBody()
    info = body.reset('long/8', 0, 0)
    assert info.predicate_names == (
        'on(moka_pot_1, flat_stove_1_cook_region)',
        'on(moka_pot_2, flat_stove_1_cook_region)',
        'grasp(moka_pot_1)',
        'grasp(moka_pot_2)',
    )
    assert body.predicates.goal[2] == 'turnon(flat_stove_1)'
    outcome = body.step(body.hold_action())
    assert outcome.values == (False,) * 4 and not outcome.success
    body.close()


def test_closed_drawer_that_something_goes_into_is_reported_until_it_is_open():
    body = LiberoBody()
    info = body.reset('goal/3', 0, 0)
    assert info.predicate_names == (
        'in(akita_black_bowl_1, wooden_cabinet_1_top_region)',
        'grasp(akita_black_bowl_1)',
        'open(wooden_cabinet_1_top_region)',
    )
    assert body.step(body.hold_action()).values == (False, False, False)
    joint = body.environment.get_object('wooden_cabinet_1').joints
    names = [n for n in joint if 'top' in n]
    body.environment.sim.data.set_joint_qpos(names[0], -0.16)
    body.environment.sim.forward()
    assert body.predicates.evaluate()[0][2]
    body.close()


def test_open_drawer_and_open_microwave_are_not_reported_as_openings():
    body = LiberoBody()
    for task in ('long/3', 'long/9'):
        names = body.reset(task, 0, 0).predicate_names
        assert not [n for n in names if n.startswith('open(')]
    body.close()


@pytest.mark.slow
@pytest.mark.parametrize('task', TASKS, ids=lambda t: t.id)
def test_every_task_resets_to_liberos_own_scene_with_something_left_to_do(task):
    body = LiberoBody()
    info = body.reset(task.id, 7, 11)
    goals = [n for n in info.predicate_names if not n.startswith('grasp(')]
    if task.id == 'goal/3':
        goals.remove('open(wooden_cabinet_1_top_region)')
    assert goals and set(goals) <= set(body.predicates.goal)
    assert len(body.predicates.goal) - len(goals) == (task.id == 'long/8')
    assert not body.step(body.hold_action()).success
    assert all(name == name.lower() and '_' not in name for name in info.objects)
    libero = bare_environment(task.id, seed=7, initial_state=11)
    try:
        np.testing.assert_array_equal(body.model.body_pos, libero.env.sim.model.body_pos)
        np.testing.assert_array_equal(body.model.body_quat, libero.env.sim.model.body_quat)
    finally:
        libero.close()
        body.close()
