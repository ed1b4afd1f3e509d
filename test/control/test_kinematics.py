"""Forward kinematics, Jacobian and inverse kinematics; MuJoCo is the second opinion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.inverse_kinematics import InverseKinematics
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.robot_mjcf import mjcf
from structrl_ros.control.rotations import difference
from structrl_ros.control.rotations import matrix_from_quaternion
from structrl_ros.control.rotations import matrix_from_vector
from structrl_ros.control.rotations import moved
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.control.rotations import transform_from_pose
from structrl_ros.control.rotations import vector_from_matrix

ARMS = ('fr3', 'panda')
FR3 = load_robot('fr3')
SHARES = st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7)


def within(limits, shares):
    return limits.position_low + np.array(shares) * (limits.position_high - limits.position_low)


def random_positions(robot, count, seed=0):
    generator = np.random.default_rng(seed)
    return [within(robot.limits, generator.random(7)) for _ in range(count)]


@pytest.mark.sim
@pytest.mark.parametrize('arm', ARMS)
def test_frames_and_jacobian_equal_those_of_mujoco(arm):
    mujoco = pytest.importorskip('mujoco')
    robot = load_robot(arm)
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    data = mujoco.MjData(model)
    site = model.site(f'{arm}_ee').id
    kinematics = Kinematics(robot, 'hand')
    for position in random_positions(robot, 50):
        data.qpos[:] = position
        mujoco.mj_forward(model, data)
        frames = kinematics.frames(position)
        for n in range(7):
            body = data.body(f'{arm}_link{n + 1}')
            assert np.allclose(frames[n][:3, 3], body.xpos, rtol=0, atol=1e-6)
            assert np.allclose(frames[n][:3, :3], body.xmat.reshape(3, 3), rtol=0, atol=1e-6)
        end, jacobian = kinematics.forward_and_jacobian(position)
        assert np.allclose(end[:3, 3], data.site_xpos[site], rtol=0, atol=1e-6)
        assert np.allclose(end[:3, :3], data.site_xmat[site].reshape(3, 3), rtol=0, atol=1e-6)
        linear, angular = np.zeros((3, 7)), np.zeros((3, 7))
        mujoco.mj_jacSite(model, data, linear, angular, site)
        assert np.allclose(jacobian, np.vstack([linear, angular]), rtol=0, atol=1e-6)


@pytest.mark.sim
@pytest.mark.parametrize('arm', ARMS)
def test_model_has_what_the_simulated_controller_asks_for(arm):
    mujoco = pytest.importorskip('mujoco')
    robot = load_robot(arm)
    model = mujoco.MjModel.from_xml_string(mjcf(robot))
    assert [model.joint(n).name for n in range(7)] == [f'{arm}_joint{n}' for n in range(1, 8)]
    assert np.allclose(model.jnt_range[:, 0], robot.limits.position_low)
    assert model.body(f'{arm}_link7').mass[0] > 0.0
    assert model.nmesh == 0
    assert 15.0 < model.body_mass.sum() < 21.0, 'about the 18 kg of the arm, with its hand'


def test_ready_posture_has_the_pose_that_the_link_lengths_give():
    """By hand: upper arm 45 degrees back, forearm level, hand pointing down."""
    lean = np.sqrt(0.5)
    x = lean * (-0.316 + 0.0825) + 0.384 + 0.088
    z = 0.333 + lean * (0.316 + 0.0825) + 0.0825 - 0.107
    pose = Kinematics(FR3, 'none').pose(FR3.ready)
    assert np.allclose(pose[:3], [x, 0.0, z], atol=1e-12)
    down = matrix_from_quaternion(pose[3:])[:, 2]
    assert np.allclose(down, [0, 0, -1], atol=1e-12)


def test_tool_moves_ee_along_the_flange_by_its_length():
    flange, hand = (Kinematics(FR3, tool).forward(FR3.ready) for tool in ('none', 'hand'))
    assert np.allclose(hand[:3, 3] - flange[:3, 3], 0.1034 * flange[:3, 2], atol=1e-12)
    turned = vector_from_matrix(flange[:3, :3].T @ hand[:3, :3])
    assert np.allclose(turned, [0, 0, -np.pi / 4], atol=1e-9)


@given(shares=SHARES)
def test_jacobian_is_the_derivative_of_the_pose(shares):
    kinematics, position, step = Kinematics(FR3), within(FR3.limits, shares), 1e-6
    end, jacobian = kinematics.forward_and_jacobian(position)
    for joint in range(7):
        ahead, behind = position.copy(), position.copy()
        ahead[joint] += step
        behind[joint] -= step
        translation, rotation = difference(kinematics.forward(behind), kinematics.forward(ahead))
        column = np.concatenate([translation, rotation]) / (2 * step)
        assert np.allclose(jacobian[:, joint], column, atol=1e-6)
    assert np.allclose(end, kinematics.forward(position))


@given(
    vector=st.lists(st.floats(-1.8, 1.8), min_size=3, max_size=3),
    start=SHARES,
    shift=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
def test_poses_and_differences_survive_the_round_trip(vector, start, shift):
    frame = Kinematics(FR3).forward(within(FR3.limits, start))
    assert np.allclose(transform_from_pose(pose_from_transform(frame)), frame, atol=1e-9)
    vector = np.array(vector)
    if np.linalg.norm(vector) < np.pi:
        there = moved(frame, np.array(shift), vector)
        translation, rotation = difference(frame, there)
        assert np.allclose(translation, shift, atol=1e-9)
        assert np.allclose(rotation, vector, atol=1e-7)
        assert np.allclose(matrix_from_vector(vector) @ matrix_from_vector(-vector), np.eye(3))


@given(goal=SHARES, offset=st.lists(st.floats(-0.15, 0.15), min_size=7, max_size=7))
def test_inverse_kinematics_stays_in_range_and_ends_nearer_than_it_began(goal, offset):
    limits = FR3.limits.scaled(position_margin=0.02)
    kinematics = Kinematics(FR3)
    target = kinematics.forward(within(limits, goal))
    seed = within(limits, goal) + np.array(offset)
    solution = InverseKinematics(kinematics, limits).solve(target, seed)
    assert (solution.position >= limits.position_low).all()
    assert (solution.position <= limits.position_high).all()
    clipped = np.clip(seed, limits.position_low, limits.position_high)
    before = np.linalg.norm(difference(kinematics.forward(clipped), target)[0])
    assert solution.translation_error <= before + 0.3 * np.pi
    assert np.isfinite(solution.position).all()


def test_inverse_kinematics_reaches_what_is_near_and_reachable():
    """Targets from random postures at least 0.2 rad inside the ranges, seeds 0.15 rad off."""
    kinematics, generator = Kinematics(FR3), np.random.default_rng(3)
    inner = FR3.limits.scaled(position_margin=0.2)
    solver = InverseKinematics(kinematics, FR3.limits)
    reached = 0
    for position in [within(inner, generator.random(7)) for _ in range(100)]:
        seed = position + generator.uniform(-0.15, 0.15, 7)
        solution = solver.solve(kinematics.forward(position), seed)
        reached += solution.is_reached
        if solution.is_reached:
            error = difference(kinematics.forward(solution.position), kinematics.forward(position))
            assert np.linalg.norm(error[0]) < 2e-6
    assert reached >= 98


def test_target_out_of_reach_is_approached_and_said_so():
    kinematics = Kinematics(FR3)
    target = kinematics.forward(FR3.ready).copy()
    target[:3, 3] = [2.0, 0.0, 0.5]
    solution = InverseKinematics(kinematics, FR3.limits).solve(target, FR3.ready)
    assert not solution.is_reached
    assert 0.9 < solution.translation_error < 1.5


def test_small_steps_through_a_singularity_keep_the_joint_steps_small():
    """A straight line through the stretched elbow: steps of 5 mm never ask for a joint jump."""
    kinematics = Kinematics(FR3)
    limits = FR3.limits.scaled(position_margin=0.02)
    solver = InverseKinematics(kinematics, limits, iterations=10, largest_step=0.1)
    position, target = FR3.ready.copy(), kinematics.forward(FR3.ready)
    largest = 0.0
    for _ in range(150):
        target = moved(target, np.array([0.005, 0.0, 0.0]), np.zeros(3))
        after = solver.solve(target, position).position
        largest = max(largest, float(np.abs(after - position).max()))
        position = after
    assert largest < 1.0
    assert kinematics.forward(position)[0, 3] > 0.75


def test_pull_towards_rest_leaves_ee_where_it_is():
    kinematics = Kinematics(FR3)
    target = kinematics.forward(FR3.ready)
    away = FR3.ready + np.array([0.3, 0.0, -0.5, 0.0, 0.4, 0.0, 0.0])
    position = InverseKinematics(kinematics, FR3.limits).solve(target, away).position
    before = np.linalg.norm(position - FR3.ready)
    solver = InverseKinematics(kinematics, FR3.limits, rest_share=0.1)
    for _ in range(60):
        solution = solver.solve(target, position)
        assert solution.is_reached
        position = solution.position
    assert before > 0.25
    assert np.linalg.norm(position - FR3.ready) < 0.2 * before
