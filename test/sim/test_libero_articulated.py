"""Expert skills for fixtures, in LIBERO, on initial states that the report never uses."""

import copy

import numpy as np
import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.expert import scene
from structrl_ros.sim.libero.expert.articulated import fixture_conjunct
from structrl_ros.sim.libero.expert.articulated import make_articulated
from structrl_ros.sim.libero.expert.articulated import skill_for
from structrl_ros.sim.libero.expert.articulated import skill_into_fixture
from structrl_ros.sim.libero.expert.articulated_joints import read_drawer
from structrl_ros.sim.libero.expert.articulated_joints import read_knob
from structrl_ros.types import Subtask

pytestmark = pytest.mark.sim
pytest.importorskip('libero')

STOVE = 'flat_stove_1'
DRAWER = 'white_cabinet_1_bottom_region'


@pytest.fixture(scope='module')
def body():
    made = LiberoBody()
    yield made
    made.close()


def play(body, skill, limit):
    """Run a skill to its end; return the steps that it took."""
    for step in range(limit):
        if skill.finished:
            return step
        body.step(skill.action(body))
    raise AssertionError('\n'.join(skill.log))


def test_knob_turns_on_and_off_again_and_a_copied_skill_goes_the_same_way(body):
    body.reset('goal/7', 0, 30)
    subtask = Subtask('s1', 'turn on the stove', 'turn on', ('stove',), 0)
    skill = make_articulated(body, subtask)
    for _ in range(20):
        body.step(skill.action(body))
    state, memory = body.simulator_state(), copy.deepcopy(skill)
    first = skill.action(body)
    body.step(first)
    body.set_simulator_state(state)
    np.testing.assert_array_equal(memory.action(body), first)
    body.set_simulator_state(state)
    assert play(body, memory, 140) < 140
    assert read_knob(body, STOVE).angle > 0.5
    assert scene.is_true(body, ('turnon', STOVE))

    play(body, skill_for(body, ('turnoff', STOVE)), 180)
    assert read_knob(body, STOVE).angle < 0.0
    assert not scene.is_true(body, ('turnon', STOVE))


def test_drawer_shuts_over_the_bowl_though_the_plan_goes_on_before_the_hand_lets_go(body):
    body.reset('long/3', 0, 31)
    assert read_drawer(body, DRAWER).travel < -0.1
    inside = ('in', 'akita_black_bowl_1', DRAWER)
    skill = skill_into_fixture(body, inside)
    while not scene.is_true(body, inside):
        body.step(skill.action(body))
    assert scene.held(body) == 'akita_black_bowl_1'

    play(body, skill_for(body, ('close', DRAWER)), 250)
    _, rotation = scene.pose(body, 'akita_black_bowl_1')
    assert rotation[2, 2] > 0.95
    assert read_drawer(body, DRAWER).travel > 0.0
    assert all(scene.is_true(body, goal) for goal in scene.goals(body))
    assert play(body, skill_for(body, ('close', DRAWER)), 3) <= 1


def test_words_of_a_plan_find_the_part_that_moves(body):
    body.reset('long/3', 0, 31)
    assert fixture_conjunct(body, 'close', 'bottom drawer of the cabinet') == ('close', DRAWER)
    assert fixture_conjunct(body, 'close', 'drawer') == ('close', DRAWER)
    top = fixture_conjunct(body, 'open', 'top drawer')
    assert top == ('open', 'white_cabinet_1_top_region')
    assert not skill_for(body, top).finished
    low = fixture_conjunct(body, 'open', 'bottom drawer')
    with pytest.raises(SimulationError, match='its handle is too low'):
        skill_for(body, low)
    with pytest.raises(SimulationError, match='nothing to turn on'):
        fixture_conjunct(body, 'turn on', 'stove')
    with pytest.raises(SimulationError, match='allowed: turn on'):
        fixture_conjunct(body, 'wipe', 'drawer')


@pytest.mark.slow
def test_mug_goes_into_the_microwave_and_the_door_shuts(body):
    body.reset('long/9', 0, 30)
    goals = scene.goals(body)
    play(body, skill_into_fixture(body, ('grasp', 'white_yellow_mug_1')), 200)
    assert scene.holds(body, 'white_yellow_mug_1')
    play(body, skill_into_fixture(body, goals[0]), 250)
    play(body, skill_for(body, fixture_conjunct(body, 'close', 'microwave')), 250)
    assert all(scene.is_true(body, goal) for goal in goals)


@pytest.mark.slow
def test_drawer_is_pulled_open_by_its_handle(body):
    body.reset('goal/0', 0, 30)
    conjunct = fixture_conjunct(body, 'open', 'middle drawer of the cabinet')
    play(body, skill_for(body, conjunct), 200)
    assert read_drawer(body, conjunct[1]).travel < -0.14
