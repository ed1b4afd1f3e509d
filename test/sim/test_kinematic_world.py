"""Claims of the kinematic world and its expert."""

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Body
from structrl_ros.ports import Policy
from structrl_ros.sim.kinematic.body import TASKS
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.sim.kinematic.expert import KinematicExpert
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask

TASK = 'kinematic/two_in_basket'
STEPS = [
    ('grasp', ('alphabet soup',)),
    ('place', ('alphabet soup', 'basket')),
    ('grasp', ('tomato sauce',)),
    ('place', ('tomato sauce', 'basket')),
]


def subtask(verb, arguments):
    return Subtask(f'{verb}({", ".join(arguments)})', '', verb, arguments, 0)


def observe(body, seed=0, initial_state=0):
    state = SimulatorState(0, 1, 0, 0, TASK, seed, initial_state, body.simulator_state())
    return Observation(0, 1, simulator=state)


def start(expert, seed=0, initial_state=0):
    expert.reset(Episode(0, 1, False, 'kinematic', TASK, '', seed, initial_state))


@pytest.fixture
def body():
    body = KinematicBody()
    body.reset(TASK, 0, 0)
    return body


def test_world_and_expert_stand_behind_their_ports(body):
    assert isinstance(body, Body)
    assert isinstance(KinematicExpert(), Policy)


def test_a_drawing_has_no_lens(body):
    assert {body.vertical_fov(role) for role in body.spec.roles} == {None}


def test_task_lists_goal_conjuncts_then_grasps():
    info = KinematicBody().reset(TASK, 0, 0)
    assert info.predicate_names == (
        'in(alphabet_soup_1, basket_1_contain_region)',
        'in(tomato_sauce_1, basket_1_contain_region)',
        'grasp(alphabet_soup_1)',
        'grasp(tomato_sauce_1)',
    )
    assert info.objects == ('alphabet soup', 'tomato sauce', 'basket')


@pytest.mark.parametrize('initial_state', range(0, 50, 7))
@pytest.mark.parametrize('seed', [0, 5])
def test_expert_solves_the_task_from_any_initial_state(seed, initial_state):
    body, expert = KinematicBody(), KinematicExpert()
    body.reset(TASK, seed, initial_state)
    start(expert, seed, initial_state)
    seen = np.zeros(4, bool)
    for step in STEPS:
        for _ in range(12):
            for action in expert.act(observe(body, seed, initial_state), subtask(*step), ''):
                outcome = body.step(action)
                seen |= outcome.values
    assert outcome.success
    assert seen.all()


def test_a_chunk_asked_for_in_mid_flight_continues_the_same_motion(body):
    expert = KinematicExpert(chunk_length=16)
    start(expert)
    whole = expert.act(observe(body), subtask(*STEPS[0]), '')
    for action in whole[:6]:
        body.step(action)
    rest = expert.act(observe(body), subtask(*STEPS[0]), '')
    assert np.array_equal(rest[:10], whole[6:])


def test_same_arguments_give_the_same_scene_and_others_another(body):
    def picture(seed, initial_state):
        body.reset(TASK, seed, initial_state)
        return body.simulator_state()

    assert np.array_equal(picture(3, 7), picture(3, 7))
    assert not np.array_equal(picture(3, 7)[14:], picture(3, 8)[14:])
    assert not np.array_equal(picture(3, 7)[12:14], picture(4, 7)[12:14])
    assert np.array_equal(picture(3, 7)[14:], picture(4, 7)[14:])


def test_state_restores_the_future_bit_for_bit(body):
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (30, 7)).astype(np.float32)
    for action in actions[:10]:
        body.step(action)
    state = body.simulator_state()
    first = [body.step(a) for a in actions[10:]], body.simulator_state()
    body.set_simulator_state(state)
    second = [body.step(a) for a in actions[10:]], body.simulator_state()
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])


def test_can_falls_when_let_go_and_is_not_in_the_basket_while_held(body):
    expert = KinematicExpert()
    start(expert)
    for _ in range(8):
        for action in expert.act(observe(body), subtask(*STEPS[0]), ''):
            outcome = body.step(action)
    assert outcome.values == (False, False, True, False)
    assert body.scene.cans[0, 2] > 0.15
    for _ in range(10):
        outcome = body.step(np.array([0, 0, 0, 0, 0, 0, -1], np.float32))
    assert outcome.values == (False, False, False, False)
    assert body.scene.cans[0, 2] == pytest.approx(0.05)


def test_hold_action_keeps_gripper_and_arm(body):
    body.step(np.array([0.5, 0, 0, 0, 0, 0, 1], np.float32))
    assert body.hold_action().tolist() == [0, 0, 0, 0, 0, 0, 1]
    before = body.proprioception(0).ee_pose
    body.step(body.hold_action())
    assert np.array_equal(body.proprioception(0).ee_pose, before)


def test_pictures_show_the_scene_and_change_with_it(body):
    picture = body.render('head')
    assert picture.shape == (96, 96, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) >= 6
    body.step(np.array([1, 0, 0, 0, 0, 0, -1], np.float32))
    assert not np.array_equal(body.render('head'), picture)
    assert not np.array_equal(body.render('left_wrist'), picture)


def test_orientation_is_a_unit_quaternion(body):
    for _ in range(5):
        body.step(np.array([0, 0, 0, 0.3, -0.2, 0.9, -1], np.float32))
    assert np.linalg.norm(body.proprioception(0).ee_pose[3:]) == pytest.approx(1.0)


def test_wrong_use_is_one_clear_error(body):
    with pytest.raises(SimulationError, match='known: kinematic/soup_in_basket'):
        body.reset('kinematic/nothing', 0, 0)
    with pytest.raises(SimulationError, match='allowed: 0 to 49'):
        body.reset(TASK, 0, 50)
    with pytest.raises(SimulationError, match='7 finite numbers'):
        body.step(np.full(7, np.nan, np.float32))
    with pytest.raises(SimulationError, match='no camera'):
        body.render('right_wrist')
    with pytest.raises(SimulationError, match='20 finite numbers'):
        body.set_simulator_state(np.zeros(3))
    with pytest.raises(SimulationError, match='no scene'):
        KinematicBody().hold_action()
    with pytest.raises(SimulationError, match='image size'):
        KinematicBody(image_size=4)


def test_expert_refuses_what_it_cannot_do(body):
    expert = KinematicExpert()
    start(expert)
    with pytest.raises(StaleDataError, match='privileged'):
        expert.act(Observation(0, 1), subtask(*STEPS[0]), '')
    with pytest.raises(SimulationError, match="no skill 'open'"):
        expert.act(observe(body), subtask('open', ('drawer',)), '')
    with pytest.raises(SimulationError, match="'moka pot' is not in the scene"):
        expert.act(observe(body), subtask('grasp', ('moka pot',)), '')


def test_registry_makes_bodies_and_experts_by_name():
    assert make_body('kinematic', image_size=32).spec.name == 'kinematic'
    assert make_expert('kinematic', chunk_length=4).spec.chunk_length == 4
    with pytest.raises(ParameterError, match="unknown body 'mujoco'; known: kinematic, libero"):
        make_body('mujoco')
    with pytest.raises(ParameterError, match="for body 'nobody'; known: fr3, kinematic, libero"):
        make_expert('nobody')
    with pytest.raises(ParameterError, match='colour'):
        make_body('kinematic', colour='red')


@pytest.mark.parametrize('task', sorted(TASKS))
def test_every_task_can_be_set(task):
    assert KinematicBody().reset(task, 0, 0).instruction == TASKS[task].instruction
