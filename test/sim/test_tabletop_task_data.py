"""Claims of the tabletop tasks as data: files, grounding, layouts, view and features."""

import copy

import numpy as np
import pytest
import yaml

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.sim.tabletop.counter_noise import gaussians
from structrl_ros.sim.tabletop.counter_noise import lane_keys
from structrl_ros.sim.tabletop.counter_noise import uniforms
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.task_files import FOLDER
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import load_task
from structrl_ros.sim.tabletop.task_files import read_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.tabletop.view import make_view
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import PlanRequest

NAMES = sorted(tasks())
STARTS = [(seed, state) for seed in range(20) for state in range(20)]


@pytest.fixture
def document():
    return yaml.safe_load((FOLDER / 'pack_lunch.yaml').read_text())


def view_of(task, starts, **changes):
    layout = draw_layout(task, starts)
    batch = len(starts)
    given = {
        'tcp': layout.tcp,
        'velocity': np.zeros((batch, 3)),
        'yaw': layout.yaw,
        'opening': np.ones(batch),
        'fixtures': layout.fixtures,
        'fixture_yaws': layout.fixture_yaws,
        'joints': np.zeros((batch, 4)),
        'reached': np.zeros((batch, 4), bool),
        'objects': layout.objects,
        'object_yaws': layout.object_yaws,
        'held': np.zeros((batch, 4), bool),
    }
    return make_view(task, **{**given, **changes})


def test_there_are_six_tasks_or_more_and_pack_lunch_has_the_stages_of_the_paper():
    assert len(tasks()) >= 6
    assert find_task('pack_lunch').stages == (
        ('open(lunch_box_1)',),
        (
            'in(chicken_1, lunch_box_1_contain_region)',
            'in(apple_1, lunch_box_1_contain_region)',
        ),
        ('close(lunch_box_1)',),
    )


def test_repeated_insertion_has_four_equal_blocks_and_pegs():
    task = find_task('peg_insertion_four')
    assert len(task.goal) == 4
    assert len({o.size for o in task.objects}) == len({f.size for f in task.fixtures}) == 1


@pytest.mark.parametrize('name', NAMES)
def test_the_rule_plan_of_an_instruction_grounds_to_all_predicates_of_the_stages(name):
    task = find_task(name)
    text = RulePlanner().propose(PlanRequest(task.instruction, task.vocabulary, None))
    grounded = ground_all(to_plan(parse_plan(text)), task.predicate_names)
    assert None not in grounded.values()
    assert set(grounded.values()) >= {n for stage in task.stages for n in stage}
    assert set(grounded.values()) <= set(task.predicate_names)


@pytest.mark.parametrize('name', NAMES)
def test_nothing_that_is_published_is_true_at_reset(name):
    task = find_task(name)
    assert not view_of(task, STARTS).truth.any()


@pytest.mark.parametrize('name', NAMES)
def test_things_stand_apart_and_within_reach_at_reset(name):
    task = find_task(name)
    layout = draw_layout(task, STARTS)
    objects = layout.objects[:, : len(task.objects)]
    places = [*objects.transpose(1, 0, 2)]
    fixtures = [*layout.fixtures[:, : len(task.fixtures)].transpose(1, 0, 2)]
    for i, place in enumerate(places):
        for other in places[:i]:
            assert np.linalg.norm((place - other)[:, :2], axis=1).min() > 0.09
        for other, fixture in zip(fixtures, task.fixtures, strict=True):
            apart = 0.25 if fixture.kind == 'lidded_box' else 0.13
            assert np.linalg.norm((place - other)[:, :2], axis=1).min() >= apart
    shoulder = np.array([0.0, 0.0, 0.333])
    for place in [*places, *fixtures]:
        assert np.linalg.norm(place - shoulder, axis=1).max() < 0.78


def test_pack_lunch_keeps_the_geometry_that_the_arm_needs():
    task = find_task('pack_lunch')
    box, (chicken, apple) = task.fixtures[0], task.objects
    assert max(apple.size) / 2 == pytest.approx(0.026)
    assert max(map(abs, chicken.pose.yaw)) <= 0.6
    assert box.region.place[0] == pytest.approx(-0.032)
    assert box.joint.done == pytest.approx(1.62)
    lid = box.joint.hinge[0] - box.handle.offset[0]
    assert lid <= 0.161
    top = np.array([box.pose.x[1] + box.joint.hinge[0], 0.0, box.joint.hinge[2] + lid])
    assert np.linalg.norm(top - [0.0, 0.0, 0.333]) < 0.70


def test_lid_handle_goes_round_its_hinge():
    task = find_task('pack_lunch')
    joints = np.zeros((3, 4))
    joints[:, 0] = 0.0, np.pi / 2, 1.85
    view = view_of(task, [(0, 0)] * 3, joints=joints)
    hinge = task.fixtures[0].joint.hinge
    radius = np.linalg.norm(view.handles[:, 0] - view.fixtures[:, 0] - hinge, axis=1)
    assert np.ptp(radius) < 1e-12
    assert view.handles[1, 0, 2] - view.fixtures[1, 0, 2] > 0.2
    assert view.handles[2, 0, 0] > view.handles[1, 0, 0] > view.handles[0, 0, 0]


def test_close_counts_only_after_it_was_open():
    task = find_task('pack_lunch')
    closed = task.predicate_names.index('close(lunch_box_1)')
    reached = np.zeros((2, 4), bool)
    reached[1, 0] = True
    view = view_of(task, [(0, 0)] * 2, reached=reached)
    assert view.truth[:, closed].tolist() == [False, True]


