"""The backend `progress`: which falls of a potential count, and which are made good."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.models.events.progress import FallSettings
from structrl_ros.models.events.progress import ProgressEvents
from structrl_ros.models.events.stall import StallEvents
from structrl_ros.models.events.stall import StallSettings
from structrl_ros.types import FailedRollout

PLAIN = FallSettings(fall=0.15, within=3, sustained=2, window=1, uses_gate=False)


def rollout(*potential: float) -> FailedRollout:
    return FailedRollout(
        task='t', instruction='i', chunks=len(potential) - 1, potential=np.array(potential)
    )


def test_a_fall_that_lasts_is_told_with_the_chunks_of_it() -> None:
    review = ProgressEvents(PLAIN).review(rollout(0, 0.3, 0.6, 0.2, 0.1, 0.1))
    assert (review.error_type, review.interval) == ('lost_progress', (3, 3))
    assert review.recovery == 'not_observed'
    assert review.confidence == pytest.approx(0.5)
    assert review.evidence == (2, 3)


def test_a_fall_that_is_won_back_is_a_recovery() -> None:
    review = ProgressEvents(PLAIN).review(rollout(0, 0.6, 0.2, 0.7, 0.7, 0.7))
    assert review.recovery == 'observed'


def test_the_last_fall_without_recovery_counts_and_the_first_is_told() -> None:
    review = ProgressEvents(PLAIN).review(rollout(0, 0.4, 0.2, 0.2, 0.3, 0.6, 0.3, 0.3, 0.3))
    assert review.interval == (6, 6)
    assert review.first_interval == (2, 2)


def test_slow_decay_counts_within_its_chunks_and_a_fall_at_the_very_end_does_not() -> None:
    slow = ProgressEvents(PLAIN).review(rollout(0, 0.6, 0.54, 0.48, 0.42, 0.4))
    assert slow.interval == (2, 4)
    assert ProgressEvents(PLAIN).review(rollout(0, 0.5, 0.6, 0.6, 0.1)).interval is None


def test_a_potential_that_only_rises_keeps_all_feedback() -> None:
    review = ProgressEvents(PLAIN).review(rollout(0, 0.1, 0.2, 0.3))
    assert (review.error_type, review.interval) == ('unclear', None)


def test_a_gate_that_stays_negative_to_the_end_is_an_error_by_itself() -> None:
    gate = np.array([0, 1, 0, 0, 1, 1, 1], dtype=bool)
    flat = dataclasses.replace(rollout(*[0.1] * 7), negative_branch=gate)
    settings = dataclasses.replace(PLAIN, uses_gate=True)
    assert ProgressEvents(settings).review(flat).interval == (4, 4)
    assert ProgressEvents(PLAIN).review(flat).interval is None


@pytest.mark.parametrize('values', [(), (0.0, np.nan), (0.0, 0.1, 0.2)])
def test_a_potential_that_is_missing_cut_or_nan_is_refused(values: tuple[float, ...]) -> None:
    asked = dataclasses.replace(rollout(0.0, 0.1), potential=np.array(values))
    with pytest.raises(ParameterError, match='boundaries'):
        ProgressEvents().review(asked)


def test_thresholds_outside_their_range_are_refused() -> None:
    with pytest.raises(ParameterError, match='window odd'):
        FallSettings(window=2)


def test_a_stall_begins_after_the_first_chunk_as_high_as_any_later_one() -> None:
    review = StallEvents(StallSettings(margin=0.1)).review(
        rollout(0, 0.2, 0.45, 0.5, 0.4, 0.52, 0.5)
    )
    assert (review.error_type, review.interval) == ('stalled', (3, 4))
    rising = StallEvents().review(rollout(0, 0.2, 0.4, 0.6))
    assert rising.interval is None
    with pytest.raises(ParameterError, match='margin'):
        StallSettings(margin=0.0)
