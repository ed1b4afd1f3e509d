"""Claims of the online estimate: frames, three queries, gate, fusion, shaping, and failures."""

import dataclasses
import math

import numpy as np
import pytest

from structrl_ros.ports import ProgressModel
from structrl_ros.progress import online as reasons
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.frames import FrameQueue
from structrl_ros.progress.fusion import fuse
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.strip import Layout
from structrl_ros.rewards.shaping import shape_rewards
from structrl_ros.rewards.shaping import shaping_term

LAYOUT = Layout(grid=2, cell_px=4)
#: Forward, incremental, backward of six steps, as a model gives them to one batch.
ANSWERS = (
    (0.2, 0.2, -0.8),
    (0.5, 0.3, -0.6),
    (-0.1, -0.4, -1.3),
    (0.3, 0.4, -0.5),
    (0.8, 0.7, -0.2),
    (0.95, 0.8, -0.1),
)


class Telling:
    """A progress model that gives prepared answers and keeps what it was asked."""

    name = 'telling'

    def __init__(self, answers):
        self.answers, self.asked = list(answers), []

    def hops(self, contexts):
        self.asked.append(list(contexts))
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return np.array(answer[: len(contexts)] if len(answer) == 3 else answer)


def frame(t, roles=('head', 'left_wrist'), size=(12, 10)):
    pictures = {r: np.full((*size, 3), 10 * t + i, np.uint8) for i, r in enumerate(roles)}
    return Frame(100 * t, pictures, dict.fromkeys(roles, 100 * t))


def episode(answers=ANSWERS, *, goal=True, gamma=0.9, frames=None):
    """Return what is said of an episode of one frame more than answers, and who was asked."""
    model = Telling(answers)
    assert isinstance(model, ProgressModel)
    pictures = frame(20).images if goal else None
    online = OnlineModel(
        make=lambda instruction: model, layout=LAYOUT, view_px=8, goal=pictures, gamma=gamma
    )
    progress = EpisodeProgress(3, online, 'tidy up', shaping_term)
    frames = frames or [frame(t) for t in range(len(answers) + 1)]
    progress.see_start(frames[0])
    said, problems = [], []
    for t, seen in enumerate(frames[1:], 1):
        said.append(progress.step(seen, terminated=t == len(frames) - 1))
        problems.append(progress.problem)
    return said, problems, model


def test_potential_gate_and_shaping_are_those_of_the_definitions():
    said, problems, _ = episode()
    forward, incremental, backward = np.array(ANSWERS).T
    fused = fuse(forward, backward, incremental)
    assert [p.potential for p in said] == fused.potential[1:].tolist()
    assert [p.negative_branch for p in said] == fused.negative_branch[1:].tolist()
    assert True in fused.negative_branch.tolist()
    shaped = shape_rewards(np.zeros(6), fused.potential, gamma=0.9, terminal=True)
    assert [p.shaping for p in said] == shaped.tolist()
    assert said[2].hop_backward == -1.0
    assert [(p.episode, p.step, p.stamp_ns) for p in said] == [
        (3, t, 100 * t) for t in range(1, 7)
    ]
    assert all(p.valid for p in said)
    assert problems == [''] * 6


def test_terminal_potential_is_zero_in_the_shaping_and_a_truncation_keeps_its_own():
    model = Telling([(0.5, 0.5, -0.5)] * 2)
    online = OnlineModel(make=lambda _: model, layout=LAYOUT, view_px=8, goal=frame(9).images)
    last = {}
    for terminated in (True, False):
        model.asked.clear()
        progress = EpisodeProgress(1, online, '', shaping_term)
        progress.see_start(frame(0))
        last[terminated] = progress.step(frame(1), terminated=terminated)
    assert last[True].potential == last[False].potential == pytest.approx(0.5)
    assert last[True].shaping == 0.0
    assert last[False].shaping == pytest.approx(0.99 * 0.5)


def test_three_queries_go_in_one_batch_and_hold_no_future():
    _, _, model = episode()
    assert [len(batch) for batch in model.asked] == [3] * 6
    forward, incremental, backward = model.asked[3]
    assert forward.before.images[0, 0, 0, 0] == 0
    assert incremental.before.images[0, 0, 0, 0] == 30
    assert backward.before.images[0, 0, 0, 0] == 200
    assert backward.pre.count == backward.between.count == 0
    assert all(q.after.images[0, 0, 0, 0] == 40 for q in model.asked[3])
    assert forward.between.filled.sum() == 3


