"""The LIBERO body on Long task 0: determinism, equality with LIBERO, pictures, error lines."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.ports import Body
from structrl_ros.sim.libero.bench import bare_environment
from structrl_ros.sim.libero.body import LiberoBody
from structrl_ros.sim.libero.camera import SceneCamera

pytestmark = pytest.mark.sim
pytest.importorskip('libero')

STATE = 3


def fingerprint(body):
    """Hash of a fresh scene, its fixtures, and its state after 50 actions."""
    body.reset('long/0', 5, STATE)
    digest = hashlib.sha256(scene_of(body).tobytes())
    for action in actions(50):
        body.step(action)
    digest.update(body.simulator_state().tobytes())
    return digest.hexdigest()


@pytest.fixture(scope='module')
def body():
    body = LiberoBody(image_size=128)
    body.reset('long/0', 0, STATE)
    yield body
    body.close()


@pytest.fixture
def placed(body):
    body.reset('long/0', 0, STATE)
    return body


@pytest.fixture(scope='module')
def libero():
    environment = bare_environment('long/0', seed=0, initial_state=STATE)
    yield environment
    environment.close()


def actions(count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7)).astype(np.float32)


def scene_of(body):
    return np.concatenate(
        [body.simulator_state(), body.model.body_pos.ravel(), body.model.body_quat.ravel()]
    )


def test_body_implements_the_port(body):
    assert isinstance(body, Body)
    assert body.spec.roles == ('head', 'left_wrist')
    assert body.spec.control_rate_hz == 20.0


def test_reset_says_what_the_task_is(placed):
    info = placed.reset('long/0', 0, STATE)
    assert info.instruction == 'put both the alphabet soup and the tomato sauce in the basket'
    assert info.predicate_names == (
        'in(alphabet_soup_1, basket_1_contain_region)',
        'in(tomato_sauce_1, basket_1_contain_region)',
        'grasp(alphabet_soup_1)',
        'grasp(tomato_sauce_1)',
    )
    assert {'alphabet soup', 'tomato sauce', 'basket'} <= set(info.objects)
    assert info.horizon_steps == 700


def test_a_scene_does_not_depend_on_what_happened_before(placed):
    first = scene_of(placed)
    for action in actions(30):
        placed.step(action)
    moved = placed.simulator_state()
    placed.reset('long/0', 1, STATE + 1)
    other = scene_of(placed)
    placed.set_simulator_state(moved)
    placed.reset('long/0', 0, STATE)
    np.testing.assert_array_equal(scene_of(placed), first)
    assert not np.array_equal(other, first)


def test_a_scene_and_its_future_are_the_same_in_another_process(placed):
    spec = f'spec_from_file_location("other", {__file__!r})'
    program = (
        f'import importlib.util as u; s = u.{spec}; m = u.module_from_spec(s); '
        's.loader.exec_module(m); print(m.fingerprint(m.LiberoBody()))'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.strip() == fingerprint(placed), done.stderr


def test_fixtures_stand_where_libero_puts_them(placed, libero):
    np.testing.assert_array_equal(placed.model.body_pos, libero.env.sim.model.body_pos)
    np.testing.assert_array_equal(placed.model.body_quat, libero.env.sim.model.body_quat)


def test_a_settled_scene_is_liberos_to_solver_accuracy(placed, libero):
    np.testing.assert_allclose(placed.data.qpos, libero.env.sim.data.qpos, atol=1e-9)


def test_steps_and_truth_are_bit_equal_to_liberos(placed, libero):
    copy_state(placed, libero)
    data, robot = libero.env.sim.data, libero.env.robots[0]
    for action in actions(25, seed=1):
        outcome = placed.step(action)
        _, _, done, _ = libero.step(action.astype(np.float64))
        np.testing.assert_array_equal(placed.data.qpos, data.qpos)
        np.testing.assert_array_equal(placed.data.qvel, data.qvel)
        goals = [
            bool(libero.env._eval_predicate(g)) for g in libero.env.parsed_problem['goal_state']
        ]
        grasps = [
            libero.env._check_grasp(robot.gripper, libero.env.get_object(name))
            for name in ('alphabet_soup_1', 'tomato_sauce_1')
        ]
        assert outcome.values == (*goals, *grasps)
        assert outcome.success == done


def copy_state(body, libero):
    import mujoco

    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    physics = np.empty(mujoco.mj_stateSize(body.model, kind))
    mujoco.mj_getState(body.model, body.data, physics, kind)
    sim, robot = libero.env.sim, libero.env.robots[0]
    mujoco.mj_setState(sim.model._model, sim.data._data, physics, kind)
    mine = body.environment.robots[0]
    robot.controller.goal_pos = mine.controller.goal_pos.copy()
    robot.controller.goal_ori = mine.controller.goal_ori.copy()
    robot.gripper.current_action = mine.gripper.current_action.copy()


def test_a_state_that_is_set_again_has_the_same_future(placed):
    for action in actions(10, seed=2):
        placed.step(action)
    state = placed.simulator_state()
    futures = []
    for start in (0, 1):
        for action in actions(20, seed=3):
            outcome = placed.step(action)
        futures.append((placed.simulator_state(), outcome, placed.proprioception(0)))
        if start == 0:
            placed.reset('long/0', 0, STATE + 2)
            placed.reset('long/0', 0, STATE)
            placed.set_simulator_state(state)
    np.testing.assert_array_equal(futures[0][0], futures[1][0])
    assert futures[0][1] == futures[1][1]
    np.testing.assert_array_equal(futures[0][2].ee_pose, futures[1][2].ee_pose)


def test_a_state_vector_comes_back_unchanged(placed):
    placed.step(actions(1)[0])
    state = placed.simulator_state()
    placed.step(actions(1, seed=9)[0])
    placed.set_simulator_state(state)
    np.testing.assert_array_equal(placed.simulator_state(), state)


@pytest.mark.parametrize('axis', [0, 1, 2])
def test_the_hand_moves_along_the_axis_of_the_action_in_the_base_frame(placed, axis):
    before = placed.proprioception(0).ee_pose
    action = np.zeros(7, dtype=np.float32)
    action[axis], action[6] = 0.5, -1
    for _ in range(8):
        placed.step(action)
    moved = placed.proprioception(0).ee_pose[:3] - before[:3]
    assert moved[axis] > 0.03
    assert np.abs(np.delete(moved, axis)).max() < 0.01


def test_the_hand_turns_about_the_axis_of_the_action_in_the_base_frame(placed):
    before = rotation(placed.proprioception(0).ee_pose[3:])
    for _ in range(6):
        placed.step(np.array([0, 0, 0, 0, 0, 0.3, -1], dtype=np.float32))
    turn = rotation(placed.proprioception(0).ee_pose[3:]) @ before.T
    angle = np.arctan2(turn[1, 0], turn[0, 0])
    assert 0.1 < angle < 0.9
    np.testing.assert_allclose(turn[2, 2], 1.0, atol=0.02)


def rotation(quat_xyzw):
    x, y, z, w = quat_xyzw
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_proprioception_has_seven_joints_two_positive_fingers_and_a_unit_quaternion(placed):
    state = placed.proprioception(42)
    assert state.stamp_ns == 42
    assert len(state.joint_names) == 7
    assert state.joint_positions.shape == state.joint_velocities.shape == (7,)
    assert (state.gripper > 0.01).all() and state.gripper.shape == (2,)
    np.testing.assert_allclose(np.linalg.norm(state.ee_pose[3:]), 1.0, atol=1e-9)


def test_proprioception_does_not_change_with_later_steps(placed):
    state = placed.proprioception(0)
    joints = state.joint_positions.copy()
    placed.step(actions(1)[0])
    np.testing.assert_array_equal(state.joint_positions, joints)


def test_hold_keeps_the_arm_and_the_grippers_command(placed):
    close = np.array([0, 0, -0.5, 0, 0, 0, 1], dtype=np.float32)
    for _ in range(10):
        placed.step(close)
    for _ in range(10):
        placed.step(placed.hold_action())
    before = placed.proprioception(0)
    for _ in range(20):
        placed.step(placed.hold_action())
    after = placed.proprioception(0)
    np.testing.assert_array_equal(placed.hold_action(), [0, 0, 0, 0, 0, 0, 1])
    assert after.gripper.max() < 0.005
    np.testing.assert_allclose(after.ee_pose[:3], before.ee_pose[:3], atol=0.005)


def test_picture_is_upright_and_not_mirrored(placed):
    picture = placed.render('head').astype(float)
    assert picture.shape == (128, 128, 3)
    row, column = pixel_of(placed, 'agentview', 'basket_1_main')
    assert column > 64  # the basket is on the right: a mirrored picture has it on the left

    def brightness(r, c):
        return picture[r - 4 : r + 5, c - 4 : c + 5].mean()

    table = brightness(110, 64)
    assert brightness(row, column) > table + 40
    assert abs(brightness(row, 127 - column) - table) < 40
    assert picture[8:24].mean() > picture[104:120].mean()  # wall above, dark table below


def pixel_of(body, camera, thing, size=128):
    eye = body.data.cam(camera)
    seen = eye.xmat.reshape(3, 3).T @ (body.data.body(thing).xpos - eye.xpos)
    scale = size / 2 / np.tan(np.radians(body.model.cam(camera).fovy[0]) / 2)
    return (
        int(size / 2 + scale * seen[1] / seen[2]),
        int(size / 2 - scale * seen[0] / seen[2]),
    )


def test_wrist_camera_looks_from_the_hand(placed):
    before = placed.render('left_wrist').astype(int)
    for _ in range(8):
        placed.step(np.array([0, 0, -1, 0, 0, 0, -1], dtype=np.float32))
    after = placed.render('left_wrist').astype(int)
    head = placed.render('head')
    assert np.abs(before - after).mean() > 5
    assert not np.array_equal(head, after)


def test_light_pictures_look_alike_and_leave_the_model_as_it_was(placed):
    faces = placed.model.mesh_face.copy(), placed.model.mesh_facenum.copy()
    light = SceneCamera(placed._scene, 128, 'light')
    for role, camera in (('head', 'agentview'), ('left_wrist', 'robot0_eye_in_hand')):
        difference = np.abs(light.render(camera).astype(int) - placed.render(role))
        assert 0 < difference.mean() < 4
    light.close()
    np.testing.assert_array_equal(placed.model.mesh_face, faces[0])
    np.testing.assert_array_equal(placed.model.mesh_facenum, faces[1])


def test_pictures_from_a_second_thread_are_refused(placed):
    placed.render('head')
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(placed.render, 'head').exception()
    assert isinstance(error, SimulationError) and 'thread' in str(error)


@pytest.mark.parametrize('index', [-1, 50])
def test_an_initial_state_that_does_not_exist_is_refused(placed, index):
    with pytest.raises(SimulationError, match='allowed: 0 to 49'):
        placed.reset('long/0', 0, index)


def test_a_seed_outside_32_bits_is_refused(placed):
    with pytest.raises(SimulationError, match=r'seed -1 .*allowed'):
        placed.reset('long/0', -1, 0)


@pytest.mark.parametrize('action', [np.zeros(6), np.full(7, np.nan), np.zeros((1, 7))])
def test_a_bad_action_is_refused_and_moves_nothing(placed, action):
    before = placed.simulator_state()
    with pytest.raises(SimulationError, match='allowed: 7 finite numbers'):
        placed.step(action.astype(np.float32))
    np.testing.assert_array_equal(placed.simulator_state(), before)


def test_a_state_of_another_size_is_refused(placed):
    with pytest.raises(SimulationError, match='finite numbers of the same task'):
        placed.set_simulator_state(np.zeros(7))


def test_an_unknown_camera_is_refused(placed):
    with pytest.raises(SimulationError, match='allowed: head, left_wrist'):
        placed.render('right_wrist')


def test_a_body_without_a_scene_says_so():
    body = LiberoBody()
    for call in (body.hold_action, body.simulator_state, lambda: body.step(np.zeros(7))):
        with pytest.raises(SimulationError, match='no scene'):
            call()
    body.close()
    body.close()


@pytest.mark.parametrize(
    'arguments', [{'image_size': 4}, {'horizon_steps': 0}, {'picture_detail': 'blurred'}]
)
def test_a_wrong_setting_is_refused(arguments):
    with pytest.raises(SimulationError, match='allowed'):
        LiberoBody(**arguments)
