"""What is put into one of two bags is found, with its size, and nothing else."""

import json
from dataclasses import replace

import numpy as np
import pytest
from mismatch_bags import World
from mismatch_bags import write_world
from scipy import stats

from structrl_ros.errors import BagError
from structrl_ros.recording.mismatch import compare_bags
from structrl_ros.recording.mismatch import write_json
from structrl_ros.recording.mismatch_entry import _drawn_medians
from structrl_ros.recording.mismatch_pictures import histogram_distance
from structrl_ros.recording.mismatch_pictures import luma
from structrl_ros.recording.mismatch_pictures import noise
from structrl_ros.recording.mismatch_signals import read_signals

BASE = World()


@pytest.fixture(scope='module')
def sim(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp('sim') / 'bag')


@pytest.fixture
def against(sim, tmp_path):
    """Return the report of the base world against a changed one."""

    def compare(**changes):
        return compare_bags(sim, write_world(tmp_path / 'real', replace(BASE, **changes)))

    return compare


@pytest.fixture(scope='module')
def mixed(sim, tmp_path_factory):
    """Return the report of several faults at once, none of which touches another."""
    real = World(
        answer_ms=33,
        picture_delay_ns=100_000_000,
        blue=50.0,
        scale=3.0,
        lost_pictures=frozenset(range(5, 122, 10)),
        lost_done=frozenset({7, 20, 21}),
    )
    return compare_bags(sim, write_world(tmp_path_factory.mktemp('mixed') / 'bag', real))


def line(report, name):
    return next(m for m in report.lines if m.name == name)


def groups_worth_a_look(report):
    return {m.group for m in report.worth_a_look}


def test_a_bag_against_itself_shows_nothing(sim):
    report = compare_bags(sim, sim)
    assert {m.difference for m in report.lines} == {0.0}
    assert {m.group for m in report.lines} == {'latency', 'picture', 'action', 'tracking', 'rate'}
    assert report.worth_a_look == ()
    assert report.one_sided == ()


def test_latency_is_found(against):
    report = against(latency_periods=3)
    found = line(report, 'observation to chunk')
    assert (found.sim.median, found.real.median, found.difference) == (0.0, 100.0, 100.0)
    assert found.size == pytest.approx(4.0)  # half a period of 50 ms is the tolerance
    assert found.is_evident
    assert found.p_value < 1e-6
    assert groups_worth_a_look(report) == {'latency'}
    assert line(report, 'chunk to motion').difference == 0.0


def test_recordings_without_a_clock_are_on_the_wall_clock(tmp_path):
    first = write_world(tmp_path / 'first', World(is_wall=True, chunks=16))
    second = replace(World(is_wall=True, chunks=16), latency_periods=3, lag_s=0.1)
    report = compare_bags(first, write_world(tmp_path / 'second', second))
    found = line(report, 'observation to chunk')
    assert found.sim.median == pytest.approx(45.0, abs=0.01)
    assert found.difference == pytest.approx(100.0, abs=0.01)
    assert line(report, 'delay of head pictures').sim.median == pytest.approx(0.0, abs=0.01)
    assert line(report, 'lag of the way').difference == pytest.approx(50.0, abs=5.0)


def test_a_slow_answer_is_told_to_the_millisecond(mixed):
    found = line(mixed, 'answer of the policy')
    assert found.difference == pytest.approx(13.0, abs=0.01)


def test_old_pictures_are_found(mixed):
    found = line(mixed, 'delay of head pictures')
    assert found.difference == pytest.approx(100.0)


def test_light_is_found(against):
    report = against(brightness=40.0)
    assert line(report, 'brightness of head').difference == pytest.approx(40.0, abs=0.1)
    assert line(report, 'histogram of head').difference == pytest.approx(40.0, abs=0.1)
    assert line(report, 'contrast of head').difference == pytest.approx(0.0, abs=0.1)
    assert groups_worth_a_look(report) == {'picture'}
    assert report.lines[0].name in ('brightness of head', 'histogram of head')
    assert 'exposure' in report.lines[0].remedy


def test_colour_is_found(mixed):
    found = line(mixed, 'blue over luma of head')
    assert found.difference == pytest.approx(44.3, abs=0.2)
    assert found in mixed.worth_a_look


def test_blur_is_found(against):
    report = against(blur=True)
    found = line(report, 'sharpness of head')
    assert found.real.median < 0.5 * found.sim.median
    assert found in report.worth_a_look


