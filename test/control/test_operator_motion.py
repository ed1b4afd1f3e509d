"""A device's reading as an action of the contract."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.operator_motion import MotionScale
from structrl_ros.control.operator_motion import operator_action
from structrl_ros.errors import ParameterError
from structrl_ros.types import OperatorCommand

DOWN = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]])
PLAIN = MotionScale(translation=0.5, rotation=0.2, dead_zone=0.0)


def action(motion, scale=PLAIN, tool=DOWN, gripper=-1.0, told=None):
    return operator_action(OperatorCommand('A', 1.0, np.array(motion), told), scale, tool, gripper)


def test_motion_is_scaled_in_the_base_frame():
    found = action([1.0, -0.5, 0.0, 0.0, 0.0, 1.0])
    assert found.tolist() == pytest.approx([0.5, -0.25, 0.0, 0.0, 0.0, 0.2, -1.0])
    assert found.dtype == np.float32


def test_in_the_tools_frame_forward_is_where_the_tool_points():
    tool = MotionScale(translation=1.0, rotation=1.0, dead_zone=0.0, frame='tool')
    found = action([0.0, 0.0, 1.0, 0.0, 0.5, 0.0], tool)
    assert found.tolist() == pytest.approx([0.0, 0.0, -1.0, 0.0, -0.5, 0.0, -1.0])


def test_beyond_the_dead_zone_motion_begins_at_nothing_and_ends_at_all():
    scale = MotionScale(translation=1.0, rotation=1.0, dead_zone=0.2)
    found = action([0.2, -0.2, 0.6, 1.0, -1.0, 0.1], scale)
    assert found[:6].tolist() == pytest.approx([0.0, 0.0, 0.5, 1.0, -1.0, 0.0])


@pytest.mark.parametrize(
    ('told', 'before', 'after'), [(None, 1.0, 1.0), (-1.0, 1.0, -1.0), (np.nan, 1.0, 1.0)]
)
def test_the_gripper_stays_as_it_was_told_last(told, before, after):
    assert action([0.0] * 6, gripper=before, told=told)[6] == after


@given(st.lists(st.floats(), min_size=6, max_size=6), st.sampled_from(['base', 'tool']))
def test_no_reading_leaves_the_range_of_actions(motion, frame):
    found = action(motion, MotionScale(translation=1.0, rotation=1.0, frame=frame))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 1.0


def test_numbers_that_are_none_do_not_move():
    assert action([np.nan] * 6)[:6].tolist() == [0.0] * 6


@pytest.mark.parametrize(
    'wrong',
    [{'translation': 0.0}, {'rotation': 1.5}, {'dead_zone': 1.0}, {'frame': 'world'}],
)
def test_scales_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError, match='allowed'):
        MotionScale(**wrong)
