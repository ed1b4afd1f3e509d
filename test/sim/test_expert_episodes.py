"""The scripted expert in LIBERO: whole episodes, odd starting situations, copies, the table."""

import copy
import json

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.expert import make_skill
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert import table
from structrl_ros.sim.libero.expert.episodes import EpisodeResult
from structrl_ros.sim.libero.expert.episodes import plan_of
from structrl_ros.sim.libero.expert.episodes import run_episode
from structrl_ros.types import Subtask

pytestmark = pytest.mark.sim
pytest.importorskip('libero')

#: One of the states that the expert was tuned on.
STATE = 30

GRASP = Subtask('grasp(butter)', 'grasp butter', 'grasp', ('butter',), 0)
PLACE = Subtask(
    'place(butter, basket)', 'place butter in basket', 'place', ('butter', 'basket'), 1
)


@pytest.fixture(scope='module')
def body():
    body = LiberoBody()
    yield body
    body.close()


def play(body, skill, limit=300):
    """Run a skill until it is finished; return the number of steps."""
    for step in range(limit):
        if skill.finished:
            return step
        body.step(skill.action(body))
    raise AssertionError(f'not finished after {limit} steps: {skill.log}')


def test_long_0_succeeds_within_its_horizon(body):
    result = run_episode(body, 'long/0', STATE)
    assert result.success, (result.reason, *result.log)
    assert result.steps < 300
    assert result.reason == ''


def test_long_0_succeeds_when_subtasks_change_at_chunk_ends_only(body):
    result = run_episode(body, 'long/0', STATE, chunk=16)
    assert result.success, (result.reason, *result.log)
    assert result.steps < 400


def test_the_same_episode_takes_the_same_steps(body):
    first = run_episode(body, 'long/0', STATE)
    second = run_episode(body, 'long/0', STATE)
    assert (first.steps, first.log) == (second.steps, second.log)


def test_placing_what_is_not_in_the_hand_grasps_it_first(body):
    body.reset('long/1', 0, STATE)
    skill = make_skill(body, PLACE)
    play(body, skill)
    assert scene.is_true(body, ('in', 'butter_1', 'basket_1_contain_region'))


def test_grasping_what_is_in_the_hand_is_finished_at_once(body):
    body.reset('long/1', 0, STATE)
    play(body, make_skill(body, GRASP))
    assert play(body, make_skill(body, GRASP)) <= 4
    assert scene.holds(body, 'butter_1')


def test_another_object_in_the_hand_is_let_go_before_a_grasp(body):
    body.reset('long/1', 0, STATE)
    play(body, make_skill(body, GRASP))
    cheese = Subtask('grasp(cream cheese)', '', 'grasp', ('cream cheese',), 0)
    play(body, make_skill(body, cheese))
    assert scene.holds(body, 'cream_cheese_1')
    assert not scene.holds(body, 'butter_1')


def test_an_object_that_is_lost_on_the_way_is_fetched_again(body):
    body.reset('long/1', 0, STATE)
    skill = make_skill(body, PLACE)
    opened = 0
    for _ in range(400):
        if skill.finished:
            break
        action = skill.action(body)
        if skill.phase == 'carry' and skill.clock > 4 and opened < 14:
            action[6], opened = -1.0, opened + 1
        body.step(action)
    assert opened
    assert any('lost it' in line for line in skill.log)
    assert scene.is_true(body, ('in', 'butter_1', 'basket_1_contain_region'))


def test_a_copy_of_a_skill_in_a_twin_gives_the_same_actions(body):
    body.reset('long/1', 0, STATE)
    skill = make_skill(body, PLACE)
    for _ in range(25):
        body.step(skill.action(body))
    twin = LiberoBody()
    twin.reset('long/1', 0, STATE)
    twin.set_simulator_state(body.simulator_state())
    copied = copy.deepcopy(skill)
    for _ in range(15):
        ours, theirs = skill.action(body), copied.action(twin)
        assert ours.dtype == np.float32
        assert np.array_equal(ours, theirs)
        body.step(ours)
        twin.step(theirs)
    twin.close()


def test_a_name_that_is_not_in_the_scene_is_refused_in_one_line(body):
    body.reset('long/1', 0, STATE)
    unicorn = Subtask('grasp(unicorn)', '', 'grasp', ('unicorn',), 0)
    with pytest.raises(
        SimulationError, match=r"cannot grasp 'unicorn' here; known objects: .*butter"
    ):
        make_skill(body, unicorn)
    with pytest.raises(SimulationError, match=r"no skill 'pour'; allowed: grasp, place"):
        make_skill(body, Subtask('p', '', 'pour', ('butter', 'basket'), 0))


def test_the_plan_grasps_before_it_places(body):
    plan = plan_of(body.reset('long/0', 0, STATE))
    assert [s.verb for s in plan] == ['grasp', 'place', 'grasp', 'place']


def test_a_row_counts_successes_and_names_failures():
    results = [
        EpisodeResult('long/0', 0, True, 100, 2.0, 'place(a, b)'),
        EpisodeResult('long/0', 1, False, 700, 4.0, 'grasp(a)', 'horizon'),
    ]
    row = table.row_of(results)
    assert (row['successes'], row['n'], row['median_steps'], row['cpu_s']) == (1, 2, 100, 3.0)
    assert row['wilson_low'] == pytest.approx(0.095, abs=0.001)
    assert row['wilson_high'] == pytest.approx(0.905, abs=0.001)
    assert row['failures'] == [{'state': 1, 'subtask': 'grasp(a)', 'reason': 'horizon'}]


def test_states_and_tasks_are_read_and_checked():
    assert table.parse_states('0:3') == (0, 1, 2)
    assert table.parse_states('30,34') == (30, 34)
    assert table.parse_tasks('long/0,goal')[:2] == ('long/0', 'goal/0')
    assert len(table.parse_tasks('all')) == 40
    for wrong in ('50', 'x', '3:3', ''):
        with pytest.raises(ParameterError, match='allowed: first:last or a list'):
            table.parse_states(wrong)
    with pytest.raises(SimulationError):
        table.parse_tasks('long/99')


def test_the_table_says_what_is_wrong_in_one_line(capsys):
    assert table.main(['--tasks', 'nonsense', '--states', '30']) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.slow
def test_the_table_runs_tasks_and_writes_json(tmp_path, capsys):
    out = tmp_path / 'table.json'
    arguments = ['--tasks', 'long/0,object/0', '--states', '30,38', '--json', str(out)]
    assert table.main(arguments) == 0
    document = json.loads(out.read_text())
    assert [r['task'] for r in document['rows']] == ['long/0', 'object/0']
    assert all(r['successes'] == 2 == r['n'] for r in document['rows'])
    assert document['command'].endswith(' '.join(arguments))
    assert 'Wilson' in capsys.readouterr().out
