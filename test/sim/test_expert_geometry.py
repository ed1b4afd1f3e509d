"""Grasp and placement geometry of the scripted expert: numpy only, no simulator."""

import numpy as np
import pytest

from structrl_ros.sim.libero.expert import motion
from structrl_ros.sim.libero.expert.grasping import DEPTH_MARGIN
from structrl_ros.sim.libero.expert.grasping import TIP
from structrl_ros.sim.libero.expert.grasping import WIDEST
from structrl_ros.sim.libero.expert.grasping import GraspSearch
from structrl_ros.sim.libero.expert.grasping import hand_boxes
from structrl_ros.sim.libero.expert.grasping import turned
from structrl_ros.sim.libero.expert.heightmap import CELL
from structrl_ros.sim.libero.expert.heightmap import HeightMap
from structrl_ros.sim.libero.expert.heightmap import box_points
from structrl_ros.sim.libero.expert.heightmap import profile_of
from structrl_ros.sim.libero.expert.placing import inside
from structrl_ros.sim.libero.expert.placing import placements
from structrl_ros.sim.libero.expert.scene import Region
from structrl_ros.sim.libero.expert.skill import Transit

NOTHING = np.zeros((0, 3))
TABLE = np.array([[[-1.0, -1.0, -0.1], [1.0, 1.0, 0.0]]])


def box(center, size, yaw=0.0):
    half = 0.5 * np.array(size)
    return turned(box_points(-half, half), yaw) + np.array(center)


def ring(radius, thickness, height):
    angles = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)
    wall = box((radius, 0.0, 0.5 * height), (thickness, 0.006, height))
    return np.concatenate([turned(wall, a) for a in angles])


def hand(position=(0.0, 0.0, 0.3), yaw=0.0, joint7=0.8, base=(-0.6, 0.0, 0.0)):
    joints = np.zeros(7)
    joints[6] = joint7
    still = np.zeros(3)
    return motion.Hand(
        np.array(position), motion.hand_down(yaw), still, 0.08, 0.0, joints, np.array(base)
    )


@pytest.mark.parametrize('yaw', [0.0, 0.5, 1.2, 2.8])
def test_a_flat_box_is_grasped_across_its_narrow_side(yaw):
    points = box((0.1, -0.2, 0.009), (0.08, 0.04, 0.018), yaw)
    best = GraspSearch(points, NOTHING, TABLE).best(0.0)[0]
    across = yaw + np.pi / 2
    assert abs((best.yaw - across + np.pi / 2) % np.pi - np.pi / 2) < 0.08
    assert best.width < 0.05
    assert np.hypot(*(best.position[:2] - [0.1, -0.2])) < 0.02


def test_fingers_stay_above_the_table():
    points = box((0.0, 0.0, 0.008), (0.08, 0.04, 0.016))
    for grasp in GraspSearch(points, NOTHING, TABLE).best(0.0, 100):
        assert grasp.position[2] >= TIP + DEPTH_MARGIN - 1e-9


def test_what_is_wider_than_the_hand_has_no_grasp():
    points = box((0.0, 0.0, 0.05), (0.12, 0.12, 0.1))
    assert GraspSearch(points, NOTHING, TABLE).best(0.0) == []
    assert WIDEST < 0.08


def test_a_cup_is_grasped_by_its_wall():
    best = GraspSearch(ring(0.045, 0.005, 0.09), NOTHING, TABLE).best(0.0)[0]
    radius = np.hypot(*best.position[:2])
    assert best.width < 0.012
    assert 0.038 < radius < 0.052
    outwards = np.arctan2(best.position[1], best.position[0])
    assert abs((best.yaw - outwards + np.pi / 2) % np.pi - np.pi / 2) < 0.15


def test_the_open_hand_touches_nothing_at_any_grasp():
    rng = np.random.default_rng(3)
    for _ in range(4):
        points = box((0.0, 0.0, 0.03), (0.05, 0.04, 0.06), rng.uniform(0, np.pi))
        angle = rng.uniform(0, 2 * np.pi, 2)
        others = np.concatenate(
            [box((0.1 * np.cos(a), 0.1 * np.sin(a), 0.08), (0.05, 0.05, 0.16)) for a in angle]
        )
        grasps = GraspSearch(points, others, TABLE).best(0.0, 20)
        assert grasps
        for grasp in grasps:
            local = turned(others - grasp.position, -grasp.yaw)
            for low, high in hand_boxes(0.0):
                column = np.array([high[0], high[1], np.inf])
                assert not np.any(np.all((local > low) & (local < column), axis=1))


def test_a_neighbour_changes_the_yaw():
    points = box((0.0, 0.0, 0.03), (0.04, 0.04, 0.06))
    free = GraspSearch(points, NOTHING, TABLE).best(0.0)[0]
    wall = box((0.05, 0.0, 0.05), (0.03, 0.2, 0.1))
    beside = GraspSearch(points, wall, TABLE).best(0.0)[0]
    assert abs(np.sin(free.yaw)) < 0.1
    assert abs(np.cos(beside.yaw)) < 0.1


def test_lowest_box_equals_the_highest_top_under_the_box():
    rng = np.random.default_rng(0)
    tops = HeightMap(np.zeros(2), rng.random((40, 40)))
    for first, last in ((-3, 4), (2, 6), (-5, -1), (0, 5), (1, 2)):
        low = np.array([first * CELL, -2 * CELL, 0.1])
        out = tops.lowest_box(low, np.array([last * CELL, 2 * CELL, 0.2]))
        assert out[20, 20] == tops.heights[20 + first : 21 + last, 18:23].max() - 0.1


