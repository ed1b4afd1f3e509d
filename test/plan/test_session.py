"""The driver of the executive in real time and in lock-step, with threads stepped by hand."""

import dataclasses
import itertools
import threading
import time

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.commands import State
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.latest import LatestObservation
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Judgement
from structrl_ros.types import Predicates

MS = 1_000_000
S = 1000 * MS
SENTENCE = 'put the soup in the basket'
NAMES = ('grasp(soup_1)', 'in(soup_1, basket_1_contain_region)')
NO_ACTIONS = np.zeros((0, 7), np.float32)


class ByName:
    """A monitor that judges by what the test says is true, and checks its callers."""

    name = 'by name'

    def __init__(self):
        self.true, self.calls, self.error, self.wait_s = set(), [], None, 0.0

    def verify(self, subtask, start, now):
        assert start.stamp_ns <= now.stamp_ns
        self.calls.append((subtask.id, now.stamp_ns))
        time.sleep(self.wait_s)
        if self.error is not None:
            raise self.error
        return Judgement(subtask.verb in self.true, 1.0)


class Bench:
    """A session with hand-driven clocks; calls run at once unless `held`."""

    def __init__(self, planner=None, instruction=SENTENCE, *, held=False, settings=None, **more):
        self.now, self.wall = S, 0.0
        self.monitor = ByName()
        self.plans, self.verdicts, self.ends, self.followed = [], [], [], []
        self.held, self.waiting = held, []
        executive = Executive(ExecutiveSettings(**(settings or {})), 'rules', 'by name')
        self.session = TaskSession(
            executive,
            planner or RulePlanner(),
            self.monitor,
            Outputs(
                self.plans.append,
                self.verdicts.append,
                lambda *end: self.ends.append(end),
                self.followed.append,
            ),
            SessionSettings(**more),
            self,
            wall=lambda: self.wall,
            spawn=self.spawn,
        )
        self.episode = Episode(
            S, 1, False, 'fake', 't', SENTENCE, 0, 0, objects=('soup', 'basket')
        )
        self.session.see_episode(self.episode)
        self.goal = Goal(instruction, 0.0, ('soup', 'basket'), instruction == SENTENCE)

    def now_ns(self):
        return self.now

    def spawn(self, work):
        if self.held:
            self.waiting.append(work)
        else:
            work()

    def release(self):
        self.waiting.pop(0)()

    def start(self):
        self.session.start(self.goal)
        return self

    def run(self, seconds, step=0.05):
        """Let body time pass, one observation a step."""
        for _ in range(round(seconds / step)):
            self.now += round(step * S)
            self.wall += step
            self.session.update(lambda latest: latest.take_stamp(self.now))

    def predicates(self, chunk, *true, success=False):
        values = tuple(n.split('(')[0] in true for n in NAMES)
        return Predicates(self.now, 1, chunk, chunk * 8, NAMES, values, success)

    def chunk(self, number, *true, length=0.4, **ended):
        """Lock-step: the body runs one chunk and tells it in the worst order."""
        self.now += round(length * S)
        done = ChunkDone(
            self.now,
            1,
            number,
            8,
            **{'terminated': False, 'truncated': False, 'success': False, **ended},
            executed=NO_ACTIONS,
        )
        self.session.see_chunk(done)
        predicates = self.predicates(number, *true, success=done.success)
        self.session.update(lambda latest: latest.take_predicates(predicates))

    def end_episode(self, success=True, reason='success'):
        ended = dataclasses.replace(self.episode, ended=True, success=success, end_reason=reason)
        self.session.see_episode(dataclasses.replace(ended, stamp_ns=self.now))


