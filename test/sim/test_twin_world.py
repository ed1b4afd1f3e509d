"""Claims of the kinematic twin: its worlds, its expert, and that a lane is a lane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.ports import Policy
from structrl_ros.ports import StateBody
from structrl_ros.ports import VectorWorld
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.sim.tabletop.experts.expert import expert_moves
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.layout import draw_layout
from structrl_ros.sim.tabletop.task_files import find_task
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.sim.tabletop.view import has_succeeded
from structrl_ros.sim.twin.body import TwinBody
from structrl_ros.sim.twin.dynamics import step
from structrl_ros.sim.twin.settings import TwinSettings
from structrl_ros.sim.twin.state import begin
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.world_types import EpisodeStart

NAMES = sorted(tasks())
NOISY = {'action_noise': 0.2, 'slip': 0.3, 'loss': 0.2, 'calibration_offset': 0.02}


def starts_of(lanes, task=None):
    names = [task] * lanes if task else [NAMES[i % len(NAMES)] for i in range(lanes)]
    return [EpisodeStart(name, 5 + i // 3, i) for i, name in enumerate(names)]


def expert_actions(body):
    return to_body(expert_moves(body.view, body.task))[0]


def rough_actions(lanes, chunks, seed=0, rows=4):
    """Chunks that go down to the table and shut and open the fingers: they knock and grip."""
    random = np.random.default_rng(seed)
    actions = random.uniform(-1, 1, (chunks, lanes, rows, 7)).astype(np.float32)
    actions[..., 2] -= 0.4
    actions[..., 6] = np.where(random.random((chunks, lanes, 1)) < 0.5, -1.0, 1.0)
    return actions


def play(world, starts, actions):
    world.reset(dict(enumerate(starts)))
    active = np.ones(len(starts), bool)
    told = [world.features()]
    for chunk in actions:
        batch = world.run_chunk(chunk, active)
        active &= ~(batch.terminated | batch.truncated)
        told += [world.features(), batch.truth, batch.success, batch.steps, batch.executed]
    return told


def test_world_body_and_expert_stand_behind_their_ports():
    assert isinstance(TwinWorld(2), VectorWorld)
    assert isinstance(make_body('twin'), StateBody)
    assert isinstance(make_expert('twin', chunk_length=4), Policy)


@pytest.mark.parametrize('name', NAMES)
def test_the_expert_succeeds_in_95_of_100_episodes_or_more(name):
    task = find_task(name)
    state = begin(draw_layout(task, [(i, 0) for i in range(100)]))
    done = np.zeros(100, bool)
    for _ in range(task.horizon):
        step(state, task, TwinSettings(), to_body(expert_moves(state.view(task), task)))
        done |= has_succeeded(task, state.truth(task))
    assert done.mean() >= 0.95


@pytest.mark.parametrize('settings', [{}, NOISY])
def test_two_runs_are_equal_to_the_last_bit(settings):
    starts, actions = starts_of(21), rough_actions(21, 12)
    first = play(TwinWorld(21, **settings), starts, actions)
    second = play(TwinWorld(21, **settings), starts, actions)
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize('settings', [{}, NOISY])
def test_what_a_lane_does_does_not_depend_on_the_others(settings):
    starts, actions = starts_of(40), rough_actions(40, 12)
    whole = play(TwinWorld(40, **settings), starts, actions)
    order = np.random.default_rng(1).permutation(40)
    for size in (1, 2, 3, 7, 16, 40):
        rows = order[:size]
        some = play(TwinWorld(size, **settings), [starts[i] for i in rows], actions[:, rows])
        for a, b in zip(some, whole, strict=True):
            assert np.array_equal(a, b[rows])


@pytest.mark.parametrize('settings', [{}, NOISY])
@pytest.mark.parametrize('name', NAMES)
def test_body_equals_a_lane_of_the_world(name, settings):
    starts, actions = starts_of(3, name), rough_actions(3, 15)
    world = TwinWorld(3, **settings)
    world.reset(dict(enumerate(starts)))
    runners = [EpisodeRunner(TwinBody(**settings)) for _ in starts]
    for runner, start in zip(runners, starts, strict=True):
        runner.reset(start.task, start.seed, start.initial_state)
        assert runner.info == world.tasks[0]
    for chunk in actions:
        batch = world.run_chunk(chunk, np.ones(3, bool))
        seen = world.features()
        for lane, runner in enumerate(runners):
            result = runner.run_chunk(chunk[lane])
            size = len(runner.info.predicate_names)
            assert result.predicates.values == tuple(batch.truth[lane, :size].tolist())
            assert result.done.executed_steps == batch.steps[lane]
            assert result.done.success == batch.success[lane]
            assert np.array_equal(runner._body.features(), seen[lane])


def test_body_and_world_end_an_episode_of_the_expert_alike():
    body, world = TwinBody(), TwinWorld(2)
    runner = EpisodeRunner(body)
    start = EpisodeStart('pack_lunch', 3, 4)
    runner.reset(start.task, start.seed, start.initial_state)
    world.reset({1: start})
    active = np.array([False, True])
    while runner.is_running:
        helper = TwinBody()
        helper.reset(start.task, start.seed, start.initial_state)
        helper.set_simulator_state(body.simulator_state())
        chunk = np.empty((5, 7), np.float32)
        for row in chunk:
            row[:] = expert_actions(helper)
            helper.step(row)
        result = runner.run_chunk(chunk)
        batch = world.run_chunk(np.stack([chunk, chunk]), active)
        assert batch.steps.tolist() == [0, result.done.executed_steps]
        assert batch.terminated.tolist() == [False, result.done.terminated]
        assert np.array_equal(batch.executed[1, : batch.steps[1]], result.done.executed)
        assert not batch.executed[1, batch.steps[1] :].any()
    assert result.done.terminated
    assert np.array_equal(world.features()[1], body.features())
    assert not world.features()[0].any()
    with pytest.raises(SimulationError, match='lane 1: no episode runs'):
        world.run_chunk(np.zeros((2, 1, 7), np.float32), active)


def test_the_expert_of_a_world_plays_all_lanes_whatever_they_play():
    world = TwinWorld(len(NAMES) + 1)
    world.reset({i: EpisodeStart(name, 1, i) for i, name in enumerate(NAMES)})
    active = np.arange(len(NAMES) + 1) < len(NAMES)
    success = np.zeros(len(active), bool)
    while active.any():
        batch = world.run_chunk(world.expert_actions()[:, None], active)
        success |= batch.success
        active &= ~(batch.terminated | batch.truncated)
    assert success[: len(NAMES)].all()
    assert not world.expert_actions().any()


def test_an_episode_ends_at_its_horizon():
    world = TwinWorld(1, horizon_steps=10)
    world.reset({0: EpisodeStart('apple_in_bowl', 0, 0)})
    still, active = np.zeros((1, 4, 7), np.float32), np.ones(1, bool)
    assert [int(world.run_chunk(still, active).steps[0]) for _ in range(2)] == [4, 4]
    last = world.run_chunk(still, active)
    assert (last.steps[0], last.truncated[0], last.terminated[0]) == (2, True, False)


def test_a_reset_of_one_lane_leaves_the_others_alone():
    starts, actions = starts_of(4), rough_actions(4, 6)
    one, other = TwinWorld(4), TwinWorld(4)
    for world in (one, other):
        world.reset(dict(enumerate(starts)))
        world.run_chunk(actions[0], np.ones(4, bool))
    one.reset({2: EpisodeStart('drawer_store', 9, 9)})
    others = np.array([0, 1, 3])
    for chunk in actions[1:]:
        a = one.run_chunk(chunk, np.ones(4, bool))
        b = other.run_chunk(chunk, np.ones(4, bool))
        assert np.array_equal(a.truth[others], b.truth[others])
    assert np.array_equal(one.features()[others], other.features()[others])
    assert one.tasks[2].task == 'drawer_store'


@pytest.mark.parametrize('settings', [{}, NOISY])
@pytest.mark.parametrize('name', NAMES)
def test_state_restores_the_future_bit_for_bit(name, settings):
    body, other = TwinBody(**settings), TwinBody(**settings)
    for world in (body, other):
        world.reset(name, 2, 3)
    for _ in range(20):
        body.step(expert_actions(body))
    other.set_simulator_state(body.simulator_state())
    assert np.array_equal(other.features(), body.features())
    for action in rough_actions(1, 30, rows=1)[:, 0, 0]:
        assert body.step(action) == other.step(action)
        assert np.array_equal(body.simulator_state(), other.simulator_state())


def test_the_starts_of_a_group_are_equal_and_others_differ():
    world = TwinWorld(4)
    begun = [EpisodeStart('pack_lunch', 1, 2)] * 2
    begun += [EpisodeStart('pack_lunch', 1, 3), EpisodeStart('pack_lunch', 2, 2)]
    world.reset(dict(enumerate(begun)))
    seen = world.features()
    assert np.array_equal(seen[0], seen[1])
    assert len(np.unique(seen, axis=0)) == 3


def test_a_calibration_offset_moves_what_is_perceived_and_not_what_is():
    plain, shifted = TwinWorld(6), TwinWorld(6, calibration_offset=0.03)
    starts = starts_of(6, 'pack_lunch')
    a, b = play(plain, starts, rough_actions(6, 5)), play(shifted, starts, rough_actions(6, 5))
    far = plain.spec.feature_names.index('object_0_far_x')
    assert np.allclose(b[0][:, far] - a[0][:, far], 0.03 / 0.3, atol=1e-6)
    assert np.allclose(b[0][:, far + 1] - a[0][:, far + 1], -0.021 / 0.3, atol=1e-6)
    for chunk in range(5):
        assert np.array_equal(a[2 + 5 * chunk], b[2 + 5 * chunk])


def test_checkpoints_are_published_after_the_predicates():
    names = ('near(apple_1, 0.05)', 'moved(lunch_box_1, 0.5)', 'open(lunch_box_1)')
    body = TwinBody(checkpoints=names)
    info = body.reset('pack_lunch', 0, 0)
    assert info.predicate_names == (*find_task('pack_lunch').predicate_names, *names[:2])
    seen = np.zeros(len(info.predicate_names), bool)
    for _ in range(info.horizon_steps):
        outcome = body.step(expert_actions(body))
        seen |= outcome.values
        if outcome.success:
            break
    assert outcome.success
    assert seen.all()
    with pytest.raises(ParameterError, match='no predicate or checkpoint'):
        TwinBody(checkpoints=('near(pear_1, 0.05)',)).reset('pack_lunch', 0, 0)


def test_lost_things_end_out_of_reach_and_only_where_that_is_asked_for():
    def farthest(loss):
        task = find_task('two_in_basket')
        layout = draw_layout(task, [(i, 0) for i in range(50)])
        layout.tcp[:] = layout.objects[:, 0] + [0.0, -0.06, 0.0]
        state = begin(layout)
        push = np.tile(np.array([0, 0.3, 0, 0, 0, 0, 1], np.float32), (50, 1))
        for _ in range(6):
            step(state, task, TwinSettings(loss=loss), push)
        return state.objects[:, 0, 1]

    assert (farthest(1.0) > 0.9).mean() > 0.5
    assert farthest(0.0).max() < 0.5


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(NAMES), loss=st.sampled_from([0.0, 0.3]))
def test_nothing_is_ever_inside_the_table_and_what_is_held_follows_the_hand(seed, name, loss):
    task = find_task(name)
    count = len(task.objects)
    state = begin(draw_layout(task, [(seed, i) for i in range(8)]))
    random = np.random.default_rng(seed)
    options = TwinSettings(slip=0.3, action_noise=0.1, loss=loss)
    lowest = np.array([thing.half_height for thing in task.objects])
    for _ in range(60):
        actions = to_body(expert_moves(state.view(task), task))
        wild = random.random(8) < 0.5
        actions[wild] = random.uniform(-1, 1, (int(wild.sum()), 7))
        before = state.take(np.arange(8))
        step(state, task, options, actions)
        assert (state.objects[:, :count, 2] >= lowest - 1e-12).all()
        assert (state.tcp[:, 2] > 0.0).all()
        assert np.isfinite(state.pack(0)).all()
        kept = np.flatnonzero((before.in_hand >= 0) & (state.in_hand == before.in_hand))
        slots = state.in_hand[kept]
        was = before.objects[kept, slots] - before.tcp[kept]
        now = state.objects[kept, slots] - state.tcp[kept]
        assert np.allclose(np.linalg.norm(was, axis=1), np.linalg.norm(now, axis=1), atol=1e-9)


def test_wrong_calls_are_refused():
    world = TwinWorld(2)
    with pytest.raises(SimulationError, match='0 lanes'):
        TwinWorld(0)
    with pytest.raises(SimulationError, match=r'slip is 2\.0; allowed: 0\.0 to 1\.0'):
        TwinWorld(1, slip=2.0)
    with pytest.raises(SimulationError, match='no lane 2; allowed: 0 to 1'):
        world.reset({2: EpisodeStart('pack_lunch', 0, 0)})
    with pytest.raises(SimulationError, match="unknown task 'cook'"):
        world.reset({0: EpisodeStart('pack_lunch', 0, 0), 1: EpisodeStart('cook', 0, 0)})
    assert world.tasks == (None, None)
    with pytest.raises(SimulationError, match='lane 0: no episode runs'):
        world.run_chunk(np.zeros((2, 1, 7), np.float32), np.ones(2, bool))
    world.reset(dict(enumerate(starts_of(2))))
    with pytest.raises(SimulationError, match=r'allowed: \(2, L, 7\)'):
        world.run_chunk(np.zeros((2, 7), np.float32), np.ones(2, bool))
    with pytest.raises(SimulationError, match=r'active has shape \(3,\)'):
        world.run_chunk(np.zeros((2, 1, 7), np.float32), np.ones(3, bool))
    broken = np.zeros((2, 1, 7), np.float32)
    broken[1] = np.nan
    with pytest.raises(SimulationError, match='lane 1 are not finite; nothing was sent'):
        world.run_chunk(broken, np.ones(2, bool))
    assert world.run_chunk(broken, np.array([True, False])).steps.tolist() == [1, 0]
    with pytest.raises(ParameterError, match="body 'twin'"):
        make_body('twin', colour=1)


def test_body_refuses_what_is_no_state_and_no_action():
    body = TwinBody()
    with pytest.raises(SimulationError, match='no scene'):
        body.features()
    body.reset('pack_lunch', 0, 0)
    with pytest.raises(SimulationError, match='7 finite numbers'):
        body.step(np.full(7, np.nan, np.float32))
    with pytest.raises(SimulationError, match='finite numbers'):
        body.set_simulator_state(np.zeros(3))
    with pytest.raises(SimulationError, match='no camera'):
        body.render('right_wrist')
    with pytest.raises(SimulationError, match='image size'):
        TwinBody(image_size=4)


def test_hold_action_keeps_the_hand_and_the_fingers():
    body = TwinBody()
    body.reset('apple_in_bowl', 0, 0)
    body.step(np.array([0.5, 0, 0, 0, 0, 0.2, 1], np.float32))
    assert body.hold_action().tolist() == [0, 0, 0, 0, 0, 0, 1]
    before = body.proprioception(0).ee_pose
    body.step(body.hold_action())
    assert np.array_equal(body.proprioception(0).ee_pose, before)
    assert np.linalg.norm(before[3:]) == pytest.approx(1.0)


def test_pictures_show_the_scene_and_change_with_it():
    body, world = TwinBody(image_size=64), TwinWorld(2, image_size=64)
    body.reset('pack_lunch', 0, 0)
    world.reset({1: EpisodeStart('pack_lunch', 0, 0)})
    for role in body.spec.roles:
        picture = body.render(role)
        assert picture.shape == (64, 64, 3)
        assert picture.dtype == np.uint8
        assert np.array_equal(world.images(role)[1], picture)
        assert not world.images(role)[0].any()
    before = body.render('head')
    body.step(np.array([1, 1, 0, 0, 0, 0, 1], np.float32))
    assert not np.array_equal(body.render('head'), before)