def test_noise_of_a_flat_picture_is_measured():
    random = np.random.default_rng(1)
    flat = np.full((64, 64, 1), 120.0) + random.normal(0.0, 5.0, (64, 64, 1))
    picture = np.clip(np.rint(np.repeat(flat, 3, axis=2)), 0, 255).astype(np.uint8)
    assert noise(picture) == pytest.approx(5.0, rel=0.05)


def test_the_histogram_distance_is_the_earth_movers():
    random = np.random.default_rng(2)
    first, second = (random.integers(0, high, (9, 9, 3)).astype(np.uint8) for high in (256, 90))
    want = stats.wasserstein_distance(np.rint(luma(first)).ravel(), np.rint(luma(second)).ravel())
    assert histogram_distance([first], [second]) == pytest.approx(want)


def test_scaled_actions_are_found(against, sim):
    report = against(scale=0.5)
    found = line(report, 'action x')
    spread = found.details['standard deviation']
    assert spread[1] / spread[0] == pytest.approx(0.5, abs=0.02)
    ours = read_signals(sim).actions()[:, 0]
    theirs = read_signals(report.real.bag).actions()[:, 0]
    assert found.difference == pytest.approx(stats.wasserstein_distance(ours, theirs))
    assert {m.name for m in report.worth_a_look} >= {'action x', 'action y', 'action z'}
    assert line(report, 'action gripper').difference == 0.0
    # The arm goes half as far as well, as it was told: that is no matter of tracking.
    assert line(report, 'gain of the way').difference == pytest.approx(0.0, abs=0.01)


def test_actions_at_the_limit_are_counted(mixed):
    found = line(mixed, 'action x at its limit')
    assert found.sim.median < 0.02
    assert found.real.median > 0.2
    assert found.is_evident


def test_a_lag_and_a_short_way_are_found(against):
    report = against(lag_s=0.15, gain=0.6)
    lag, gain = line(report, 'lag of the way'), line(report, 'gain of the way')
    assert (lag.sim.median, lag.real.median) == pytest.approx((50.0, 150.0), abs=5.0)
    assert (gain.sim.median, gain.real.median) == pytest.approx((0.9, 0.6), abs=0.01)
    assert lag.interval[0] > 80.0
    assert groups_worth_a_look(report) == {'tracking'}


def test_noise_is_found(against):
    found = line(against(noise=6.0), 'noise of head')
    assert found.difference > 2.0
    assert found.is_evident


def test_lost_pictures_and_chunks_are_counted(mixed):
    late = line(mixed, 'late observation/head/image')
    assert late.real.median == pytest.approx(0.1, abs=0.02)
    assert line(mixed, 'chunk_done missing from the bag').difference == pytest.approx(3 / 28)


def test_pictures_of_two_sizes_are_compared_at_the_smaller(against):
    found = line(against(size=(80, 64)), 'brightness of head')
    assert abs(found.difference) < 5.0


def test_what_one_bag_alone_holds_is_told(against):
    report = against(poses=False)
    assert any(text.startswith('observation/ee_pose: only in ') for text in report.one_sided)
    assert any(text.startswith('tracking of the way: only in ') for text in report.one_sided)


def test_one_of_several_arms_must_be_named(sim, tmp_path):
    left = World(namespace='/left', latency_periods=3)
    both = write_world(tmp_path / 'both', BASE, more=(left,))
    with pytest.raises(BagError, match='of several arms'):
        compare_bags(sim, both)
    report = compare_bags(sim, both, namespaces=('', 'left'))
    assert line(report, 'observation to chunk').difference == 100.0


def test_the_json_holds_every_line(against, tmp_path):
    report = against(brightness=40.0)
    document = json.loads(write_json(report, tmp_path / 'out.json').read_text())
    assert [entry['name'] for entry in document['lines']] == [m.name for m in report.lines]
    assert document['lines'][0]['size'] == pytest.approx(4.0, abs=0.1)
    assert document['lines'][0]['is_evident'] is True


def test_what_is_no_bag_of_the_contract_is_refused(sim, tmp_path):
    with pytest.raises(BagError, match='no bag at'):
        compare_bags(sim, tmp_path / 'none')


@pytest.mark.parametrize('n', [7, 40])
def test_medians_are_drawn_as_by_resampling(n):
    values = np.random.default_rng(n).normal(size=n)
    drawn = _drawn_medians(values, np.random.default_rng(1))
    picks = np.random.default_rng(2).integers(0, n, size=(4000, n))
    made = np.median(values[picks], axis=1)
    assert drawn.mean() == pytest.approx(made.mean(), abs=0.06)
    assert drawn.std() == pytest.approx(made.std(), rel=0.1)
