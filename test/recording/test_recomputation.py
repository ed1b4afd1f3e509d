"""Recomputation on made-up events: progress, and recordings that lack what all hangs on."""

import dataclasses

import numpy as np
import pytest

from structrl_ros.errors import BagError
from structrl_ros.progress.fusion import fuse
from structrl_ros.recording.progress_check import compare_progress
from structrl_ros.recording.recomputation import compare
from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Progress


def progress_of(episode, steps, seed):
    """A reward model's words: hops drawn at random, fused as the paper says; step 4 not valid."""
    hops = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, steps))
    hops[:, 3] = np.nan
    fused = fuse(*hops)
    told = np.nan_to_num(hops)
    return [
        Progress(
            stamp_ns=t,
            episode=episode,
            step=t + 1,
            hop_forward=float(told[0, t]),
            hop_backward=float(told[1, t]),
            hop_incremental=float(told[2, t]),
            negative_branch=bool(fused.negative_branch[t + 1]),
            potential=float(fused.potential[t + 1]),
            shaping=0.0,
            latency=0.1,
            valid=bool(fused.valid[t]),
        )
        for t in range(steps)
    ]


def events_with(values):
    return RunEvents(arrivals=[Arrival(0, value) for value in values])


def test_progress_of_interleaved_episodes_computes_to_itself_to_the_last_bit():
    pairs = zip(progress_of(1, 30, 1), progress_of(2, 30, 2), strict=True)
    result = compare_progress(events_with([p for pair in pairs for p in pair]))
    assert (result.compared, result.skipped, result.difference) == (60, 0, '')


def test_changed_potential_is_found_at_its_step():
    told = progress_of(1, 10, 3)
    told[5] = dataclasses.replace(told[5], potential=np.nextafter(told[5].potential, 2.0))
    result = compare_progress(events_with(told))
    assert result.difference.startswith('episode 1, step 6, potential: recorded')


def test_after_a_lost_step_of_progress_nothing_is_claimed():
    told = progress_of(1, 10, 4)
    result = compare_progress(events_with(told[:5] + told[6:]))
    assert (result.compared, result.skipped, result.difference) == (5, 4, '')
    assert 'a step that was not recorded' in result.why


@pytest.mark.parametrize(
    ('lost', 'words'),
    [(Plan, 'no plan was recorded'), (Episode, 'no episode was recorded')],
    ids=['plan', 'episode'],
)
def test_missing_latched_topic_is_one_clear_line(tmp_path, synthetic_run, lost, words):
    synthetic_run(chunks=6).write(tmp_path)
    events = read_events(tmp_path / 'bag')
    events.arrivals = [a for a in events.arrivals if not isinstance(a.value, lost)]
    with pytest.raises(BagError, match=words) as caught:
        compare(events)
    assert '\n' not in str(caught.value)