def test_sentence_becomes_plan_verdicts_at_five_hertz_and_success():
    bench = Bench().start()
    assert [s.id for s in bench.plans[0].subtasks] == ['grasp(soup)', 'place(soup, basket)']
    assert bench.followed[0] == bench.plans[0].subtasks
    bench.run(1.0)
    bench.monitor.true = {'grasp'}
    bench.run(0.4)
    bench.monitor.true = {'grasp', 'place'}
    bench.run(0.4)
    assert bench.ends == [(True, 'all 2 steps verified')]
    stamps = [v.stamp_ns for v in bench.verdicts]
    assert {b - a for a, b in itertools.pairwise(stamps)} == {200 * MS}
    assert [v.done for v in bench.verdicts].count(True) == 2
    held = bench.session.ticks.statistics()
    assert held.rate_hz == pytest.approx(5.0)
    assert held.period_p99_s <= 0.21


def test_ticks_take_the_time_of_the_observation_not_of_the_clock():
    bench = Bench().start()
    bench.run(0.15)
    bench.now += 60 * MS
    bench.session.poll()
    assert bench.verdicts == []
    bench.session.update(lambda latest: latest.take_stamp(S + 200 * MS))
    assert [v.stamp_ns for v in bench.verdicts] == [S + 200 * MS]


def test_clock_drives_the_monitor_where_observations_stay_away():
    bench = Bench().start()
    for _ in range(20):
        bench.now += 100 * MS
        bench.session.poll()
    assert len(bench.monitor.calls) >= 9


def test_slow_monitor_never_runs_twice_at_once_and_drops_ticks():
    bench = Bench(held=True).start()
    bench.release()
    bench.run(0.2)
    for _ in range(10):
        bench.run(0.35)
        assert len(bench.waiting) == 1
        bench.release()
    held = bench.session.ticks.statistics()
    assert held.rate_hz == pytest.approx(1 / 0.35, rel=0.05)
    assert held.dropped >= 6


def test_answer_after_a_new_task_began_is_dropped():
    bench = Bench(held=True).start()
    bench.release()
    bench.run(0.2)
    bench.monitor.true = {'grasp'}
    bench.session.cancel()
    bench.start()
    old, new = bench.waiting
    old()
    assert bench.verdicts == []
    new()
    assert bench.plans[-1].revision == 1
    bench.run(0.4)
    assert len(bench.waiting) == 3


def test_cancel_and_abort_end_the_task_once():
    bench = Bench().start()
    bench.session.cancel()
    bench.session.cancel()
    bench.session.abort('node stops')
    assert bench.ends == [(False, 'cancelled, at step 1 of 2 (grasp soup)')]
    assert bench.plans[-1].subtasks == ()


def test_second_goal_while_one_runs_is_refused():
    bench = Bench().start()
    with pytest.raises(ParameterError, match='one at a time'):
        bench.start()


def test_planner_that_breaks_ends_the_task_with_its_error():
    class Broken:
        name = 'broken'

        def propose(self, request):
            raise self.error

    for error, reason in (
        (PlannerUnavailableError('connection refused'), 'connection refused'),
        (ZeroDivisionError('oops'), 'ZeroDivisionError: oops'),
    ):
        planner = Broken()
        planner.error = error
        bench = Bench(planner).start()
        assert bench.ends[0][0] is False
        assert reason in bench.ends[0][1]


def test_monitor_that_breaks_counts_as_down():
    bench = Bench(settings={'monitor_failures': 2}).start()
    bench.monitor.error = KeyError('bug')
    bench.run(1.0)
    assert 'failed 2 times in a row: KeyError' in bench.ends[0][1]


def test_instruction_that_names_nothing_ends_with_the_scene():
    bench = Bench(instruction='put the dragon in the basket').start()
    assert bench.ends == [
        (False, "'dragon' names nothing in the scene; in the scene: soup, basket")
    ]
    assert bench.plans == []


def test_time_limit_counts_while_the_planner_thinks():
    bench = Bench(held=True)
    bench.goal = dataclasses.replace(bench.goal, time_limit_s=3.0)
    bench.start()
    bench.run(3.1)
    assert 'time limit of 3 s reached while planning' in bench.ends[0][1]
    bench.release()
    assert bench.plans == []