def test_lowest_profile_equals_brute_force():
    rng = np.random.default_rng(1)
    tops = HeightMap(np.zeros(2), rng.random((30, 30)))
    profile = profile_of(rng.uniform(-0.02, 0.02, (40, 3)))
    xs, ys = tops.window(np.array([0.04, 0.04]), np.array([0.06, 0.05]))
    found = tops.lowest(profile, xs, ys)
    for a, x in enumerate(xs):
        for b, y in enumerate(ys):
            cells = np.rint((profile[:, :2] + [x, y]) / CELL).astype(int)
            worst = (tops.heights[cells[:, 0], cells[:, 1]] - profile[:, 2]).max()
            assert found[a, b] == pytest.approx(worst)


def test_a_turned_map_shows_a_post_where_it_stands_in_the_new_frame():
    post = box((0.05, 0.02, 0.1), (0.01, 0.01, 0.2))
    tops = HeightMap.of_points(post, TABLE, np.zeros(2), 0.2)
    local = tops.turned(np.zeros(2), 0.7, 0.1)
    cells = np.argwhere(local.heights > 0.1).mean(axis=0) * CELL + local.corner
    expected = turned(np.array([0.05, 0.02, 0.0]), -0.7)[:2]
    assert np.abs(cells - expected).max() < 2 * CELL


def test_a_corridor_sees_what_is_on_the_way_and_only_that():
    post = box((0.1, 0.0, 0.15), (0.02, 0.02, 0.3))
    tops = HeightMap.of_points(post, TABLE, np.array([0.1, 0.0]), 0.3)
    start, end = np.array([0.0, 0.0]), np.array([0.2, 0.0])
    assert tops.corridor(start, end, 0.05) == pytest.approx(0.3)
    aside = np.array([0.0, 0.1])
    assert tops.corridor(start + aside, end + aside, 0.05) == pytest.approx(0.0)


def test_equivalent_yaws_differ_by_half_a_turn_and_stay_within_the_wrist():
    now = hand(yaw=0.3, joint7=2.0)
    for yaw in np.linspace(-3.0, 3.0, 13):
        options = motion.reachable_yaws(now, np.array([0.1, 0.2, 0.1]), yaw)
        assert options
        for option in options:
            assert abs(np.sin(option - yaw)) < 1e-9
            predicted = motion.wrist_after(now, np.array([0.1, 0.2, 0.1]), option)
            assert abs(predicted) < motion.WRIST_LIMIT


def test_servo_stays_within_the_action_range_and_points_at_the_target():
    action = motion.servo(hand(), np.array([0.5, -0.5, 0.3]), motion.hand_down(1.0), 1.0)
    assert action.dtype == np.float32
    assert np.abs(action).max() <= 1.0
    assert action[0] == pytest.approx(1.0)
    assert action[1] == pytest.approx(-1.0)
    assert action[5] > 0.5
    assert action[6] == 1.0


def test_a_transit_rises_before_it_crosses():
    way = Transit(np.array([0.3, 0.0, 0.1]), motion.hand_down(0.0), height=0.4)
    low = way.action(hand((0.0, 0.0, 0.1)), motion.OPEN)
    assert low[2] == pytest.approx(1.0)
    assert abs(low[0]) < 1e-6
    high = way.action(hand((0.0, 0.0, 0.4)), motion.OPEN)
    assert high[0] == pytest.approx(1.0)
    above = way.action(hand((0.3, 0.0, 0.4)), motion.OPEN)
    assert above[2] == pytest.approx(-1.0)


def tray(half=0.06, height=0.05):
    size = 2 * half + 0.02
    walls = [
        box((sign * (half + 0.005), 0.0, height / 2), (0.01, size, height)) for sign in (-1, 1)
    ]
    walls += [
        box((0.0, sign * (half + 0.005), height / 2), (size, 0.01, height)) for sign in (-1, 1)
    ]
    return np.concatenate(walls)


def test_an_object_is_put_between_the_walls_and_not_onto_another():
    region = Region(np.array([0, 0, 0.04]), np.eye(3), np.array([0.055, 0.055, 0.05]), 'in', '')
    other = box((-0.03, 0.0, 0.02), (0.04, 0.04, 0.04))
    tops = HeightMap.of_points(np.concatenate([tray(), other]), TABLE, np.zeros(2), 0.4)
    held = box((0.0, 0.0, -0.02), (0.03, 0.03, 0.06))
    origin = np.array([0.0, 0.0, -0.02])
    best = placements(held, origin, np.pi / 2, region, tops, np.zeros(1))[0]
    place = best.position + origin
    assert inside(region, place)[0] > 0.004
    assert place[0] > 0.005
    assert best.position[2] - best.fall + origin[2] < 0.04


def test_a_region_that_is_full_has_no_place():
    region = Region(np.array([0, 0, 0.02]), np.eye(3), np.array([0.03, 0.03, 0.02]), 'in', '')
    tall = box((0.0, 0.0, 0.1), (0.12, 0.12, 0.2))
    tops = HeightMap.of_points(tall, TABLE, np.zeros(2), 0.4)
    held = box((0.0, 0.0, 0.0), (0.03, 0.03, 0.06))
    assert placements(held, np.zeros(3), 0.0, region, tops, np.zeros(1)) == []


def test_an_object_on_another_must_lie_within_three_centimetres():
    region = Region(np.zeros(3), np.eye(3), np.array([0.03, 0.03, 0.1]), 'object', 'plate_1')
    margin, distance = inside(region, np.array([[0.02, 0.0, 0.1], [0.03, 0.02, 0.1]]))
    assert margin[0] > 0.0 > margin[1]
    assert distance[0] == pytest.approx(0.02)
