"""Clocks that disagree or go back: nothing is trusted in silence, nothing held for ever."""

import numpy as np
import pytest

from structrl_ros.control.admission import AdmissionRules
from structrl_ros.control.admission import ChunkAdmission
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import StaleDataError
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.progress.frames import FrameQueue
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Judgement
from structrl_ros.types import PolicySpec
from structrl_ros.types import Predicates
from structrl_ros.types import Proprioception

SECOND = 1_000_000_000
TICK = SECOND // 5
SKEW = 2 * SECOND
NOW = 100 * SECOND
SPEC = PolicySpec('net', 'ee_delta_pose', 7, 8, ('head',), {'head': 0.3})
SCENE = ('soup', 'basket')
SENTENCE = 'put the soup in the basket'


def picture(value=0):
    return np.full((4, 4, 3), value, np.uint8)


def arm(stamp_ns):
    return Proprioception(stamp_ns, (), np.zeros(0), np.zeros(0), np.zeros(7), np.zeros(2))


def seen_by_policy(picture_ns, now_ns=NOW):
    store = ObservationStore(SPEC)
    store.clear(1, SECOND)
    store.take_proprioception(arm(now_ns))
    store.take_image('head', picture_ns, picture(1))
    return store


def test_a_camera_two_seconds_ahead_gives_no_chunk_and_counts_once_its_clock_is_right():
    store = seen_by_policy(NOW + SKEW)
    for _ in range(2):
        with pytest.raises(StaleDataError, match=r'head stamped 2.00 s ahead .* share one clock'):
            store.assemble(NOW)
    store.take_image('head', NOW, picture(2))
    assert store.assemble(NOW).images['head'][0, 0, 0] == 2


def test_one_picture_stamped_an_hour_ahead_costs_one_look():
    store = seen_by_policy(NOW + 3600 * SECOND)
    with pytest.raises(StaleDataError, match=r'head stamped 3600\.00 s ahead'):
        store.assemble(NOW)
    store.take_image('head', NOW, picture(2))
    assert store.assemble(NOW).stamp_ns == NOW


def test_a_camera_two_seconds_behind_gives_no_chunk_and_says_how_old_it_is():
    store = seen_by_policy(NOW - SKEW)
    with pytest.raises(StaleDataError, match=r'head 2\.00 s old, limit 0\.30 s'):
        store.assemble(NOW)
    store.take_image('head', NOW, picture(2))
    assert store.assemble(NOW).images['head'][0, 0, 0] == 2


@pytest.mark.parametrize(
    ('skew_ns', 'reason'),
    [(SKEW, 'stamp 2 s in the future, tolerance 0.05 s'), (-SKEW, 'chunk 2.00 s old')],
)
def test_a_policy_whose_clock_is_two_seconds_off_moves_no_arm(skew_ns, reason):
    door = ChunkAdmission(
        AdmissionRules(action_space='ee_delta_pose', action_dimension=7, step_period_s=0.05)
    )
    door.open_episode(1)
    actions = np.zeros((8, 7), np.float32)
    for number in (1, 2, 3):
        chunk = ActionChunk(NOW + skew_ns, 1, number, 'policy', 'ee_delta_pose', 0.05, actions)
        assert reason in door.reject(chunk, NOW)


class Eye:
    """A monitor that says done at its n-th look and remembers what it saw."""

    name = 'eye'

    def __init__(self, done_at=10**9):
        self.done_at, self.saw = done_at, []

    def verify(self, subtask, start, now):
        self.saw.append((now.image_stamps_ns['head'], int(now.images['head'][0, 0, 0])))
        return Judgement(len(self.saw) >= self.done_at, 1.0)


class Cell:
    """A planner's machine and a body; `skew_ns` is what the body's clock is ahead."""

    def __init__(self, eye, skew_ns=0, **settings):
        self.now, self.skew_ns, self.value = NOW, skew_ns, 1
        self.plans, self.verdicts, self.ends = [], [], []
        self.session = TaskSession(
            Executive(ExecutiveSettings(**settings), 'rules', 'eye'),
            RulePlanner(),
            eye,
            Outputs(self.plans.append, self.verdicts.append, lambda *end: self.ends.append(end)),
            SessionSettings(monitor_roles=('head',)),
            self,
            spawn=lambda work: work(),
        )
        self.session.see_episode(
            Episode(self.body_ns, 1, False, 'b', 't', SENTENCE, 0, 0, objects=SCENE)
        )
        self.look()

    def now_ns(self):
        return self.now

    @property
    def body_ns(self):
        return self.now + self.skew_ns

    def look(self):
        stamp_ns, image = self.body_ns, picture(self.value)
        self.session.update(lambda latest: latest.take_image('head', stamp_ns, image))

    def start(self):
        self.session.start(Goal(SENTENCE, 0.0, SCENE))
        return self

    def run(self, ticks):
        for _ in range(ticks):
            self.now += TICK
            self.look()
            self.session.poll()
        return self


