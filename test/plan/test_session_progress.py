"""A session whose monitor reads the potential: what a chunk waits for, and what is counted."""

import numpy as np

from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.commands import State
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.progress.potential_monitor import PotentialMonitor
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Predicates
from structrl_ros.types import Progress

MS = 1_000_000
S = 1000 * MS
SENTENCE = 'put the soup in the basket'


class Bench:
    """A session on hand-driven clocks; the monitor answers at once."""

    def __init__(self, *, lockstep, confirmations=1):
        self.now, self.plans, self.verdicts, self.ends = S, [], [], []
        monitor = PotentialMonitor(high=0.9, low=0.8)
        settings = ExecutiveSettings(confirmations=confirmations)
        self.session = TaskSession(
            Executive(settings, 'rules', monitor.name),
            RulePlanner(),
            monitor,
            Outputs(
                self.plans.append,
                self.verdicts.append,
                lambda *end: self.ends.append(end),
                monitor.follow,
            ),
            SessionSettings(lockstep=lockstep, needs_progress=True),
            self,
            wall=lambda: 0.0,
            spawn=lambda work: work(),
        )
        objects = ('soup', 'basket')
        self.session.see_episode(Episode(S, 1, False, 'arm', 't', SENTENCE, 0, 0, objects=objects))
        self.session.start(Goal(SENTENCE, 0.0, objects))

    def now_ns(self):
        return self.now

    def progress(self, at_ms, potential, *, episode=1, valid=True):
        said = Progress(
            S + at_ms * MS, episode, 1, 0.0, 0.0, 0.0, False, potential, 0.0, 0.0, valid
        )
        self.session.update(lambda latest: latest.take_progress(said))

    def chunk(self, number, at_ms):
        self.now = S + at_ms * MS
        rows = np.zeros((0, 7), np.float32)
        self.session.see_chunk(ChunkDone(self.now, 1, number, 8, False, False, False, rows))

    def done(self):
        return [(v.index, v.done) for v in self.verdicts]


def test_in_lockstep_the_verdict_waits_for_the_progress_of_its_chunk():
    bench = Bench(lockstep=True)
    assert [s.verb for s in bench.plans[0].subtasks] == ['grasp', 'place']
    bench.chunk(1, 400)
    assert bench.verdicts == []
    bench.progress(300, 0.9)
    bench.progress(400, 0.9, episode=2)
    assert bench.verdicts == []
    bench.progress(400, 0.2)
    assert set(bench.done()) == {(0, False)}
    assert bench.verdicts[-1].stamp_ns == S + 400 * MS
    assert bench.verdicts[-1].monitor == 'grm'
    bench.chunk(2, 800)
    bench.progress(800, 0.5)
    assert bench.done()[-1] == (1, False)
    assert (0, True) in bench.done()
    bench.chunk(3, 1200)
    bench.progress(1200, 0.92)
    assert bench.ends == [(True, 'all 2 steps verified')]
    assert bench.session.executive.state is State.DONE


def test_progress_that_is_not_valid_confirms_nothing():
    bench = Bench(lockstep=True)
    bench.chunk(1, 400)
    bench.progress(400, 0.95, valid=False)
    assert set(bench.done()) == {(0, False)}


def test_a_tick_without_new_progress_confirms_nothing_whatever_else_is_new():
    bench = Bench(lockstep=False, confirmations=2)
    bench.progress(100, 0.6)
    for tick in range(1, 6):
        bench.now = S + (100 + 200 * tick) * MS
        truth = Predicates(bench.now, 1, tick, tick, ('a',), (False,), False)
        bench.session.update(lambda latest, truth=truth: latest.take_predicates(truth))
    assert bench.done() == [(0, False)] * len(bench.done())
    assert len(bench.done()) >= 4
    bench.now += 200 * MS
    bench.progress((bench.now - S) // MS, 0.6)
    assert bench.done()[-1] == (0, True)
