"""Claims of the driver of grm_node, without ROS: what is asked, when, and what is told of it."""

import threading
import time

import numpy as np
import pytest

from structrl_ros.nodes.grm_driver import GrmDriver
from structrl_ros.nodes.grm_models import OpenModel
from structrl_ros.params.grm import GrmParameters
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.strip import Layout
from structrl_ros.recording.progress_told import RanWith
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Subtask

MS = 1_000_000
RAN_WITH = RanWith(
    model='fake', model_digest='0', goal='', goal_digest='', roles=(), gamma=0.99, threads=1
)


class Gated:
    """A progress model that answers 0.5 to everything, while its gate is open."""

    name = 'gated'

    def __init__(self):
        self.gate, self.sentences, self.asked = threading.Event(), [], 0
        self.gate.set()

    def hops(self, contexts):
        self.asked += 1
        assert self.gate.wait(60)
        return np.full(len(contexts), 0.5)

    def make(self, sentence):
        self.sentences.append(sentence)
        return self


class Bench:
    """A driver, its model, and everything that it published."""

    def __init__(self, **parameters):
        self.model, self.said = Gated(), []
        online = OnlineModel(make=self.model.make, layout=Layout(grid=1, cell_px=16), view_px=16)
        parameters = GrmParameters(
            model='fake', **{'roles': ('head',), 'wait_s': 600.0, **parameters}
        )
        self.driver = GrmDriver(OpenModel(online, RAN_WITH), parameters, self.keep)

    def keep(self, progress, looked_at):
        self.said.append((progress, looked_at))

    def start(self, episode, at_ms):
        self.driver.see_episode(
            Episode(at_ms * MS, episode, False, 'kinematic', 'task', 'of the body', 0, 0)
        )

    def picture(self, at_ms, role='head'):
        self.driver.take_image(role, at_ms * MS, np.full((16, 16, 3), at_ms % 256, np.uint8))

    def done(self, episode, chunk, at_ms, **flags):
        ended = {'terminated': False, 'truncated': False, **flags}
        rows = np.zeros((1, 7), np.float32)
        self.driver.see_done(
            ChunkDone(at_ms * MS, episode, chunk, 1, success=False, executed=rows, **ended)
        )

    def wait(self, true, what):
        last_s = time.monotonic() + 60
        while not true():
            assert time.monotonic() < last_s, f'{what}; said {self.said}'
            self.driver.consider()
            time.sleep(0.002)

    def steps(self, count):
        """Wait until so many steps were published and return what they say."""
        self.wait(lambda: len(self.said) >= count, f'{count} steps')
        return [(p.episode, p.step, p.stamp_ns // MS, p.valid) for p, _ in self.said]


@pytest.fixture
def bench():
    made = []

    def make(**parameters):
        made.append(Bench(**parameters))
        return made[-1]

    yield make
    for one in made:
        one.model.gate.set()
        one.driver.close()


def test_in_lockstep_no_chunk_is_lost_while_the_model_thinks(bench):
    b = bench(lockstep=True)
    b.model.gate.clear()
    b.start(1, 100)
    b.picture(100)
    for chunk in range(1, 6):
        b.picture(100 + 10 * chunk)
        b.done(1, chunk, 100 + 10 * chunk, truncated=chunk == 5)
    assert b.said == []
    b.model.gate.set()
    assert b.steps(5) == [(1, k, 100 + 10 * k, True) for k in range(1, 6)]
    assert b.said[0][1].start == {'head': 100 * MS}
    assert b.said[4][1].pictures == {'head': 150 * MS}


def test_in_real_time_the_latest_frame_wins_and_the_others_are_counted(bench):
    b = bench()
    b.start(1, 100)
    b.picture(100)
    b.model.gate.clear()
    b.picture(110)
    b.done(1, 1, 110)
    b.wait(lambda: b.model.asked == 1, 'the first question')
    for chunk in range(2, 6):
        b.picture(100 + 10 * chunk)
        b.done(1, chunk, 100 + 10 * chunk)
    b.model.gate.set()
    assert b.steps(2) == [(1, 1, 110, True), (1, 2, 150, True)]
    assert b.driver.health()[1]['dropped'] == 3


def test_a_new_episode_drops_the_answer_that_is_under_way_and_starts_at_zero(bench):
    b = bench(lockstep=True)
    b.start(1, 100)
    b.picture(100)
    b.model.gate.clear()
    b.picture(110)
    b.done(1, 1, 110)
    b.wait(lambda: b.model.asked == 1, 'the first question')
    b.done(2, 1, 310)  # overtakes the start of its episode
    b.picture(300)
    b.start(2, 300)
    b.picture(310)
    b.model.gate.set()
    assert b.steps(1) == [(2, 1, 310, True)]
    assert b.said[0][0].potential == pytest.approx(0.5)


def test_at_a_rate_steps_lie_on_the_grid_and_the_end_of_the_episode_is_one_more(bench):
    b = bench(rate_hz=10.0)
    b.start(1, 1000)
    for at_ms in range(1000, 1300, 50):
        b.picture(at_ms)
        b.steps(at_ms // 100 - 10)  # else the latest frame would win
    b.done(1, 1, 1260, terminated=True)
    assert b.steps(3) == [(1, 1, 1100, True), (1, 2, 1200, True), (1, 3, 1260, True)]
    last = b.said[-1]
    assert last[1].terminated
    assert last[0].shaping == -b.said[1][0].potential


def test_an_episode_that_was_joined_in_its_middle_is_not_valid(bench):
    b = bench()
    b.start(1, 100)
    b.picture(500)
    b.done(1, 4, 510)
    b.picture(520)
    b.done(1, 5, 530)
    assert b.steps(1)[0][3] is False
    assert b.said[0][1].start == {}
    assert b.driver.health()[0] == 'the start of the episode was not seen'


def test_a_camera_that_stays_away_is_masked_and_told(bench):
    b = bench(lockstep=True, roles=('head', 'left_wrist'), wait_s=0.0)
    b.start(1, 100)
    b.picture(100)
    b.picture(110)
    b.done(1, 1, 110)
    assert b.steps(1) == [(1, 1, 110, True)]
    assert b.said[0][1].pictures == {'head': 110 * MS}
    assert b.driver.health()[0] == 'no picture of left_wrist'
    b.driver.see_episode(Episode(120 * MS, 1, True, 'kinematic', 'task', '', 0, 0))
    assert b.driver.health()[0] == ''


def test_the_sentence_is_the_plans_else_the_episodes_and_fixed_for_an_episode(bench):
    b = bench(lockstep=True)
    step = Subtask('s', 'p', 'grasp', ('x',), 0)
    for episode in (1, 2, 3):
        at = 1000 * episode
        b.start(episode, at)
        if episode != 1:
            stamp = at if episode == 2 else 1000
            b.driver.see_plan(Plan(stamp * MS, 1, f'of plan {episode}', (step,)))
        for chunk in range(3):
            b.picture(at + chunk)
            if chunk:
                b.done(episode, chunk, at + chunk)
                b.steps(2 * (episode - 1) + chunk)
    assert b.model.sentences == ['of the body', 'of plan 2', 'of the body']
    fixed = bench(lockstep=True, instruction='mine')
    fixed.start(1, 1)
    fixed.picture(1)
    fixed.picture(2)
    fixed.done(1, 1, 2)
    fixed.steps(1)
    assert fixed.model.sentences == ['mine']
