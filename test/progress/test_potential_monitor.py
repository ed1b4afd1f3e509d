"""Claims of the monitor that reads the potential: thresholds, hysteresis, what it cannot judge."""

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.ports import Monitor
from structrl_ros.progress.potential_monitor import PotentialMonitor
from structrl_ros.types import Observation
from structrl_ros.types import Progress
from structrl_ros.types import Subtask

STEPS = tuple(Subtask(f'step{i}', f'step {i}', 'grasp', ('x',), i) for i in range(3))


def seen(potential, stamp=1, *, negative=False, valid=True):
    progress = Progress(stamp, 1, 1, 0.0, 0.0, 0.0, negative, potential, 0.0, 0.0, valid)
    return Observation(stamp, 1, progress=progress)


def monitor(count=3, **limits):
    made = PotentialMonitor(**limits)
    made.follow(STEPS[:count])
    return made


def test_steps_share_evenly_what_is_missing_to_the_high_threshold():
    made, nothing = monitor(), Observation(0, 1)
    assert isinstance(made, Monitor)
    assert not made.verify(STEPS[0], nothing, seen(0.29)).done
    assert made.verify(STEPS[0], nothing, seen(0.3)).done
    assert made.threshold(STEPS[1], seen(0.3).progress) == pytest.approx(0.6)
    assert made.threshold(STEPS[1], seen(0.5).progress) == pytest.approx(0.7)
    assert made.threshold(STEPS[2], seen(0.5).progress) == pytest.approx(0.9)
    assert made.threshold(STEPS[2], seen(0.95).progress) == pytest.approx(0.9)
    assert made.threshold(STEPS[0], seen(-0.6).progress) == pytest.approx(0.3)


def test_marks_of_a_demonstration_replace_the_even_shares():
    made = monitor(3, marks=(0.2, 0.4, 0.7))
    assert [made.threshold(step, None) for step in STEPS] == [0.2, 0.4, 0.7]
    made.follow(STEPS[1:])  # a replan lists what is left
    assert made.threshold(STEPS[1], seen(0.3).progress) == 0.4
    longer = monitor(3, marks=(0.4, 0.7))
    assert longer.threshold(STEPS[0], None) == pytest.approx(0.3)
    with pytest.raises(ParameterError, match=r'marks 0, 0.5; allowed: in \(0, 1\]'):
        monitor(1, marks=(0.0, 0.5))


def test_what_is_done_stays_so_within_the_band_and_no_further():
    made, start = monitor(1), seen(0.0)
    said = [made.verify(STEPS[0], start, seen(p)).done for p in (0.85, 0.9, 0.81, 0.79, 0.85)]
    assert said == [False, True, True, False, False]
    assert made.verify(STEPS[0], start, seen(0.9)).done
    again = seen(0.85, stamp=5)
    assert not made.verify(STEPS[0], again, seen(0.85)).done  # another attempt begins anew


def test_the_negative_branch_is_never_done():
    made, start = monitor(1), seen(0.0)
    assert not made.verify(STEPS[0], start, seen(0.95, negative=True)).done
    judged = made.verify(STEPS[0], start, seen(0.95))
    assert judged.done
    assert judged.confidence == pytest.approx(0.95)


def test_without_valid_progress_there_is_no_judgement():
    for now, words in ((Observation(1, 1), 'has come'), (seen(0.9, valid=False), 'not valid')):
        with pytest.raises(StaleDataError, match=words):
            monitor().verify(STEPS[0], Observation(0, 1), now)


def test_steps_and_thresholds_that_are_not_allowed_are_one_line():
    with pytest.raises(ParameterError, match=r"step 'step2' is not of the plan; its steps: step0"):
        monitor(1).verify(STEPS[2], Observation(0, 1), seen(0.9))
    for high, low in ((0.0, 0.0), (1.1, 0.5), (0.8, 0.9), (0.8, -0.1)):
        with pytest.raises(ParameterError, match=r'allowed: high in \(0, 1\], low in'):
            PotentialMonitor(high=high, low=low)
