"""Limits and frames of the arms: equal to the vendor's tables, and never loosened."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.robot_description import robot_names
from structrl_ros.errors import LimitError
from structrl_ros.errors import ParameterError

ARMS = ('fr3', 'panda')


def test_both_arms_are_described_and_name_their_sources():
    assert robot_names() == ARMS
    for name in ARMS:
        robot = load_robot(name)
        assert len(robot.joint_names) == robot.limits.count == 7
        assert set(robot.sources) >= {'origin', 'limits', 'link'}
        assert all(len(text) > 20 for text in robot.sources.values())


def test_unknown_arm_or_tool_is_refused_in_one_line():
    with pytest.raises(ParameterError, match='known: fr3, panda'):
        load_robot('fr4')
    with pytest.raises(ParameterError, match='known: hand, none'):
        load_robot('fr3').tool('whisk')


@pytest.mark.parametrize(
    ('joint', 'position', 'low', 'high'),
    [
        (0, 0.0, -2.62, 2.62),
        (0, 2.7001, -2.62, math.sqrt(12.0 * 0.05) - 0.30),
        (0, -2.7001, 0.30 - math.sqrt(12.0 * 0.05), 2.62),
        (3, -0.1558, -2.62, math.sqrt(8.0 * 0.01) - 0.30),
        (3, -3.0381, max(-2.62, 0.30 - math.sqrt(8.0 * 0.01)), 2.62),
        (5, 0.55, 0.35 - math.sqrt(11.0 * (0.55 - 0.54092)), 4.18),
        (5, 4.5205, -4.18, 0.0),
        (6, 2.5, -5.26, math.sqrt(34.0 * 0.5196) - 0.35),
    ],
)
def test_velocity_limit_of_the_fr3_shrinks_towards_the_ends(joint, position, low, high):
    """The formula of the documentation by hand, at points of it."""
    where = load_robot('fr3').ready.copy()
    where[joint] = position
    lowest, highest = load_robot('fr3').limits.velocity_bounds(where)
    assert lowest[joint] == pytest.approx(min(low, 0.0), abs=1e-12)
    assert highest[joint] == pytest.approx(max(high, 0.0), abs=1e-12)


def test_velocity_limit_of_the_panda_is_the_same_everywhere():
    limits = load_robot('panda').limits
    low, high = limits.velocity_bounds(limits.position_high)
    assert np.array_equal(high, limits.velocity)
    assert np.array_equal(low, -limits.velocity)


@given(
    share=st.floats(0.01, 1.0),
    margin=st.floats(0.0, 0.3),
    place=st.lists(st.floats(0.0, 1.0), min_size=7, max_size=7),
)
def test_scaled_limits_allow_nothing_that_the_vendor_forbids(share, margin, place):
    whole = load_robot('fr3').limits
    part = whole.scaled(velocity=share, acceleration=share, jerk=share, position_margin=margin)
    position = whole.position_low + np.array(place) * (whole.position_high - whole.position_low)
    (low, high), (part_low, part_high) = (x.velocity_bounds(position) for x in (whole, part))
    assert (part_high <= high + 1e-12).all()
    assert (part_low >= low - 1e-12).all()
    assert (part_high >= share * high - 1e-9).all(), 'the share itself is allowed'
    assert (part.position_low >= whole.position_low).all()
    assert (part.position_high <= whole.position_high).all()


@pytest.mark.parametrize('share', [0.0, -0.5, 1.01, math.nan, math.inf])
def test_limits_cannot_be_scaled_up(share):
    with pytest.raises(LimitError, match='at most 1'):
        load_robot('fr3').limits.scaled(jerk=share)


@pytest.mark.parametrize(
    ('name', 'change'),
    [
        ('position_low', -0.01),
        ('position_high', 0.01),
        ('velocity', 0.01),
        ('acceleration', 0.01),
        ('jerk', math.nan),
    ],
)
def test_a_single_loosened_joint_is_refused(name, change):
    limits = load_robot('panda').limits
    values = getattr(limits, name).copy()
    values[4] += change
    with pytest.raises(LimitError, match='limits only tighten'):
        limits.tighten(**{name: values})


def test_tightened_limits_hold_and_the_rest_stays():
    limits = load_robot('fr3').limits
    tight = limits.tighten(velocity=limits.velocity * 0.5)
    assert np.array_equal(tight.velocity, limits.velocity * 0.5)
    assert np.array_equal(tight.jerk, limits.jerk)
    with pytest.raises(LimitError, match='limits only tighten'):
        tight.tighten(velocity=limits.velocity)
    with pytest.raises(LimitError, match='unknown limit'):
        limits.tighten(torque=limits.velocity)


def test_margin_that_empties_a_range_is_refused():
    with pytest.raises(LimitError, match='low below high'):
        load_robot('fr3').limits.scaled(position_margin=2.0)


def test_limits_that_are_none_are_refused():
    ones = np.ones(7)
    with pytest.raises(LimitError, match='finite and above 0'):
        JointLimits(
            position_low=-ones, position_high=ones, velocity=ones, acceleration=ones, jerk=0 * ones
        )
    with pytest.raises(LimitError, match='shape'):
        JointLimits(
            position_low=-ones,
            position_high=ones,
            velocity=np.ones(6),
            acceleration=ones,
            jerk=ones,
        )