def test_a_thing_in_the_fingers_is_not_in_the_box():
    task = find_task('pack_lunch')
    inside = task.predicate_names.index('in(apple_1, lunch_box_1_contain_region)')
    layout = draw_layout(task, [(0, 0)] * 2)
    layout.objects[:, 1] = layout.fixtures[:, 0] + [0.0, 0.0, 0.03]
    held = np.zeros((2, 4), bool)
    held[1, 1] = True
    view = view_of(task, [(0, 0)] * 2, objects=layout.objects, held=held)
    assert view.truth[:, inside].tolist() == [True, False]


@pytest.mark.parametrize('name', NAMES)
def test_features_have_one_layout_and_no_entry_for_unused_slots(name):
    task = find_task(name)
    vector = features(view_of(task, STARTS), task)
    assert vector.dtype == np.float32
    assert vector.shape == (len(STARTS), len(FEATURE_NAMES))
    assert np.isfinite(vector).all()
    named = dict(zip(FEATURE_NAMES, vector.T, strict=True))
    assert [n for n in FEATURE_NAMES if n.startswith('task_') and named[n].any()] == [
        f'task_{task.index}'
    ]
    for slot in range(len(task.objects), 4):
        assert not any(named[n].any() for n in FEATURE_NAMES if n.startswith(f'object_{slot}'))
    for slot in range(len(task.fixtures), 4):
        assert not any(named[n].any() for n in FEATURE_NAMES if n.startswith(f'fixture_{slot}'))


def test_features_and_layouts_of_a_lane_do_not_depend_on_the_others():
    task = find_task('pack_lunch')
    rows = np.random.default_rng(0).permutation(len(STARTS))
    whole = features(view_of(task, STARTS), task)
    for size in (1, 2, 3, 5, 7, 16, 33):
        some = rows[:size]
        part = features(view_of(task, [STARTS[i] for i in some]), task)
        assert np.array_equal(part, whole[some])
        assert np.array_equal(features(view_of(task, STARTS).take(some), task), part)


def test_noise_is_uniform_and_normal_and_differs_between_lanes_and_counters():
    keys = lane_keys(np.arange(200), np.zeros(200, np.int64))
    drawn = uniforms(keys[:, None], np.arange(500))
    assert 0.0 <= drawn.min() < drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 0.005
    assert np.unique(drawn).size == drawn.size
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 0.2
    normal = gaussians(keys[:, None], np.arange(500))
    assert abs(normal.mean()) < 0.01
    assert abs(normal.std() - 1.0) < 0.01


@pytest.mark.parametrize(
    ('change', 'told'),
    [
        (lambda d: d.pop('horizon'), 'horizon: got nothing; allowed: this field must be given'),
        (lambda d: d.update(horizon=0), 'horizon: got 0; allowed: greater than or equal to 1'),
        (lambda d: d.update(colour=1), 'colour: got 1; allowed: no such field'),
        (lambda d: d['objects'][0].update(shape='cone'), "'box', 'sphere' or 'ring'"),
        (lambda d: d['objects'][0]['size'].__setitem__(2, -1), 'size.2: got -1; allowed: greater'),
        (lambda d: d['fixtures'][0].pop('joint'), 'joint: got None; allowed: a lidded_box needs'),
        (lambda d: d['fixtures'][0]['joint'].update(done=2), 'closed < done <= limit'),
        (lambda d: d['fixtures'][0]['joint'].pop('hinge'), 'hinge: got None'),
        (lambda d: d['objects'][0]['pose'].update(x=[0.5, 0.4]), 'a range from low to high'),
        (lambda d: d['objects'][0]['pose'].update(x=[0.4, np.inf]), 'a finite number'),
        (lambda d: d['goal'].append('press(lunch_box_1)'), 'open or close or in of that thing'),
        (lambda d: d['goal'].append('in(pear_1, lunch_box_1)'), 'of apple_1, chicken_1, lunch_b'),
        (lambda d: d['goal'].append('grasp(apple_1)'), 'allowed: a predicate of a stage'),
        (lambda d: d['goal'].clear(), 'one predicate or more'),
        (lambda d: d['objects'].append(d['objects'][0]), 'each name once'),
        (lambda d: d['objects'].extend([d['objects'][0]] * 4), "'6 of them'; allowed: up to 4"),
        (lambda d: d['stages'].append(['open(lunch_box_1)']), 'each predicate once'),
    ],
)
def test_a_wrong_document_is_refused_in_one_line(document, change, told):
    changed = copy.deepcopy(document)
    change(changed)
    with pytest.raises(ParameterError) as caught:
        read_task(changed, 'lunch.yaml')
    assert str(caught.value).startswith('lunch.yaml: ')
    assert told in str(caught.value)
    assert '\n' not in str(caught.value)


def test_files_that_are_no_tasks_are_refused(tmp_path):
    broken = tmp_path / 'broken.yaml'
    broken.write_text('a: [1')
    with pytest.raises(ParameterError, match='no YAML'):
        load_task(broken)
    with pytest.raises(ParameterError, match='cannot be read'):
        load_task(tmp_path / 'absent.yaml')
    with pytest.raises(ParameterError, match='document: got'):
        read_task(None, 'nothing')


def test_unknown_tasks_and_starts_are_refused():
    with pytest.raises(SimulationError, match="unknown task 'cook'; known: pack_lunch"):
        find_task('cook')
    with pytest.raises(SimulationError, match='seed -1'):
        draw_layout(find_task('pack_lunch'), [(-1, 0)])
    with pytest.raises(SimulationError, match='initial state'):
        draw_layout(find_task('pack_lunch'), [(0, 2**63)])
