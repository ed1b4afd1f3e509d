"""Geometry of the fixture skills, without a simulator."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.sim.libero.expert.articulated_handle import find_handle
from structrl_ros.sim.libero.expert.articulated_pose import depth_below
from structrl_ros.sim.libero.expert.articulated_pose import pointing
from structrl_ros.sim.libero.expert.articulated_stow import FINGER_REACH
from structrl_ros.sim.libero.expert.articulated_stow import Space
from structrl_ros.sim.libero.expert.articulated_stow import StowSkill
from structrl_ros.sim.libero.expert.motion import Hand
from structrl_ros.sim.libero.expert.motion import hand_down

UP = np.array([0.0, 0.0, 1.0])
CONJUNCT = ('in', 'bowl_1', 'cabinet_1_bottom_region')


def hand_at(rotation):
    return Hand(
        np.zeros(3), rotation, np.zeros(3), 0.08, 0.0, np.array([0, 0, 0, -2, 0, 2, 0.8]),
        np.array([-0.6, 0, 0]),
    )  # fmt: skip


def mug(angle, radius=0.045, height=0.1):
    """A mug at (0.2, 0.1) on z = 0.9, its handle at `angle`; the handle's bar is 8 cm out."""
    turns = np.linspace(-np.pi, np.pi, 90)
    heights = np.linspace(0.0, height, 26)
    turn, high = (a.ravel() for a in np.meshgrid(turns, heights))
    wall = np.stack([radius * np.cos(turn), radius * np.sin(turn), high], axis=1)
    along, up = (a.ravel() for a in np.meshgrid([0.05, 0.06, 0.07, 0.08], [0.03, 0.05, 0.08]))
    handle = np.stack([along, 0.0 * along, up], axis=1)
    c, s = np.cos(angle), np.sin(angle)
    turned = handle @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    return np.concatenate([wall, turned]) + np.array([0.2, 0.1, 0.9])


@given(st.floats(-3.1, 3.1))
def test_handle_is_found_wherever_it_points(angle):
    handle = find_handle(mug(angle))
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    assert handle.inwards @ -out > 0.99
    assert abs(handle.inwards[2]) == 0.0
    end = (handle.grip - [0.2, 0.1, 0.9]) @ out
    assert 0.07 < end < 0.08
    assert 0.93 < handle.grip[2] < 0.98


@given(st.floats(-3.0, 3.0), st.floats(0.1, 1.5), st.floats(-3.0, 3.0))
def test_pointing_hand_points_there_and_closes_across(heading, lean, yaw):
    towards = np.array([np.cos(heading), np.sin(heading), 0.0])
    approach = np.sin(lean) * towards - np.cos(lean) * UP
    across = np.cross(UP, towards)
    rotation = pointing(hand_at(hand_down(yaw)), approach, across)
    np.testing.assert_allclose(rotation[:, 2], approach, atol=1e-9)
    assert abs(abs(rotation[:, 0] @ across) - 1.0) < 1e-9
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-9)
    assert np.linalg.det(rotation) > 0.0


def test_depth_is_the_finger_tip_below_a_hand_down_and_half_the_width_of_a_hand_on_its_side():
    assert abs(depth_below(hand_down(0.3)) - 0.0092) < 1e-9
    level = np.column_stack([UP, [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    level[:, 1] = np.cross(level[:, 2], level[:, 0])
    assert abs(depth_below(level) - 0.104) < 1e-9


def drawer(overhang):
    """A drawer like LIBERO's that opens towards -y; its floor is at 0.926."""
    half = np.array([0.076, 0.102, 0.03])
    out, side = np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0])
    return Space(np.array([0.0, 0.16, 0.952]), out, side, half, overhang, 1.007)


def bowl():
    """Rim and foot of a bowl, 10.8 cm wide and 5 cm high, from the middle of its foot."""
    turns = np.linspace(-np.pi, np.pi, 73)
    rim = np.stack([0.054 * np.cos(turns), 0.054 * np.sin(turns), 0.0 * turns + 0.05], axis=1)
    return np.concatenate([rim, rim * [0.6, 0.6, 0.0]])


@given(st.sampled_from([-0.05, 0.05]))
def test_bowl_goes_straight_down_where_nothing_overhangs_and_fingers_miss_the_walls(grip):
    via, goal = StowSkill(CONJUNCT)._places(drawer(-np.inf), bowl(), np.array([grip, 0, 0.04]))
    np.testing.assert_array_equal(via, goal)
    assert abs(goal[1] - 0.16) < 1e-9
    assert abs(goal[0] + grip) + FINGER_REACH < 0.102
    assert abs(goal[0]) + 0.054 < 0.102


def test_bowl_goes_down_before_the_handles_and_then_inwards_where_they_leave_too_little_room():
    space = drawer(-0.028)
    assert space.gap < 0.108
    via, goal = StowSkill(CONJUNCT)._places(space, bowl(), np.array([0.05, 0, 0.04]))
    assert via[1] + 0.054 < 0.16 + 0.028
    assert via[2] + 0.05 < space.underside
    assert goal[1] > via[1] + 0.01
    assert goal[1] - 0.054 > 0.16 - 0.076
    assert 0.926 < goal[2] < 0.932
