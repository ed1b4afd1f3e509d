"""Checkpoints of the density ladder over a hand-made view of Pack Lunch."""

import dataclasses

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.tabletop.checkpoints import bind_checkpoints
from structrl_ros.sim.tabletop.checkpoints import evaluate
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.tabletop.view import make_view
from structrl_ros.subtasks.density import LEVELS
from structrl_ros.subtasks.density import earlier_stages
from structrl_ros.subtasks.density import ladder_stages

TASK = find_task('pack_lunch')
REGION = 'lunch_box_1_contain_region'
CHICKEN, APPLE, BOX = 0, 1, 0


def view(**changes):
    """Return two lanes at reset, with some arrays replaced."""
    layout = draw_layout(TASK, [(0, 0), (1, 0)])
    arrays = {
        'tcp': layout.tcp,
        'velocity': np.zeros((2, 3)),
        'yaw': layout.yaw,
        'opening': np.ones(2),
        'fixtures': layout.fixtures,
        'fixture_yaws': layout.fixture_yaws,
        'joints': np.zeros((2, 4)),
        'reached': np.zeros((2, 4), bool),
        'objects': layout.objects,
        'object_yaws': layout.object_yaws,
        'held': np.zeros((2, 4), bool),
    }
    return make_view(TASK, **{**arrays, **changes})


def truth(name, seen):
    return evaluate(TASK, bind_checkpoints(TASK, [name]), seen)[:, 0].tolist()


def held_at(height, offset=(0.0, 0.0)):
    """Return a view in which lane 0 holds the apple, at a height above where it comes to rest."""
    base = view()
    objects, held = base.objects.copy(), base.held.copy()
    place = base.places[0, BOX]
    above = np.array([*offset, height + TASK.objects[APPLE].half_height])
    objects[0, APPLE] = place + above
    held[0, APPLE] = True
    return view(objects=objects, held=held)


def test_near_is_a_distance_to_an_object_or_a_handle():
    base = view()
    tcp = base.tcp.copy()
    tcp[0] = base.objects[0, APPLE] + [0.0, 0.05, 0.0]
    assert truth('near(apple_1, 0.06)', view(tcp=tcp)) == [True, False]
    assert truth('near(apple_1, 0.04)', view(tcp=tcp)) == [False, False]
    tcp[1] = base.handles[1, BOX] + [0.03, 0.0, 0.0]
    assert truth('near(lunch_box_1, 0.06)', view(tcp=tcp)) == [False, True]


def test_back_needs_that_the_box_was_open_and_holds_what_belongs_in_it():
    base = view()
    tcp, reached, objects = base.handles[:, BOX].copy(), base.reached.copy(), base.objects.copy()
    reached[:, BOX] = True
    assert truth('back(lunch_box_1, 0.06)', view(tcp=tcp, reached=reached)) == [False, False]
    for slot in (CHICKEN, APPLE):
        objects[1, slot] = base.places[1, BOX] + [0.0, 0.0, 0.03]
    assert truth('back(lunch_box_1, 0.06)', view(tcp=tcp, objects=objects)) == [False, False]
    whole = view(tcp=tcp, reached=reached, objects=objects)
    assert truth('back(lunch_box_1, 0.06)', whole) == [False, True]
    away = view(reached=reached, objects=objects)
    assert truth('back(lunch_box_1, 0.06)', away) == [False, False]


def test_gripping_needs_closed_fingers_at_the_object():
    tcp, opening = view().objects[:, CHICKEN].copy(), np.array([0.7, 0.9])
    assert truth('gripping(chicken_1)', view(tcp=tcp, opening=opening)) == [True, False]
    assert truth('gripping(chicken_1)', view(opening=opening)) == [False, False]