def test_without_a_goal_the_backward_term_is_left_out_and_the_step_says_so():
    said, _, model = episode(goal=False)
    assert [len(batch) for batch in model.asked] == [2] * 6
    assert all(math.isnan(p.hop_backward) and p.valid for p in said)
    assert said[0].potential == pytest.approx(0.2)
    assert said[1].potential == pytest.approx((0.5 + 0.2 + 0.3 * 0.8) / 2)


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ((math.nan, 0.1, 0.1), reasons.NO_NUMBER),
        ((0.1, math.inf, 0.1), reasons.NO_NUMBER),
        (RuntimeError('out of memory'), 'the model failed: out of memory'),
        ((0.1, 0.2), 'the model gave hops of shape (2,) to 3'),
    ],
)
def test_a_model_that_fails_costs_its_step_and_the_next_hop_is_since_the_last_good_one(
    answer, reason
):
    answers = [*ANSWERS[:2], answer, *ANSWERS[3:]]
    said, problems, model = episode(answers)
    assert [p.valid for p in said] == [True, True, False, True, True, True]
    assert problems[2] == reason
    bad, before = said[2], said[1]
    assert (bad.potential, bad.negative_branch) == (before.potential, before.negative_branch)
    assert (bad.hop_forward, bad.hop_backward, bad.hop_incremental) == (0.0, 0.0, 0.0)
    assert bad.shaping == pytest.approx((0.9 - 1.0) * before.potential)
    assert model.asked[3][1].before.images[0, 0, 0, 0] == 20


def test_a_dropped_frame_costs_its_step_alone():
    frames = [frame(t) for t in range(5)]
    frames[2] = Frame(200)
    said, problems, model = episode(ANSWERS[:4], frames=frames)
    assert [p.valid for p in said] == [True, False, True, True]
    assert problems[1] == reasons.NO_PICTURE
    assert len(model.asked) == 3
    assert model.asked[1][0].between.filled.sum() == 1
    frames[2] = dataclasses.replace(frames[1], stamp_ns=200)
    said, problems, _ = episode(ANSWERS[:4], frames=frames)
    assert [p.valid for p in said] == [True, False, True, True]
    assert problems[1] == reasons.NO_NEW_PICTURE


def test_of_three_views_a_missing_one_is_masked_in_the_frames_that_lack_it():
    everything, two = ('head', 'left_wrist', 'right_wrist'), ('head', 'right_wrist')
    frames = [frame(0, everything), frame(1, two), frame(2, everything)]
    said, _, model = episode(ANSWERS[:2], frames=frames)
    assert all(p.valid for p in said)
    first = model.asked[0][0]
    assert first.before.available.tolist() == [True, True, True]
    assert first.after.available.tolist() == [True, False, True]
    assert (first.after.images[1] == 128).all()
    assert model.asked[1][0].after.available.all()


def test_views_of_another_size_are_scaled():
    frames = [frame(0), frame(1, size=(48, 64)), frame(2, size=(3, 5))]
    said, _, model = episode(ANSWERS[:2], frames=frames)
    assert all(p.valid for p in said)
    assert model.asked[1][0].after.images.shape == (3, 8, 8, 3)


def test_an_episode_whose_start_was_not_seen_has_no_valid_step():
    said, problems, model = episode(ANSWERS[:3], frames=[Frame(0), *[frame(t) for t in (1, 2)]])
    assert [p.valid for p in said] == [False, False]
    assert problems == [reasons.NO_START] * 2
    assert [p.potential for p in said] == [0.0, 0.0]
    assert not model.asked


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def queue(*roles, **options):
    clock = Clock()
    return FrameQueue(roles or ('head', 'left_wrist'), wall=clock, **options), clock


def picture(level=0):
    return np.full((4, 4, 3), level, np.uint8)


def shown(found):
    return [
        (d.is_start, f.stamp_ns, dict(sorted(f.stamps_ns.items())), d.terminated) for d, f in found
    ]