def test_silent_body_ends_the_task_by_the_wall_clock():
    bench = Bench(stall_limit_s=30.0).start()
    bench.run(1.0)
    bench.wall += 29.0
    bench.session.poll()
    assert bench.ends == []
    bench.wall += 2.0
    bench.session.poll()
    assert bench.ends == [(False, 'the body stands still: no news and no clock for 30 s')]


def test_standing_clock_is_no_stall_while_the_monitor_thinks():
    bench = Bench(held=True, stall_limit_s=30.0).start()
    bench.release()
    bench.run(0.2)
    bench.wall += 100.0
    bench.session.poll()
    assert bench.ends == []
    bench.release()
    bench.wall += 31.0
    bench.session.poll()
    assert len(bench.ends) == 1


def test_episode_end_waits_for_last_words_and_judges_them():
    bench = Bench(instruction='place the soup into the basket').start()
    bench.run(0.4)
    bench.end_episode()
    bench.session.poll()
    assert bench.ends == []
    bench.monitor.true = {'grasp', 'place'}
    bench.wall += 0.3
    bench.session.poll()
    assert bench.ends == [(True, 'all 2 steps verified')]


def test_body_success_counts_where_the_sentence_is_its_task():
    bench = Bench().start()
    bench.run(0.4)
    bench.end_episode()
    bench.wall += 0.3
    bench.session.poll()
    assert bench.ends == [(True, 'the body reports success, at step 1 of 2 (grasp soup)')]


def test_failed_episode_ends_with_its_reason():
    bench = Bench().start()
    bench.end_episode(False, 'horizon of 700 steps')
    bench.wall += 0.3
    bench.session.poll()
    assert bench.ends[0] == (
        False,
        'the episode ended: horizon of 700 steps, at step 1 of 2 (grasp soup)',
    )


def test_reset_in_a_task_ends_it():
    bench = Bench().start()
    bench.session.see_episode(dataclasses.replace(bench.episode, episode=2))
    assert 'the body was reset, episode 2 began' in bench.ends[0][1]


