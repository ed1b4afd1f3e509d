"""The MuJoCo tabletop behind its port: determinism, state, features, actions, pictures, errors."""

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.ports import StateBody
from structrl_ros.sim.registry import default_task
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.tabletop.camera import prepare_graphics
from structrl_ros.sim.tabletop.task_files import tasks

pytestmark = pytest.mark.sim
prepare_graphics()  # before MuJoCo is imported
pytest.importorskip('mujoco')

TASKS = tuple(tasks())


def actions(count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 7)).astype(np.float32)


def fingerprint(body):
    """Hash of states, features and truth over some steps of every task."""
    digest = hashlib.sha256()
    for task in TASKS:
        body.reset(task, 5, 3)
        for action in actions(6):
            outcome = body.step(action)
            digest.update(body.simulator_state().tobytes())
            digest.update(body.features().tobytes())
            digest.update(bytes(outcome.values))
    return digest.hexdigest()


@pytest.fixture(scope='module')
def body():
    body = make_body('tabletop', image_size=64)
    yield body
    body.close()


@pytest.fixture
def placed(body):
    body.reset('pack_lunch', 0, 3)
    return body


def test_body_implements_the_port(body):
    assert isinstance(body, StateBody)
    assert body.spec.name == 'tabletop'
    assert body.spec.control_rate_hz == 10.0
    assert body.spec.roles == ('head', 'left_wrist')
    assert default_task('tabletop') == 'pack_lunch'


def test_reset_says_what_the_task_is(placed):
    info = placed.reset('pack_lunch', 0, 3)
    assert info.predicate_names == placed.task.predicate_names
    assert info.horizon_steps == placed.task.horizon
    assert {'chicken', 'apple', 'lunch box'} <= set(info.objects)
    assert make_body('tabletop', horizon_steps=7).reset('pack_lunch', 0, 0).horizon_steps == 7


def test_nothing_that_the_goal_asks_for_is_true_at_reset(body):
    for task in TASKS:
        for state in range(5):
            body.reset(task, 0, state)
            assert not body.view.truth.any(), (task, state)


def test_things_stand_where_the_layout_has_them_and_at_rest(body):
    from structrl_ros.sim.tabletop.layout import draw_layout

    for task in TASKS:
        body.reset(task, 2, 9)
        layout = draw_layout(body.task, [(2, 9)])
        view = body.view
        np.testing.assert_allclose(view.tcp, layout.tcp, atol=1e-4)
        np.testing.assert_allclose(view.yaw, layout.yaw, atol=1e-3)
        np.testing.assert_allclose(view.fixtures, layout.fixtures, atol=2e-3)
        np.testing.assert_allclose(view.objects, layout.objects, atol=1e-3)
        np.testing.assert_allclose(view.object_yaws, layout.object_yaws, atol=1e-2)
        assert np.abs(body.data.qvel).max() < 0.02


def test_a_scene_does_not_depend_on_what_happened_before(placed):
    first = placed.simulator_state()
    for action in actions(10):
        placed.step(action)
    placed.reset('pack_lunch', 1, 4)
    other = placed.simulator_state()
    placed.reset('two_in_basket', 1, 4)
    placed.reset('pack_lunch', 0, 3)
    np.testing.assert_array_equal(placed.simulator_state(), first)
    assert not np.array_equal(other, first)