def test_lockstep_frames_are_exact_whole_and_in_order_whatever_comes_first():
    frames, _ = queue(lockstep=True)
    frames.take('head', 100, picture())  # overtook the episode
    frames.begin(100)
    frames.ask(200)
    frames.take('head', 200, picture())
    frames.take('head', 300, picture())
    assert frames.ready() == []
    frames.take('left_wrist', 100, picture())
    assert shown(frames.ready()) == [(True, 100, {'head': 100, 'left_wrist': 100}, False)]
    frames.take('left_wrist', 200, picture())
    frames.ask(300, terminated=True)
    frames.take('left_wrist', 300, picture())
    assert shown(frames.ready()) == [
        (False, 200, {'head': 200, 'left_wrist': 200}, False),
        (False, 300, {'head': 300, 'left_wrist': 300}, True),
    ]


def test_a_lockstep_picture_that_was_lost_is_masked_at_once():
    frames, _ = queue(lockstep=True)
    frames.begin(100)
    frames.ask(200)
    for role in ('head', 'left_wrist'):
        frames.take(role, 100, picture())
    frames.take('head', 200, picture())
    frames.take('left_wrist', 300, picture())
    assert shown(frames.ready())[1] == (False, 200, {'head': 200}, False)


def test_a_camera_that_stays_away_is_waited_for_once_and_taken_again():
    frames, clock = queue(lockstep=True, wait_s=2.0)
    frames.begin(100)
    frames.take('head', 100, picture())
    clock.now = 1.9
    assert frames.ready() == []
    clock.now = 2.1
    assert shown(frames.ready()) == [(True, 100, {'head': 100}, False)]
    assert frames.absent == ('left_wrist',)
    frames.ask(200)
    frames.take('head', 200, picture())
    assert shown(frames.ready()) == [(False, 200, {'head': 200}, False)]
    frames.take('left_wrist', 200, picture())
    assert frames.absent == ()
    frames.ask(300)
    frames.take('head', 300, picture())
    assert frames.ready() == []


def test_without_any_picture_the_start_is_given_up_with_the_first_step():
    frames, clock = queue('head', lockstep=True, wait_s=2.0)
    frames.begin(100)
    clock.now = 50.0
    assert frames.ready() == []
    frames.ask(200)
    clock.now = 53.0
    assert shown(frames.ready()) == [(True, 100, {}, False), (False, 200, {}, False)]


def test_in_real_time_the_newest_pictures_count_and_the_latest_frame_wins():
    frames, clock = queue(lockstep=False, max_age_s=1e-7, wait_s=1.0)
    frames.begin(100)
    for role in ('head', 'left_wrist'):
        frames.take(role, 120, picture())
    assert shown(frames.ready()) == [(True, 100, {'head': 120, 'left_wrist': 120}, False)]
    frames.take('head', 450, picture())
    frames.ask(500)
    assert frames.ready() == []  # 120 is older than 100 ns
    frames.ask(700, terminated=True)
    frames.take('head', 650, picture())
    clock.now = 1.1
    assert shown(frames.ready()) == [(False, 700, {'head': 650}, True)]
    assert frames.replaced == 1


def test_a_rate_asks_for_a_frame_on_each_tick_of_the_bodys_time():
    frames, _ = queue(lockstep=False, period_ns=200, max_age_s=1.0)
    frames.begin(100)
    found = []
    for stamp in range(120, 1000, 60):
        for role in ('head', 'left_wrist'):
            frames.take(role, stamp, picture())
            found += shown(frames.ready())
    assert [f[2] for f in found] == [
        {'head': stamp, 'left_wrist': stamp} for stamp in (120, 240, 420, 600, 840)
    ]
    frames.end()
    frames.take('head', 5000, picture())
    frames.take('left_wrist', 5000, picture())
    assert frames.ready() == []


def test_a_new_episode_forgets_pictures_and_frames_of_the_one_before():
    frames, _ = queue('head', lockstep=True)
    frames.begin(100)
    frames.take('head', 100, picture())
    frames.ask(200)
    frames.begin(300)
    frames.take('head', 200, picture())
    assert frames.ready() == []
    frames.take('head', 300, picture())
    assert shown(frames.ready()) == [(True, 300, {'head': 300}, False)]
    frames.begin(50)  # time went back: another body
    frames.take('head', 50, picture())
    assert shown(frames.ready()) == [(True, 50, {'head': 50}, False)]
