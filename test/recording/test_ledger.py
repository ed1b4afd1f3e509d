"""The recorded ledger is computed again to the last bit, and the first difference is named."""

import json
import math
from dataclasses import replace

from structrl_ros.cli.score import score_document
from structrl_ros.recording.ledger import check_ledger
from structrl_ros.recording.ledger import first_difference
from structrl_ros.recording.report import write_report
from structrl_ros.recording.run_events import read_events
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import Reward


def events_of(path):
    return read_events(path / 'bag').of_episode(1)


def test_recorded_rewards_are_computed_again_to_the_last_bit(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    _, check = check_ledger(events_of(tmp_path))
    assert (check.equal, check.compared, check.first_difference) == (True, 24, '')


def test_scored_trace_gives_the_recorded_rewards(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    write_report(tmp_path)
    trace = json.loads((tmp_path / 'trace.json').read_text())
    result, is_fine = score_document('structured_reward', trace)
    scored = [r for case in result['cases'] for r in case['output']['rewards']]
    assert is_fine
    assert scored == [r.value for r in events_of(tmp_path).of(Reward)]
    assert sum(1 for r in scored if r) == 5


def test_one_bit_in_one_reward_is_found(tmp_path, synthetic_run):
    def nudge(reward):
        return (
            replace(reward, value=math.nextafter(reward.value, 9.0))
            if reward.chunk == 11
            else reward
        )

    synthetic_run(spoil=nudge).write(tmp_path)
    _, check = check_ledger(events_of(tmp_path))
    assert check.equal is False
    assert check.first_difference.startswith('chunk 11, value: recorded 0.3')
    text = write_report(tmp_path).read_text()
    assert 'gives something else: chunk 11' in text
    assert json.loads((tmp_path / 'run.json').read_text())['ledger']['equal'] is False


def test_settings_are_taken_from_the_recording_or_said_to_be_missing(tmp_path, synthetic_run):
    run = synthetic_run(says_settings=False)
    run.write(tmp_path)
    _, check = check_ledger(events_of(tmp_path))
    assert check.equal is False
    assert 'does not say what the tracker ran with' in check.first_difference
    _, given = check_ledger(events_of(tmp_path), run.settings())
    assert given.equal is True
    _, wrong = check_ledger(events_of(tmp_path), TrackerSettings(beta=0.5))
    assert wrong.equal is False


def test_missing_rewards_are_a_difference_but_a_stopped_recording_is_not():
    page = Reward(1, 1, 1, 0.0, (), 0.0, False, False)
    pages = [replace(page, chunk=k) for k in (1, 2, 3)]
    assert first_difference(pages, pages) == ''
    assert first_difference(pages[:2], pages) == ''
    assert first_difference([pages[0], pages[2]], pages) == 'chunk 2: computed, but not recorded'
    assert first_difference(pages, pages[:2]) == 'chunk 3: recorded, but not computed'