def test_scenes_and_their_futures_are_the_same_in_another_process(body):
    spec = f'spec_from_file_location("other", {__file__!r})'
    program = (
        f'import importlib.util as u; s = u.{spec}; m = u.module_from_spec(s); '
        's.loader.exec_module(m); print(m.fingerprint(m.make_body("tabletop")))'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.strip() == fingerprint(body), done.stderr


@pytest.mark.parametrize('task', TASKS)
def test_a_twin_set_to_the_state_tells_and_does_the_same_bit_for_bit(body, task):
    body.reset(task, 1, 2)
    for action in actions(15):
        body.step(action)
    twin = make_body('tabletop')
    twin.reset(task, 1, 2)
    twin.set_simulator_state(body.simulator_state())
    np.testing.assert_array_equal(twin.features(), body.features())
    np.testing.assert_array_equal(twin.hold_action(), body.hold_action())
    for action in actions(15, seed=1):
        assert twin.step(action) == body.step(action)
        np.testing.assert_array_equal(twin.features(), body.features())
    np.testing.assert_array_equal(twin.simulator_state(), body.simulator_state())
    twin.close()


def test_what_was_open_once_is_part_of_the_state(placed):
    from structrl_ros.sim.tabletop.mjcf.fixtures import joint_name

    joint = placed.model.joint(joint_name(placed.task.fixtures[0])).qposadr[0]
    placed.data.qpos[joint] = 1.7
    placed.step(placed.hold_action())
    state = placed.simulator_state()
    placed.reset('pack_lunch', 0, 3)
    assert not placed.view.reached[0, 0]
    placed.set_simulator_state(state)
    assert placed.view.reached[0, 0]


@pytest.mark.parametrize('axis', range(3))
def test_an_action_moves_the_measured_tool_along_its_axis(placed, axis):
    for sign in (1.0, -1.0):
        placed.reset('two_in_basket', 0, 0)
        before = placed.view.tcp[0].copy()
        action = np.zeros(7, dtype=np.float32)
        action[axis], action[6] = sign, -1.0
        placed.step(action)
        moved = sign * (placed.view.tcp[0] - before)
        assert 0.044 < moved[axis] < 0.052
        assert np.abs(np.delete(moved, axis)).max() < 0.006


def test_no_target_is_kept_once_the_action_is_zero(placed):
    placed.reset('two_in_basket', 0, 0)
    for _ in range(3):
        placed.step(np.array([1, 0, 0, 0, 0, 0, -1], dtype=np.float32))
    for _ in range(3):
        placed.step(placed.hold_action())
    still = placed.view.tcp[0].copy()
    for _ in range(10):
        placed.step(placed.hold_action())
    assert np.abs(placed.view.tcp[0] - still).max() < 5e-4


def test_the_hand_stays_upright_over_a_long_motion_and_keeps_a_tilt_that_was_asked_for(placed):
    placed.reset('two_in_basket', 0, 0)
    for action in actions(150, seed=2):
        placed.step(np.concatenate([0.7 * action[:3], [0, 0, 0.3 * action[5], -1]]))
    down = placed.data.site('tcp').xmat[8]
    assert np.degrees(np.arccos(-down)) < 2.0
    placed.reset('two_in_basket', 0, 0)
    for _ in range(4):
        placed.step(np.array([0, 0, 0, 0, 0.4, 0, -1], dtype=np.float32))
    for _ in range(5):
        placed.step(placed.hold_action())
    assert np.degrees(np.arccos(-placed.data.site('tcp').xmat[8])) > 20.0


def test_only_the_sign_of_the_gripper_counts_and_zero_changes_nothing(placed):
    def opening_after(*commands):
        placed.reset('two_in_basket', 0, 0)
        for command in commands:
            placed.step(np.array([0, 0, 0, 0, 0, 0, command], dtype=np.float32))
        return float(placed.view.opening[0])

    assert opening_after(0.1, 0.1, 0.1) == opening_after(1.0, 0.0, 1.0) < 0.05
    assert opening_after(1.0, -0.1, -1.0, 0.0) > 0.9
    assert placed.hold_action()[6] == -1.0


def test_a_calibration_offset_displaces_what_features_perceive_and_nothing_else(placed):
    shifted = make_body('tabletop', calibration_offset=(0.03, 0.0, 0.0))
    for each in (placed, shifted):
        each.reset('pack_lunch', 0, 3)
        each.step(actions(1)[0])
    np.testing.assert_array_equal(shifted.simulator_state(), placed.simulator_state())
    names = np.array(placed.feature_names)
    changed = set(names[shifted.features() != placed.features()])
    assert {'object_0_far_x', 'fixture_0_handle_far_x', 'fixture_0_place_near_x'} <= changed
    assert all(name.endswith('_x') and name.split('_')[0] in ('object', 'fixture')
               for name in changed)  # fmt: skip
    shifted.close()


def test_one_number_of_calibration_offset_means_the_usual_direction():
    from structrl_ros.sim.tabletop.perception import DIRECTION

    one = make_body('tabletop', calibration_offset=0.02)
    three = make_body('tabletop', calibration_offset=0.02 * np.array(DIRECTION))
    apart = make_body('tabletop', calibration_offset=0.02, offsets_apart=0.01)
    for each in (one, three, apart):
        each.reset('pack_lunch', 0, 0)
    np.testing.assert_array_equal(one.features(), three.features())
    assert (apart.features() != one.features()).any()


def test_an_action_outside_its_range_is_clipped(placed):
    state = placed.simulator_state()
    placed.step(np.array([1, 0, 0, 0, 0, 0, 1], dtype=np.float32))
    once = placed.simulator_state()
    placed.set_simulator_state(state)
    placed.step(np.array([9, 0, 0, 0, 0, 0, 5], dtype=np.float32))
    np.testing.assert_array_equal(placed.simulator_state(), once)


def test_no_opengl_before_the_first_picture():
    program = (
        'import sys, numpy\n'
        'from structrl_ros.sim.registry import make_body\n'
        'body = make_body("tabletop")\n'
        'body.reset("pack_lunch", 0, 0)\n'
        'body.step(numpy.zeros(7))\n'
        'body.features()\n'
        'print("OpenGL.GL" in sys.modules or "OpenGL.EGL" in sys.modules)\n'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    before_any = subprocess.run(
        [sys.executable, '-c', 'import sys, mujoco; print("OpenGL.EGL" in sys.modules)'],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() in ('False', before_any.stdout.strip())


def test_pictures_follow_the_scene(placed):
    first = {role: placed.render(role) for role in placed.spec.roles}
    again = {role: placed.render(role) for role in placed.spec.roles}
    for _ in range(5):
        placed.step(np.array([0, 1, 0, 0, 0, 0, -1], dtype=np.float32))
    for role, picture in first.items():
        assert picture.shape == (64, 64, 3) and picture.dtype == np.uint8
        assert picture.std() > 10
        np.testing.assert_array_equal(again[role], picture)
        assert (placed.render(role) != picture).any()
    assert 0.3 < placed.vertical_fov('head') < 2.0


def test_rendering_changes_no_state(placed):
    state = placed.simulator_state()
    placed.render('head')
    np.testing.assert_array_equal(placed.simulator_state(), state)


@pytest.mark.parametrize(
    ('call', 'text'),
    [
        (lambda b: b.reset('fold_towel', 0, 0), "unknown task 'fold_towel'"),
        (lambda b: b.reset('pack_lunch', -1, 0), 'seed -1'),
        (lambda b: b.step(np.zeros(6)), 'allowed: 7 finite numbers'),
        (lambda b: b.step(np.full(7, np.nan)), 'allowed: 7 finite numbers'),
        (lambda b: b.set_simulator_state(np.zeros(4)), r'shape \(4,\)'),
        (lambda b: b.render('right_wrist'), "no camera 'right_wrist'"),
    ],
)
def test_a_mistake_gives_one_clear_line_and_changes_nothing(placed, call, text):
    state = placed.simulator_state()
    with pytest.raises(SimulationError, match=text):
        call(placed)
    np.testing.assert_array_equal(placed.simulator_state(), state)


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ({'image_size': 4}, 'image size 4 px'),
        ({'horizon_steps': 0}, 'horizon of 0 steps'),
        ({'calibration_offset': (1.0, 2.0)}, r'calibration offset \(1.0, 2.0\)'),
    ],
)
def test_an_option_out_of_range_is_refused(options, text):
    with pytest.raises(SimulationError, match=text):
        make_body('tabletop', **options)


def test_a_body_without_a_scene_says_so():
    body = make_body('tabletop')
    with pytest.raises(SimulationError, match='no scene'):
        body.features()
    body.close()
    body.close()
