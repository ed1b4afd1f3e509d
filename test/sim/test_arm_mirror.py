"""The kinematic mirror of an arm: closed fingers carry, open ones let go."""

import numpy as np
import pytest

pytest.importorskip('mujoco')

from structrl_ros.control.inverse_kinematics import InverseKinematics
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.errors import SimulationError
from structrl_ros.ports import PictureSource
from structrl_ros.sim.arm_mirror.mirror import ArmMirror
from structrl_ros.sim.arm_mirror.mirror import mirrored_tasks
from structrl_ros.sim.arm_mirror.mirror import object_width
from structrl_ros.sim.arm_mirror.picture import MirrorPicture
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.twin.state import empty_state

pytestmark = pytest.mark.sim

FR3 = load_robot('fr3')
KINEMATICS = Kinematics(FR3, 'hand')
OPEN, SHUT = 0.08, 0.052
DOWN = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]])
UP = np.array([0.0, 0.0, 1.0])
START = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.57, 0.785])


def reach(place, start=START):
    solver = InverseKinematics(KINEMATICS, FR3.limits, iterations=50, largest_step=0.2)
    goal = np.eye(4)
    goal[:3, :3], goal[:3, 3] = DOWN, place
    joints = start
    for _ in range(10):
        joints = solver.solve(goal, joints).position
    assert np.abs(KINEMATICS.forward(joints)[:3, 3] - place).max() < 1e-3
    return joints


class Hand:
    """Stands for an arm: goes to places, and tells the mirror."""

    def __init__(self, task='apple_in_bowl'):
        self.mirror = ArmMirror(image_size=64)
        self.info = self.mirror.reset(task, 0, 0)
        self.opening = OPEN
        self.at = np.zeros(3)

    def be(self, place=None, opening=None, turning=0.0):
        self.at = self.at if place is None else np.asarray(place, np.float64)
        self.opening = self.opening if opening is None else opening
        self.mirror.follow(reach(self.at), np.full(7, turning), self.opening)

    @property
    def state(self):
        state = empty_state(1)
        state.unpack(0, self.mirror.simulator_state())
        return state

    @property
    def true(self):
        values, success = self.mirror.judge()
        return {n for n, v in zip(self.info.predicate_names, values, strict=True) if v}, success


def test_tool_of_the_drawn_scene_is_where_the_arm_measures_it():
    picture = MirrorPicture(find_task('apple_in_bowl'), 64)
    random = np.random.default_rng(3)
    for _ in range(5):
        span = FR3.limits.position_high - FR3.limits.position_low
        joints = FR3.limits.position_low + span * random.random(7)
        drawn = picture.pose(empty_state(1), joints)
        assert np.allclose(drawn, KINEMATICS.forward(joints)[:3, 3], atol=1e-6)


def test_a_thing_is_carried_by_closed_fingers_and_falls_into_the_bowl_when_they_open():
    hand = Hand()
    apple, bowl = hand.state.objects[0, 0], hand.state.fixtures[0, 0]
    hand.be(apple + np.array([0.0, 0.01, 0.2]))
    hand.be(apple + np.array([0.0, 0.01, 0.0]))
    assert hand.true == (set(), False)
    hand.be(opening=SHUT)
    assert hand.true == ({'grasp(apple_1)'}, False)
    hand.be([*bowl[:2], 0.2])
    assert np.allclose(hand.state.objects[0, 0], [*bowl[:2], 0.2], atol=2e-3)
    hand.be([*bowl[:2], 0.05])
    hand.be(opening=OPEN)
    for _ in range(3):
        hand.be()
    assert hand.true == ({'in(apple_1, bowl_1_contain_region)'}, True)
    assert hand.state.objects[0, 0, 2] == pytest.approx(0.006 + 0.026, abs=1e-3)


def test_shut_fingers_that_pass_or_close_beside_a_thing_take_nothing():
    hand = Hand()
    apple = hand.state.objects[0, 0]
    hand.be(apple + 0.2 * UP, SHUT)
    hand.be(apple, turning=0.3)
    assert hand.true == (set(), False)
    hand.be(apple + np.array([0.0, 0.04, 0.0]), OPEN)
    hand.be(opening=SHUT)
    assert hand.true == (set(), False)
    assert np.allclose(hand.state.objects[0, 0], apple)


def test_shut_fingers_that_come_to_rest_around_a_thing_hold_it():
    hand = Hand()
    apple = hand.state.objects[0, 0]
    hand.be(apple + 0.2 * UP, SHUT)
    hand.be(apple)
    assert hand.true == ({'grasp(apple_1)'}, False)


def test_hand_that_turned_far_is_told_as_one_that_grips_the_same():
    hand = Hand()
    told = []
    for turn in np.linspace(-2.4, 2.4, 9):
        joints = reach(np.array([0.45, 0.0, 0.3]))
        joints[6] += turn
        hand.mirror.follow(joints, np.zeros(7), OPEN)
        end = KINEMATICS.forward(joints)
        told.append(hand.state.yaw[0])
        assert abs(told[-1]) <= np.pi / 2 + 1e-9
        assert abs(np.sin(np.arctan2(end[1, 1], end[0, 1]) - told[-1])) < 1e-9
    assert np.ptp(told) > 2.0


def test_picture_shows_the_arm_that_moves():
    hand = Hand()
    hand.be([0.45, 0.0, 0.3])
    before = hand.mirror.render('head')
    assert before.shape == (64, 64, 3)
    assert before.std() > 10.0
    assert np.array_equal(before, hand.mirror.render('head'))
    hand.be([0.45, 0.2, 0.3])
    changed = np.abs(hand.mirror.render('head').astype(int) - before).max(axis=2) > 30
    assert 0.01 < changed.mean() < 0.6
    assert isinstance(hand.mirror, PictureSource)
    assert hand.mirror.vertical_fov('head') == pytest.approx(np.deg2rad(56.0))
    hand.mirror.close()


def test_only_tasks_to_pick_and_to_place_are_mirrored():
    assert mirrored_tasks() == ('two_in_basket', 'apple_in_bowl')
    assert object_width('two_in_basket') == 0.04
    with pytest.raises(SimulationError, match='cannot be mirrored; allowed: two_in_basket, apple'):
        ArmMirror().reset('pack_lunch', 0, 0)
    with pytest.raises(SimulationError, match='no scene'):
        ArmMirror().judge()