def test_lifted_and_the_way_to_the_box_need_the_object_in_the_hand():
    seen = held_at(0.06)
    assert truth('lifted(apple_1, 0.05)', seen) == [True, False]
    assert truth('lifted(apple_1, 0.08)', seen) == [False, False]
    assert truth(f'above(apple_1, {REGION})', seen) == [True, False]
    assert truth(f'lowered(apple_1, {REGION}, 0.05)', seen) == [False, False]
    assert truth(f'lowered(apple_1, {REGION}, 0.05)', held_at(0.04)) == [True, False]
    dropped = dataclasses.replace(seen, held=np.zeros((2, 4), bool))
    for name in ('lifted(apple_1, 0.05)', f'above(apple_1, {REGION})'):
        assert truth(name, dropped) == [False, False]


def test_carried_is_a_distance_seen_from_above():
    seen = held_at(0.3, (0.0, 0.15))
    assert truth(f'carried(apple_1, {REGION}, 0.2)', seen) == [True, False]
    assert truth(f'carried(apple_1, {REGION}, 0.12)', seen) == [False, False]
    assert truth(f'above(apple_1, {REGION})', seen) == [False, False]


def test_moved_and_closing_are_shares_of_the_way_to_open():
    joints, reached = np.zeros((2, 4)), np.zeros((2, 4), bool)
    joints[:, BOX] = 0.5 * TASK.fixtures[BOX].joint.done
    reached[1, BOX] = True
    seen = view(joints=joints, reached=reached)
    assert truth('moved(lunch_box_1, 0.5)', seen) == [True, True]
    assert truth('moved(lunch_box_1, 0.75)', seen) == [False, False]
    assert truth('closing(lunch_box_1, 0.5)', seen) == [False, True]
    assert truth('closing(lunch_box_1, 0.25)', seen) == [False, False]


@pytest.mark.parametrize('name', list(tasks()))
def test_every_level_of_every_task_can_be_published(name):
    task = find_task(name)
    finest = ladder_stages(task.stages, LEVELS[-1])
    names = [n for stage in (*finest, *earlier_stages(task.stages)) for n in stage]
    bound = bind_checkpoints(task, names)
    assert {c.name for c in bound} == set(names) - set(task.predicate_names)


@pytest.mark.parametrize(
    'name',
    [
        'near(pear_1, 0.1)',
        'near(apple_1)',
        'near(apple_1, far)',
        'near(apple_1, nan)',
        'lifted(lunch_box_1, 0.1)',
        'moved(apple_1, 0.5)',
        'waved(apple_1)',
        'near(apple_1, -1)',
    ],
)
def test_name_that_is_no_checkpoint_of_the_task_is_one_line(name):
    with pytest.raises(ParameterError, match=r'no predicate or checkpoint of pack_lunch'):
        bind_checkpoints(TASK, [name])


def test_predicates_of_the_task_are_passed_over():
    assert bind_checkpoints(TASK, [*TASK.predicate_names, 'near(apple_1, 0.1)'])[0].name == (
        'near(apple_1, 0.1)'
    )


@pytest.mark.parametrize('name', ['twin', pytest.param('tabletop', marks=pytest.mark.sim)])
def test_body_publishes_checkpoints_after_its_own_and_changes_nothing_else(name):
    wanted = ('open(lunch_box_1)', 'near(lunch_box_1, 0.1)', 'moved(lunch_box_1, 0.5)')
    plain, asked = make_body(name), make_body(name, checkpoints=wanted)
    own = plain.reset('pack_lunch', 3, 0)
    more = asked.reset('pack_lunch', 3, 0)
    assert more.predicate_names == (*own.predicate_names, *wanted[1:])
    assert len(more.predicate_names) <= asked.predicate_slots
    seen = []
    for _ in range(12):
        action = np.zeros(7, np.float32)
        action[:3] = np.clip((asked.view.handles[0, BOX] - asked.view.tcp[0]) / 0.05, -1, 1)
        action[6] = -1.0
        before, after = plain.step(action), asked.step(action)
        size = len(before.values)
        assert after.values[:size] == before.values
        assert np.array_equal(plain.features(), asked.features())
        seen.append(after.values[size:])
    assert seen[0] == (False, False)
    assert seen[-1] == (True, False)
    with pytest.raises(ParameterError, match='no predicate or checkpoint of apple_in_bowl'):
        asked.reset('apple_in_bowl', 0, 0)
