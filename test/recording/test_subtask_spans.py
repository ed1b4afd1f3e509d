"""Spans of subtasks in lock-step and real time: done, stopped, replaced and open attempts."""

from structrl_ros.recording.run_events import Arrival
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.subtask_spans import subtask_spans
from structrl_ros.types import Plan
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

SECOND = 1_000_000_000
A = Subtask('a', 'grasp a', 'grasp', ('a',), 0)
B = Subtask('b', 'place a in b', 'place', ('a', 'b'), 1)


def status(t_s, revision, current, chunk, completed=()):
    return SubtaskStatus(int(t_s * SECOND), 1, chunk, revision, current, completed, (), ())


def verdict(t_s, revision, subtask_id, *, done=False, stop=False):
    return Verdict(int(t_s * SECOND), revision, 0, subtask_id, done, 1.0, 0.0, 'm', stop)


def spans_of(*values):
    events = RunEvents(arrivals=[Arrival(v.stamp_ns, v) for v in values])
    found = subtask_spans(events, SECOND)
    return [(s.revision, s.id, s.start_s, s.end_s, s.result) for s in found]


def test_stopped_attempt_and_its_retry_are_two_spans():
    plan = Plan(SECOND, 1, 'x', (A, B))
    again = Plan(4 * SECOND, 2, 'x', (A, B))
    assert spans_of(
        plan,
        status(1.0, 1, 'a', 0),
        verdict(2.0, 1, 'a'),
        verdict(3.0, 1, 'a', stop=True),
        status(3.0, 1, '', 5),
        again,
        status(4.0, 2, 'a', 5),
        verdict(6.0, 2, 'a', done=True),
        status(6.0, 2, 'b', 10, ('a',)),
        verdict(7.0, 2, 'b'),
    ) == [
        (1, 'a', 0.0, 2.0, 'stopped'),
        (2, 'a', 3.0, 5.0, 'done'),
        (2, 'b', 5.0, 6.0, 'open'),
    ]


def test_plan_that_is_replaced_ends_the_span():
    assert spans_of(
        Plan(SECOND, 1, 'x', (A,)),
        status(1.0, 1, 'a', 0),
        Plan(3 * SECOND, 2, 'x', (B,)),
        status(3.0, 2, 'b', 4),
        verdict(5.0, 2, 'b', done=True),
        status(5.0, 2, '', 9, ('b',)),
    ) == [(1, 'a', 0.0, 2.0, 'replaced'), (2, 'b', 2.0, 4.0, 'done')]


def test_in_real_time_the_verdict_is_newer_than_the_status_it_caused():
    assert spans_of(
        Plan(SECOND, 1, 'x', (A, B)),
        status(1.0, 1, 'a', 0),
        verdict(2.5, 1, 'a', done=True),
        status(2.0, 1, 'b', 2, ('a',)),
        verdict(4.0, 1, 'b'),
    ) == [(1, 'a', 0.0, 1.5, 'done'), (1, 'b', 1.5, 3.0, 'open')]


def test_without_status_there_are_no_spans():
    assert spans_of(Plan(SECOND, 1, 'x', (A,))) == []
