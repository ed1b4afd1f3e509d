"""Errors in hand-made tracks: what counts, when it began, and what makes it good."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.sim.events.event import runs
from structrl_ros.sim.events.reviewer import SimulatorEvents
from structrl_ros.sim.events.reviewer import chunk_of_moments
from structrl_ros.sim.events.reviewer import find_events
from structrl_ros.sim.events.reviewer import review_track
from structrl_ros.sim.events.track import Track
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.types import FailedRollout

#: Four chunks of five control periods.
MOMENTS = 21


def resting(task: str = 'apple_in_bowl') -> Track:
    """Return a track in which nothing moves: the hand is open, 20 cm above the first object."""
    found = find_task(task)
    things, fixtures = len(found.objects), len(found.fixtures)
    objects = np.tile([[0.4, -0.2, 0.026]], (things, 1)) + [[0, 0.3 * i, 0] for i in range(things)]
    return Track(
        task=found,
        chunks=np.array(chunk_of_moments([5, 5, 5, 5])),
        tcp=np.tile(objects[0] + [0, 0, 0.2], (MOMENTS, 1)),
        opening=np.ones(MOMENTS),
        objects=np.tile(objects, (MOMENTS, 1, 1)),
        held=np.zeros((MOMENTS, things), dtype=bool),
        tilts=np.zeros((MOMENTS, things)),
        handles=np.zeros((MOMENTS, fixtures, 3)) + 9.0,
        joints=np.zeros((MOMENTS, fixtures)),
        truth=np.zeros((MOMENTS, len(found.predicates)), dtype=bool),
    )


def carry(track: Track, begin: int, end: int, *, height: float = 0.2) -> None:
    """Hold the first object from `begin` up to `end`, as high as told after the first moment."""
    track.held[begin:end, 0] = True
    track.opening[begin:end] = 0.6
    track.objects[begin + 1 : end, 0, 2] = height


def kinds(track: Track) -> list[tuple[str, bool]]:
    return [(event.kind, event.recovered) for event in find_events(track)]


def test_a_thing_that_falls_from_the_hand_is_dropped_where_it_was_let_go() -> None:
    track = resting()
    carry(track, 4, 8)
    track.objects[8:12, 0, 2] = [0.17, 0.13, 0.09, 0.05]
    review = review_track(track)
    assert (review.error_type, review.interval) == ('dropped', (2, 3))
    assert review.recovery == 'not_observed'
    assert review.evidence == (1, 3)


def test_a_drop_is_made_good_by_holding_the_thing_again() -> None:
    track = resting()
    carry(track, 4, 8)
    carry(track, 12, MOMENTS)
    review = review_track(track)
    assert (review.error_type, review.recovery) == ('dropped', 'observed')


def test_a_thing_let_go_where_the_goal_wants_it_is_no_error() -> None:
    track = resting()
    carry(track, 4, 8)
    track.truth[9:, 0] = True
    assert find_events(track) == ()
    assert review_track(track).outcome == 'success'


def test_a_thing_put_down_elsewhere_is_misplaced_and_one_never_lifted_slipped() -> None:
    put = resting()
    carry(put, 4, 8, height=0.06)
    put.objects[8:, 0, 2] = 0.05
    assert kinds(put) == [('misplaced', False)]
    slipped = resting()
    slipped.held[4:8, 0] = True
    assert kinds(slipped) == [('missed_grasp', False)]


def test_a_hand_that_shuts_beside_a_thing_missed_it_until_it_is_held() -> None:
    track = resting()
    track.tcp[:] = track.objects[:, 0] + [0.04, 0.0, 0.0]
    track.opening[6:10] = 0.0
    assert kinds(track) == [('missed_grasp', False)]
    track.held[12:, 0] = True
    assert kinds(track) == [('missed_grasp', True)]


def test_shutting_far_from_everything_or_for_a_moment_is_no_error() -> None:
    far = resting()
    far.opening[6:10] = 0.0
    assert find_events(far) == ()
    brief = resting()
    brief.tcp[:] = brief.objects[:, 0]
    brief.opening[6] = 0.0
    assert find_events(brief) == ()


def test_failed_attempts_to_make_good_an_error_are_no_new_errors() -> None:
    track = resting()
    track.tcp[:] = track.objects[:, 0]
    for begin in (4, 9, 14):
        track.opening[begin : begin + 3] = 0.0
    assert len(find_events(track)) == 3
    assert review_track(track).interval == (1, 1)


def test_last_lasting_error_bounds_and_the_first_of_all_is_told_too() -> None:
    track = resting('two_in_basket')
    track.tcp[:] = track.objects[:, 0]
    track.opening[2:5] = 0.0
    track.objects[17:, 1, 2] = -0.3
    review = review_track(track)
    assert (review.error_type, review.interval) == ('fell_off_table', (4, 4))
    assert review.first_interval == (1, 1)


def test_a_leaning_thing_was_knocked_over_unless_nobody_knows_how_it_leans() -> None:
    track = resting()
    track.tilts[7:, 0] = 1.5
    assert kinds(track) == [('knocked_over', False)]
    assert kinds(dataclasses.replace(track, tilts=track.tilts * np.nan)) == []


def test_a_lid_shut_before_the_box_is_full_lost_progress() -> None:
    track = resting('pack_lunch')
    names = track.task.predicate_names
    track.truth[4:11, names.index('open(lunch_box_1)')] = True
    assert kinds(track) == [('lost_progress', False)]
    for name in track.task.goal[:2]:
        track.truth[9:, names.index(name)] = True
    assert kinds(track) == []


def test_a_failure_in_which_nothing_happened_is_unclear() -> None:
    review = review_track(resting())
    assert (review.outcome, review.error_type, review.interval) == ('failure', 'unclear', None)


def test_one_moment_without_touch_does_not_end_a_grasp() -> None:
    assert runs(np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)) == [(0, 4), (6, 7)]
    assert runs(np.zeros(3, dtype=bool)) == []


def test_a_rollout_without_states_is_refused_in_one_line() -> None:
    with pytest.raises(ParameterError, match='without states'):
        SimulatorEvents().review(FailedRollout(task='apple_in_bowl', instruction='', chunks=3))
