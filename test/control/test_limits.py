"""Claims of the limits: whatever comes in, what goes out is within every limit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.axis_limiter import AxisLimits
from structrl_ros.control.axis_limiter import AxisState
from structrl_ros.control.axis_limiter import largest_release
from structrl_ros.control.axis_limiter import nearest
from structrl_ros.control.axis_limiter import stopping_range
from structrl_ros.control.limits import Limits
from structrl_ros.errors import LimitError

T = 0.05
SCALE = np.array([0.05] * 3 + [0.5] * 3)

positive = st.floats(0.05, 2.0)
LIMITS = st.builds(
    lambda v, a, j, w, c: Limits(
        translation_velocity=v,
        translation_acceleration=20 * a,
        translation_jerk=400 * j,
        rotation_velocity=w,
        rotation_acceleration=20 * a,
        rotation_jerk=400 * j,
        action_clip=c,
    ),
    positive,
    positive,
    positive,
    positive,
    st.floats(0.05, 1.0),
)
ENTRY = st.one_of(
    st.sampled_from([-1.0, 0.0, 1.0]), st.floats(width=32), st.floats(-1.0, 1.0, width=32)
)
STREAM = st.lists(st.lists(ENTRY, min_size=7, max_size=7), min_size=1, max_size=25)


def run(limiter, stream, position=None):
    sent = []
    for action in stream:
        out = limiter.limit(np.array(action, np.float32), position)
        sent.append(out)
        if position is not None:
            position = position + SCALE[:3] * out[:3]
    return np.array(sent)


def excess(limits, sent):
    """Return the worst violation of each limit, as a share of it."""
    velocity = np.vstack([np.zeros((2, 6)), sent[:, :6].astype(float) * SCALE / T])
    acceleration = np.diff(velocity, axis=0) / T
    jerk = np.diff(acceleration, axis=0) / T
    worst = []
    for name, part in (('translation', slice(0, 3)), ('rotation', slice(3, 6))):
        for kind, series in (
            ('velocity', velocity),
            ('acceleration', acceleration),
            ('jerk', jerk),
        ):
            limit = getattr(limits, f'{name}_{kind}')
            worst.append(np.abs(series[:, part]).max() / limit - 1.0)
    worst.append(np.abs(sent).max() / limits.action_clip - 1.0)
    return max(worst)


@settings(max_examples=150, deadline=None)
@given(LIMITS, STREAM)
def test_whatever_comes_in_satisfies_every_limit(limits, stream):
    sent = run(ActionLimiter(limits, period_s=T), stream)
    assert np.isfinite(sent).all()
    assert excess(limits, sent) <= 1e-5


@settings(max_examples=60, deadline=None)
@given(LIMITS, STREAM, st.lists(st.floats(-0.2, 0.2), min_size=3, max_size=3))
def test_gripper_never_leaves_the_workspace_box(limits, stream, start):
    box = Limits(
        **{n: getattr(limits, n) for n in Limits.__dataclass_fields__ if not n.startswith('box')},
        box_low=(-0.25, -0.25, -0.25),
        box_high=(0.25, 0.25, 0.25),
    )
    limiter = ActionLimiter(box, period_s=T)
    position = np.array(start)
    sent = []
    for action in stream * 4:
        sent.append(limiter.limit(np.array(action, np.float32), position))
        position = position + SCALE[:3] * sent[-1][:3]
        assert (np.abs(position) <= 0.25 + 1e-6).all()
    assert excess(box, np.array(sent)) <= 1e-5


@given(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=7, max_size=7), max_size=20))
def test_libero_defaults_pass_any_ordinary_action_unchanged(stream):
    sent = run(ActionLimiter(Limits(), period_s=T), stream)
    assert [row.tolist() for row in sent] == stream


@settings(max_examples=100, deadline=None)
@given(LIMITS, st.integers(1, 20), st.floats(0.0, 0.9))
def test_an_action_inside_the_limits_is_unchanged(limits, steps, share):
    axis = AxisLimits(T, 1.0, limits.translation_acceleration, limits.translation_jerk)
    state = AxisState()
    slope = share * min(axis.acceleration, axis.jerk * T, 1.0 / (T * (steps + 2))) / 2
    for k in range(1, steps + 1):
        wanted = slope * k * T
        state = nearest(axis, state, wanted, None)
        assert state.velocity == pytest.approx(wanted, abs=1e-12)


def test_axis_reaches_a_far_velocity_as_fast_as_jerk_and_acceleration_allow():
    axis = AxisLimits(0.1, 1.0, 2.0, 10.0)
    state, path = AxisState(), []
    for _ in range(8):
        state = nearest(axis, state, 5.0, None)
        path.append(round(state.velocity, 4))
    assert path == [0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.0, 1.0]


@given(st.floats(0, 100), st.floats(0.01, 10))
def test_largest_release_solves_its_equation(room, q):
    d = largest_release(room, q)
    n = math.floor(d / q + 1e-12)
    assert d + n * d - q * n * (n + 1) / 2 == pytest.approx(room, abs=1e-9)


def test_nan_never_passes_and_stands_still_with_the_gripper_as_it_is():
    limiter = ActionLimiter(Limits(), period_s=T)
    limiter.limit(np.array([1, 0, 0, 0, 0, 0, 1], np.float32))
    sent = limiter.limit(np.array([np.nan, 1, 1, 1, 1, 1, -1], np.float32))
    assert sent.tolist() == [0, 0, 0, 0, 0, 0, 1]
    inf = limiter.limit(np.full(7, np.inf, np.float32))
    assert inf.tolist() == [0, 0, 0, 0, 0, 0, 1]
    walls = Limits(box_low=(-1.0,) * 3, box_high=(1.0,) * 3)
    blind = ActionLimiter(walls, period_s=T).limit(np.ones(7, np.float32), np.full(3, np.nan))
    assert blind.tolist() == [0, 0, 0, 0, 0, 0, -1]


def test_axis_outside_the_box_may_come_back_and_not_go_further():
    limits = Limits(box_low=(-0.1,) * 3, box_high=(0.1,) * 3)
    outside = np.array([0.3, 0.0, 0.0])
    further = ActionLimiter(limits, period_s=T).limit(np.array([1] + [0] * 6, np.float32), outside)
    back = ActionLimiter(limits, period_s=T).limit(np.array([-1] + [0] * 6, np.float32), outside)
    assert further[0] <= 0.0
    assert back[0] == -1.0


@settings(max_examples=40, deadline=None)
@given(STREAM)
def test_limits_out_of_reach_give_what_the_full_computation_gives(stream):
    near, far = Limits(), Limits(box_high=(1e9, 1e9, 1e9))
    quick = run(ActionLimiter(near, period_s=T), stream, np.zeros(3))
    full = run(ActionLimiter(far, period_s=T), stream, np.zeros(3))
    assert np.array_equal(quick, full)


def test_tightening_in_motion_starts_from_the_motion():
    limiter = ActionLimiter(Limits(), period_s=T)
    for _ in range(3):
        limiter.limit(np.ones(7, np.float32))
    slow = Limits(translation_velocity=0.5, translation_acceleration=4.0)
    limiter.tighten(slow)
    speeds = [limiter.limit(np.ones(7, np.float32))[0] * 1.0 for _ in range(6)]
    assert speeds == pytest.approx([0.8, 0.6, 0.5, 0.5, 0.5, 0.5], abs=1e-4)


def test_braking_stands_still_within_bounds():
    axis = AxisLimits(T, 1.0, 4.0, 40.0)
    least, greatest = stopping_range(axis, AxisState(1.0, 0.0))
    assert least == 0.0
    assert 0.1 < greatest < 0.3


def test_limits_can_only_be_tightened():
    limits = Limits()
    assert limits.tighten(translation_velocity=0.3).translation_velocity == 0.3
    limiter = ActionLimiter(limits, period_s=T)
    limiter.tighten(limits.tighten(action_clip=0.5))
    assert limiter.limit(np.ones(7, np.float32)).max() == pytest.approx(0.5, rel=1e-5)
    with pytest.raises(LimitError, match='looser'):
        limiter.tighten(limits)
    for bad in ({'translation_jerk': 1e9}, {'rotation_velocity': math.nan}):
        with pytest.raises(LimitError, match='looser'):
            limits.tighten(**bad)
    with pytest.raises(LimitError, match='looser'):
        limits.tighten(box_low=(-1.0, 0.0, 0.0)).tighten(box_low=(-2.0, 0.0, 0.0))
    with pytest.raises(LimitError, match='unknown limit'):
        limits.tighten(speed=1.0)


@pytest.mark.parametrize(
    'bad',
    [
        {'translation_velocity': 0.0},
        {'rotation_jerk': math.nan},
        {'action_clip': math.inf},
        {'box_low': (0.0, 0.0, 1.0), 'box_high': (1.0, 1.0, 1.0)},
        {'box_low': (math.nan, 0.0, 0.0)},
    ],
)
def test_what_is_no_limit_is_refused(bad):
    with pytest.raises(LimitError, match='allowed'):
        Limits(**bad)


def test_wrong_shape_and_period_are_refused():
    with pytest.raises(LimitError, match=r'allowed: \(7,\)'):
        ActionLimiter(Limits(), period_s=T).limit(np.zeros(6, np.float32))
    with pytest.raises(LimitError, match='control period'):
        ActionLimiter(Limits(), period_s=0.0)
