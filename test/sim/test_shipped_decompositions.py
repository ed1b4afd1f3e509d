"""The decompositions that are shipped with the bodies can be read, and say what they must."""

import json
from pathlib import Path

import pytest

import structrl_ros.sim.decompositions as room
from structrl_ros.params.graph import load_graph
from structrl_ros.params.tracker import TrackerParameters
from structrl_ros.sim.decompositions import shipped_decomposition
from structrl_ros.sim.decompositions import shipped_durations
from structrl_ros.sim.libero.tasks import TASKS
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.subtasks.decomposition_file import read_decomposition
from structrl_ros.training.decomposing import DecomposeRequest
from structrl_ros.training.decomposing import decompose_task
from structrl_ros.training.evidence import Counts

FOLDER = Path(room.__file__).parent
FILES = sorted(FOLDER.glob('*/decompositions/**/*.json'))
LIBERO = {
    case['task']: case
    for case in json.loads((Path(__file__).parents[1] / 'plan/libero_tasks.json').read_text())[
        'tasks'
    ]
}


@pytest.mark.parametrize('path', FILES, ids=[str(p.relative_to(FOLDER)) for p in FILES])
def test_shipped_file_is_sound_and_named_after_its_task(path):
    own = read_decomposition(path)
    body = path.relative_to(FOLDER).parts[0]
    assert own.body == body
    variant = f'.{own.variant}' if own.variant else ''
    assert path == FOLDER / body / 'decompositions' / f'{own.task}{variant}.json'
    assert own.provenance.command.startswith('structrl decompose ')
    assert own.names
    for durations in own.durations.values():
        assert set(durations) == set(own.names)


@pytest.mark.parametrize('task', TASKS, ids=[t.id for t in TASKS])
def test_every_libero_task_is_paid_by_its_goal_conjuncts(task):
    own = shipped_decomposition('libero', task.id)
    case = LIBERO[task.id]
    grasps = {name for name in own.names if name.startswith('grasp(')}
    assert set(own.names) - grasps == set(case['conjuncts'])
    assert set(own.names) <= set(case['names'])
    placements = [n for n in own.names if n.startswith(('in(', 'on('))]
    has_grasp = task.suite != 'long' and bool(placements) and 'push' not in task.instruction
    assert bool(grasps) == has_grasp
    assert own.instruction == task.instruction


def test_long_tasks_are_timed_by_clean_demonstrations():
    for task in TASKS[:10]:
        for variant in ('', room.PLAN_VARIANT):
            own = shipped_decomposition('libero', task.id, variant)
            assert len(own.demonstrations) == own.provenance.attempts == 3
            assert set(own.coverage.values()) == {3}


def test_close_comes_after_in_and_what_is_true_at_reset_is_dropped():
    drawer = 'white_cabinet_1_bottom_region'
    assert shipped_decomposition('libero', 'long/3').stage_names == (
        (f'in(akita_black_bowl_1, {drawer})',),
        (f'close({drawer})',),
    )
    dropped = shipped_decomposition('libero', 'long/8').dropped
    assert [(d.predicate, d.filter) for d in dropped] == [('turnon(flat_stove_1)', 'ii')]


def test_deployed_tracker_paces_libero_by_demonstrations_and_others_as_before():
    def durations(body):
        graph = load_graph('deploy', {'body': body})
        node = next(node for node in graph.nodes if node.name == 'tracker_node')
        own = {k: v for k, v in node.parameters.items() if k != 'use_sim_time'}
        return TrackerParameters(**own).settings().durations

    paid = shipped_decomposition('libero', 'long/0', 'plan')
    assert {n: durations('libero')[f'long/0/{n}'] for n in paid.names} == paid.durations_at(8)
    assert durations('kinematic') == {}


def test_file_of_durations_comes_before_those_that_are_shipped(tmp_path):
    name = 'long/0/grasp(alphabet_soup_1)'
    path = tmp_path / 'own.json'
    path.write_text(json.dumps({name: 99.0}))
    settings = TrackerParameters(durations_body='libero', durations_file=str(path)).settings()
    assert settings.durations[name] == 99.0
    assert len(settings.durations) == len(shipped_durations('libero', 8)) > 20


@pytest.mark.parametrize('body', ['twin', pytest.param('tabletop', marks=pytest.mark.sim)])
def test_durations_of_the_tabletop_are_those_of_the_present_world(body):
    shipped = shipped_decomposition(body, 'pack_lunch', 'density_5')
    request = DecomposeRequest(
        body=body, task='pack_lunch', counts=Counts(resets=1, idle=0, demonstrations=2)
    )
    own = decompose_task(request)[0]
    for demo, before in zip(own.demonstrations, shipped.demonstrations, strict=False):
        for name, step in demo.first_true.items():
            moved = abs(step - before.first_true[name])
            assert moved <= 3, f'the world has changed; again: {shipped.provenance.command}'


def test_every_tabletop_task_is_timed_in_both_worlds():
    for body in ('twin', 'tabletop'):
        for name, task in tasks().items():
            own = shipped_decomposition(body, name)
            assert own.stage_names == task.stages
            assert own.instruction == task.instruction
            assert len(own.demonstrations) >= 0.95 * own.provenance.attempts
            assert len(own.demonstrations) >= 19
            plan = shipped_decomposition(body, name, room.PLAN_VARIANT)
            assert set(plan.names) <= set(task.predicate_names)
