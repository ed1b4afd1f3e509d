"""Arbitration of a takeover, over every order of events."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.control.takeover import Control
from structrl_ros.control.takeover import Takeover
from structrl_ros.control.takeover import TakeoverRules
from structrl_ros.errors import ParameterError

STEP_NS = 20_000_000
SILENCE_NS = 400_000_000
EVENTS = ('A press', 'A release', 'B press', 'B release', 'silence', 'reset', 'stop', 'end', 'go')


def play(events):
    """Return the takeover after some events, and whether the last command moved the arm."""
    takeover, now_ns, moved = Takeover(), 0, False
    for event in events:
        now_ns += SILENCE_NS if event == 'silence' else STEP_NS
        moved = False
        if event.endswith('press'):
            moved = takeover.command(event[0], 1.0, now_ns)
        elif event.endswith('release'):
            moved = takeover.command(event[0], 0.0, now_ns)
        elif event == 'silence':
            takeover.tick(now_ns)
        elif event == 'reset':
            takeover.begin_episode()
        elif event == 'stop':
            takeover.stop(True)
        elif event == 'end':
            takeover.stop(False)
        else:
            takeover.let_go()
    return takeover, moved


def may_move(events):
    """Say by the rule, looking back, whether the last event is a motion of its device.

    Its newest release must be followed by presses of it alone that nothing ended, and the first
    of these must have found nobody else in control.
    """
    last = events[-1]
    if not last.endswith('press'):
        return False
    device = last[0]
    owner, fresh, stopped = None, {}, False
    held = False
    for event in events:
        if event == f'{event[0]} press' and event[0] in 'AB':
            name = event[0]
            if fresh.get(name) and not stopped and (owner is None or held):
                owner, held = name, False
            fresh[name] = False
        elif event.endswith('release'):
            name = event[0]
            fresh[name] = True
            if owner == name:
                owner, held = None, False
        elif event == 'silence':
            held = owner is not None
        elif event == 'stop':
            stopped, owner, held = True, None, False
        elif event == 'end':
            stopped = False
        else:
            owner, held = None, False
    return owner == device and not held


@pytest.mark.parametrize('length', [1, 2, 3, 4])
def test_every_order_of_events_moves_the_arm_exactly_by_the_rule(length):
    for events in itertools.product(EVENTS, repeat=length):
        takeover, moved = play(events)
        assert moved == may_move(events), events
        if moved:
            assert takeover.control is Control.OPERATOR
            assert takeover.device == events[-1][0]


@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=40))
def test_long_orders_of_events_obey_the_rule_too(events):
    takeover, moved = play(events)
    assert moved == may_move(events)
    assert (takeover.device != '') == takeover.is_taken
    stops = [e for e in events if e in ('stop', 'end')]
    assert (takeover.control is Control.STOPPED) == (bool(stops) and stops[-1] == 'stop')


def test_a_press_that_was_never_seen_to_begin_moves_nothing():
    takeover, moved = play(['A press', 'A press'])
    assert (moved, takeover.control) == (False, Control.POLICY)


def test_a_second_device_is_refused_and_counted_and_does_not_get_it_later():
    takeover, moved = play(['A release', 'B release', 'A press', 'B press'])
    assert (moved, takeover.device, takeover.refused) == (False, 'A', 1)
    takeover, moved = play(
        ['A release', 'B release', 'A press', 'B press', 'A release', 'B press']
    )
    assert (moved, takeover.control) == (False, Control.POLICY)


def test_a_silent_device_holds_the_arm_and_keeps_the_policy_out():
    takeover, _ = play(['A release', 'A press', 'silence'])
    assert (takeover.control, takeover.device, takeover.is_taken) == (Control.HELD, 'A', True)
    takeover, moved = play(['A release', 'A press', 'silence', 'A press'])
    assert (moved, takeover.control) == (False, Control.HELD)
    takeover, moved = play(['A release', 'A press', 'silence', 'A release', 'A press'])
    assert (moved, takeover.control) == (True, Control.OPERATOR)


def test_another_device_may_take_what_a_silent_one_held():
    takeover, moved = play(['A release', 'A press', 'B release', 'silence', 'B press'])
    assert (moved, takeover.device) == (True, 'B')


def test_the_switch_has_hysteresis():
    takeover = Takeover(TakeoverRules(engage_above=0.6, release_below=0.4))
    readings = [0.0, 0.5, 0.6, 0.5, 0.41, 0.4, 0.5, 0.7]
    moved = [takeover.command('A', r, i * STEP_NS) for i, r in enumerate(readings)]
    assert moved == [False, False, True, True, True, False, False, True]


def test_a_switch_that_is_no_number_is_released():
    takeover = Takeover()
    takeover.command('A', 0.0, 0)
    assert takeover.command('A', 1.0, 1)
    assert not takeover.command('A', math.nan, 2)
    assert takeover.control is Control.POLICY


@pytest.mark.parametrize(
    'rules',
    [{'engage_above': 0.3}, {'engage_above': 1.2}, {'release_below': -0.1}, {'silence_s': 0.0}],
)
def test_limits_that_are_none_are_refused(rules):
    with pytest.raises(ParameterError, match='allowed'):
        TakeoverRules(**rules)