@pytest.mark.parametrize('skew_ns', [0, SKEW, -SKEW])
def test_a_planner_whose_clock_is_two_seconds_off_keeps_its_rate_and_limits(skew_ns):
    """It compares stamps of the body with each other, never with its own clock."""
    eye = Eye()
    cell = Cell(eye, skew_ns, subtask_timeout_s=4.0, attempts=1, replans=0).start().run(15)
    assert not cell.ends
    assert len(eye.saw) >= 14
    assert [stamp for stamp, _ in eye.saw] == [v.stamp_ns for v in cell.verdicts]
    cell.run(10)
    assert 'not done within 4 s' in cell.ends[0][1]
    assert len(cell.verdicts) <= 21


def test_a_planner_that_has_heard_no_clock_yet_takes_the_time_of_the_body():
    """As one that was started anew in simulated time, where `/clock` may come late."""
    cell = Cell(Eye(), subtask_timeout_s=10.0, attempts=1, replans=0)
    now, cell.now = cell.now, 0
    cell.start()
    cell.now = now
    cell.run(20)
    assert not cell.ends


@pytest.mark.parametrize('hours', [1, -1])
def test_a_body_whose_time_goes_back_ends_the_task_and_the_next_one_sees_new_pictures(hours):
    """A looped bag, a body started anew, or a stamp that was an hour ahead once."""
    eye = Eye()
    cell = Cell(eye).start().run(5)
    if hours > 0:  # once ahead
        cell.skew_ns = 3600 * SECOND
        cell.look()
        cell.skew_ns = 0
    else:  # from now on back
        cell.now -= 50 * SECOND
    cell.run(1)
    assert 'the time of the observations went back by' in cell.ends[0][1]
    assert cell.plans[-1].subtasks == (), 'an empty plan: hold'
    cell.value, before = 7, len(eye.saw)
    cell.start().run(5)
    assert len(eye.saw) >= before + 4
    assert {value for _, value in eye.saw[before:]} == {7}


def test_the_first_truth_of_an_episode_said_again_ends_no_task():
    """A body says it again, with its stamp, to whoever comes later: a policy that was killed."""
    cell = Cell(Eye()).start().run(30)
    start_ns = cell.now - 30 * TICK
    first = Predicates(start_ns, 1, 0, 0, ('in(soup, basket)',), (False,), False)
    cell.session.update(lambda latest: latest.take_predicates(first))
    cell.run(2)
    assert not cell.ends
    assert cell.verdicts[-1].stamp_ns > start_ns + 5 * SECOND


def test_pictures_of_a_grm_count_again_after_one_that_was_ahead():
    frames = FrameQueue(('head',), lockstep=False, period_ns=0, max_age_s=1.0, wait_s=1.0)
    frames.begin(NOW)
    frames.take('head', NOW, picture())
    assert len(frames.ready()) == 1
    frames.take('head', NOW + 3600 * SECOND, picture(1))
    frames.take('head', NOW + SECOND, picture(2))
    frames.ask(NOW + SECOND)
    ((_, frame),) = frames.ready()
    assert frame.stamps_ns == {'head': NOW + SECOND}


def test_a_bag_that_begins_anew_earns_nothing_twice_and_its_repeats_are_counted():
    tracker = Tracker(TrackerSettings(), StructuredReward)
    start = Episode(SECOND, 1, False, 'b', 't', SENTENCE, 0, 0, objects=SCENE)
    stream = [start]
    for chunk in (1, 2):
        stamp = (chunk + 1) * SECOND
        stream += [
            Predicates(stamp, 1, chunk, 8 * chunk, ('in(a, b)',), (chunk == 2,), chunk == 2),
            ChunkDone(stamp, 1, chunk, 8, False, False, chunk == 2, np.zeros((8, 7), np.float32)),
        ]
    first = [out for message in stream for out in tracker.consume(message)]
    again = [out for message in stream for out in tracker.consume(message)]
    assert any(getattr(out, 'value', 0.0) > 0 for out in first)
    assert not [out for out in again if hasattr(out, 'value')]
    assert tracker.ignored == 4