def test_lockstep_runs_the_grid_of_each_chunk_and_its_end():
    bench = Bench(lockstep=True, needs_predicates=True).start()
    bench.chunk(1, length=0.4)
    bench.chunk(2, length=0.5)
    assert [v.stamp_ns // MS for v in bench.verdicts] == [1200, 1400, 1600, 1800, 1900]
    assert [c[0] for c in bench.monitor.calls] == ['grasp(soup)', 'grasp(soup)']


def test_lockstep_waits_for_predicates_and_images_of_the_chunk():
    bench = Bench(lockstep=True, needs_predicates=True, monitor_roles=('head',)).start()
    bench.chunk(1)
    assert bench.verdicts == []
    image = np.zeros((2, 2, 3), np.uint8)
    bench.session.update(lambda latest: latest.take_image('head', bench.now - 1, image))
    assert bench.verdicts == []
    bench.session.update(lambda latest: latest.take_image('head', bench.now, image))
    assert bench.verdicts[-1].stamp_ns == bench.now


def test_lockstep_two_steps_in_one_chunk_end_with_a_verdict_at_its_end():
    bench = Bench(lockstep=True, needs_predicates=True).start()
    bench.monitor.true = {'grasp', 'place'}
    bench.chunk(1, length=0.8, terminated=True, success=True)
    assert bench.ends == [(True, 'all 2 steps verified')]
    assert [(v.subtask_id, v.stamp_ns // MS) for v in bench.verdicts] == [
        ('grasp(soup)', 1200),
        ('place(soup, basket)', 1800),
    ]


def test_lockstep_time_out_stops_retries_and_replans_at_the_end_of_chunks():
    bench = Bench(
        lockstep=True,
        needs_predicates=True,
        settings={'subtask_timeout_s': 0.8, 'attempts': 2, 'replans': 1},
    ).start()
    for k in range(1, 9):
        bench.chunk(k)
        if bench.ends:
            break
        assert bench.verdicts[-1].stamp_ns == bench.now
    assert [p.revision for p in bench.plans] == [1, 2, 3, 4, 5]
    assert not bench.ends[0][0]
    assert sum(v.stop for v in bench.verdicts) == 4
    assert all(v.stamp_ns >= bench.plans[v.revision - 1].stamp_ns for v in bench.verdicts)


def test_lockstep_failure_of_the_episode_comes_with_its_last_chunk():
    bench = Bench(lockstep=True, needs_predicates=True).start()
    bench.end_episode(False, 'horizon')
    bench.session.poll()
    assert bench.ends == []
    bench.chunk(1, truncated=True)
    assert bench.verdicts[-1].stamp_ns == bench.now
    assert 'its time was up' in bench.ends[0][1]


def test_lockstep_end_without_a_chunk_counts_after_a_while():
    bench = Bench(lockstep=True, needs_predicates=True).start()
    bench.end_episode(False, 'simulation failed')
    bench.wall += 2.5
    bench.session.poll()
    assert 'simulation failed' in bench.ends[0][1]


def test_lockstep_cancel_in_the_middle_of_a_look_still_owes_the_verdict():
    bench = Bench(lockstep=True, needs_predicates=True).start()
    verify = bench.monitor.verify
    calls = []

    def verify_and_cancel(*arguments):
        calls.append(1)
        if len(calls) == 2:
            bench.session.cancel()
        return verify(*arguments)

    bench.monitor.verify = verify_and_cancel
    bench.monitor.true = {'grasp'}
    bench.chunk(1, length=0.6)
    assert len(bench.ends) == 1
    assert bench.verdicts[-1].stamp_ns == bench.now


def test_lockstep_twice_gives_the_same_verdicts_to_the_last_bit():
    def run():
        bench = Bench(lockstep=True, needs_predicates=True).start()
        for k in range(1, 6):
            bench.monitor.true = {'grasp'} if k > 2 else set()
            bench.chunk(k)
        return bench.verdicts, bench.plans

    first, second = run(), run()
    strip = lambda run: [dataclasses.replace(v, latency=0.0) for v in run[0]]  # noqa: E731
    assert strip(first) == strip(second)
    assert first[1] == second[1]


def test_chunks_of_another_episode_and_of_no_task_are_ignored():
    bench = Bench(lockstep=True, needs_predicates=True)
    bench.chunk(1)
    other = ChunkDone(bench.now, 7, 2, 8, False, False, False, NO_ACTIONS)
    bench.session.see_chunk(other)
    assert bench.verdicts == []
    bench.start()
    bench.chunk(2)
    assert bench.verdicts[0].stamp_ns > bench.plans[0].stamp_ns


def test_newest_image_wins_and_old_episodes_are_dropped():
    latest = LatestObservation()
    latest.clear(3)
    first, second = np.zeros((1, 1, 3), np.uint8), np.ones((1, 1, 3), np.uint8)
    latest.take_image('head', 20, second)
    latest.take_image('head', 10, first)
    latest.take_predicates(Predicates(30, 2, 1, 1, (), (), False))
    seen = latest.snapshot()
    assert seen.images['head'] is second
    assert seen.predicates is None
    assert (seen.stamp_ns, seen.episode) == (20, 3)
    assert latest.has_images(('head',), 20)
    assert not latest.has_images(('head',), 21)
    assert not latest.has_images(('head', 'left_wrist'))


def test_real_threads_keep_the_rate_of_a_fast_monitor():
    bench = Bench()
    from structrl_ros.plan.session_ports import spawn_thread

    bench.session._spawn = spawn_thread
    bench.monitor.wait_s = 0.002
    bench.start()
    end = time.monotonic() + 5.0
    while not bench.plans and time.monotonic() < end:
        time.sleep(0.001)
    for _ in range(40):
        bench.run(0.05)
        time.sleep(0.01)
    bench.session.cancel()
    assert bench.session.executive.state is State.CANCELLED
    assert threading.active_count() < 20
    assert len(bench.verdicts) >= 8
    assert all(v.latency >= 0.0 for v in bench.verdicts)
