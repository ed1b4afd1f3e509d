"""Imitation: windows, averaged weights, perturbed demonstrations and turns, on the real twin."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from drawn_rollouts import small_flow

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.policies.action_map import action_map
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.training.average import AveragedPolicy
from structrl_ros.training.body_worlds import make_demonstrator
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collector import check_fit
from structrl_ros.training.demonstrating import DEMONSTRATION
from structrl_ros.training.demonstrating import EXPERT_CHUNKS
from structrl_ros.training.demonstrating import POLICY_CHUNKS
from structrl_ros.training.demonstrating import WorldDemonstrator
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.demonstrations import join_demonstrations
from structrl_ros.training.demonstrations import load_demonstrations
from structrl_ros.training.demonstrations import save_demonstrations
from structrl_ros.training.evaluate import evaluate_policy
from structrl_ros.training.settings import SftSettings
from structrl_ros.training.sft import Imitation
from structrl_ros.training.sft import train_sft
from structrl_ros.training.starts import practice_starts

pytestmark = pytest.mark.torch

TASK = 'apple_in_bowl'
TABLETOP = action_map('tabletop')


def demonstrate(episodes, *, lanes=8, perturbed=0.0, seed=0):
    demonstrator = WorldDemonstrator(TwinWorld(lanes), (TASK,))
    return demonstrator.demonstrate(
        episodes, TABLETOP, seed=seed, perturbed=perturbed, deviation=0.3
    )


def some(lengths, by_expert=None):
    steps = sum(lengths)
    return Demonstrations(
        features=np.arange(steps, dtype=np.float32)[:, None],
        actions=np.zeros((steps, 7), dtype=np.float32),
        by_expert=np.ones(steps, dtype=bool) if by_expert is None else np.array(by_expert),
        lengths=np.array(lengths),
        success=np.ones(len(lengths), dtype=bool),
        tasks=('task',) * len(lengths),
        instructions=('do it',) * len(lengths),
        feature_names=('number',),
    )


def assert_equal(one, two):
    for field in dataclasses.fields(one):
        first, second = getattr(one, field.name), getattr(two, field.name)
        assert np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second


def test_windows_end_with_their_episode():
    starts, valid = some([3, 2]).windows(3)
    assert starts.tolist() == [0, 1, 2, 3, 4]
    assert valid.sum(axis=1).tolist() == [3, 2, 1, 2, 1]


def test_a_window_begins_where_the_expert_is_at_the_wheel_up_to_its_last_row():
    # The last label of a window is good wherever the expert did not act any more.
    by_expert = [True, True, False, True, True, True, False]
    starts, _ = some([7], by_expert).windows(3)
    assert starts.tolist() == [0, 3, 4]  # of 5 and 6 the policy acts before the last label
    starts, _ = some([7], by_expert).windows(1)
    assert starts.tolist() == list(range(7))


def test_demonstrations_that_do_not_fit_together_are_refused():
    whole = some([2, 1])
    with pytest.raises(ParameterError, match='actions has 2 entries, not 3'):
        dataclasses.replace(whole, actions=whole.actions[:2])
    broken = whole.actions.copy()
    broken[1, 3] = np.nan
    with pytest.raises(ParameterError, match='actions hold a number that is not finite'):
        dataclasses.replace(whole, actions=broken)
    other = dataclasses.replace(whole, feature_names=('other',))
    with pytest.raises(ParameterError, match='the parts have other features'):
        join_demonstrations([whole, other])


def test_a_file_of_demonstrations_comes_back_as_it_was(tmp_path):
    made = demonstrate(4)
    path = tmp_path / 'demonstrations.safetensors'
    save_demonstrations(path, made)
    assert_equal(load_demonstrations(path), made)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match='is cut or no safetensors file'):
        load_demonstrations(path)


def test_the_lanes_change_no_demonstration():
    one, two = demonstrate(6, lanes=2, perturbed=0.5), demonstrate(6, lanes=8, perturbed=0.5)
    assert_equal(one, two)


def test_perturbed_steps_leave_the_way_and_are_labelled_cleanly():
    clean, pushed = demonstrate(8), demonstrate(8, perturbed=1.0)
    assert clean.success.all()
    same = min(clean.lengths[0], pushed.lengths[0])
    assert np.array_equal(clean.features[0], pushed.features[0])
    assert np.array_equal(clean.actions[0], pushed.actions[0])
    assert not np.array_equal(clean.features[:same], pushed.features[:same])
    assert pushed.lengths.mean() > clean.lengths.mean()
    assert pushed.by_expert.all()


@pytest.mark.sim
def test_perturbed_episodes_in_mujoco_succeed_and_carry_what_the_expert_would_do():
    pytest.importorskip('mujoco')
    demonstrator = make_demonstrator('tabletop', ('peg_insertion',))
    made = demonstrator.demonstrate(4, TABLETOP, seed=3, perturbed=1.0, deviation=0.2)
    demonstrator.close()
    assert made.episodes >= 3
    assert made.by_expert.all()
    (start, *_) = practice_starts(('peg_insertion',), 4, seed=3, iteration=DEMONSTRATION)
    body = make_body('tabletop')
    body.reset(start.task, start.seed, start.initial_state)
    np.testing.assert_array_equal(made.features[0], body.features())
    np.testing.assert_array_equal(made.actions[0], body.expert_action())
    body.close()


def test_in_a_dagger_round_policy_and_expert_take_turns_of_the_lengths_said():
    config = FlowConfig(feature_names=TwinWorld(1).spec.feature_names, chunk_length=4, hidden=8)
    demonstrator = WorldDemonstrator(TwinWorld(8), (TASK,))
    made = demonstrator.interleave(make_policy(config).eval(), 8, seed=0)
    assert made.episodes == 8
    assert not made.success.all()
    firsts = set()
    for first, length in zip(np.cumsum(made.lengths) - made.lengths, made.lengths, strict=True):
        mine = made.by_expert[first : first + length]
        edges = np.flatnonzero(np.diff(mine.astype(int))) + 1
        spans = np.diff([0, *edges])  # the last turn is cut by the end
        firsts.add(bool(mine[0]))
        for span, is_expert in zip(spans, mine[np.array([0, *edges])], strict=False):
            shortest, longest = EXPERT_CHUNKS if is_expert else POLICY_CHUNKS
            assert shortest * 4 <= span <= longest * 4
    assert firsts == {True, False}


def test_the_average_follows_the_weights_slowly():
    policy = small_flow()
    average = AveragedPolicy(policy, 0.9)
    weight, mean = next(policy.parameters()), next(average.policy.parameters())
    before = mean.detach().clone()
    with torch.no_grad():
        weight.add_(1.0)
    average.update(0)
    assert torch.allclose(mean, before + 0.9)  # the first decay is 1 / 10
    average.update(1000)
    assert torch.allclose(mean, before + 0.9 + 0.1 * 0.1)
    assert not mean.requires_grad


def test_imitation_learns_a_task_and_gives_back_the_averaged_weights():
    made = demonstrate(40, lanes=40, perturbed=0.5)
    torch.manual_seed(0)
    config = FlowConfig(feature_names=made.feature_names, chunk_length=5, hidden=64)
    policy = make_policy(config)
    settings = SftSettings(tasks=(TASK,), updates=400, checkpoint_every=200, batch=128)
    trained, metrics = train_sft(policy, settings, Imitation(demonstrations=made))
    assert trained is policy
    assert metrics[1]['sft/loss'] < 0.6 * metrics[0]['sft/loss']
    assert not torch.equal(policy.normaliser.mean, torch.zeros(len(made.feature_names)))
    found = evaluate_policy(policy, lambda: TwinWorld(32), (TASK,), episodes=32, seed=3)
    grasped = found.tasks[0].subtasks['grasp(apple_1)']
    assert grasped.value >= 0.5
    again = evaluate_policy(policy, lambda: TwinWorld(8), (TASK,), episodes=32, seed=3)
    assert again == found


def test_an_expert_that_follows_a_plan_cannot_be_pushed_off_it():
    demonstrator = make_demonstrator('libero', ('long/0',))
    with pytest.raises(ParameterError, match='perturbed: the expert of libero follows a plan'):
        demonstrator.demonstrate(1, TABLETOP, seed=0, perturbed=0.5, deviation=0.1)
    with pytest.raises(ParameterError, match='dagger_rounds'):
        demonstrator.interleave(small_flow(), 1, seed=0)


def test_without_demonstrations_and_expert_there_is_one_clear_line():
    with pytest.raises(ParameterError, match='no demonstrations, and no expert'):
        train_sft(small_flow(), SftSettings(tasks=(TASK,)), Imitation())


def test_a_number_that_is_not_finite_names_the_update():
    policy = small_flow()
    with torch.no_grad():
        next(policy.parameters()).fill_(float('nan'))
    made = some([40])
    made = dataclasses.replace(
        made, features=np.tile(made.features, (1, 3)), feature_names=policy.config.feature_names
    )
    settings = SftSettings(tasks=(TASK,), updates=5, batch=4)
    with pytest.raises(TrainingError, match=r'after update 0: .*not finite'):
        train_sft(policy, settings, Imitation(demonstrations=made))


def test_a_policy_of_another_body_is_refused_in_one_line():
    spec = TwinWorld(1).spec
    with pytest.raises(CheckpointError, match='sees 3 features; twin has') as caught:
        check_fit(small_flow(), spec)
    assert '\n' not in str(caught.value)
    shuffled = FlowConfig(feature_names=tuple(reversed(spec.feature_names)), chunk_length=2)
    with pytest.raises(CheckpointError, match=r'entry 0 is .* made for another body'):
        check_fit(make_policy(shuffled), spec)
    joints = dataclasses.replace(spec, body=dataclasses.replace(spec.body, action_space='joints'))
    fitting = make_policy(FlowConfig(feature_names=spec.feature_names, chunk_length=2))
    with pytest.raises(CheckpointError, match="acts in 'ee_delta_pose'; twin takes 'joints'"):
        check_fit(fitting, joints)


def test_a_policy_that_sees_some_features_only_learns_and_plays_with_those():
    names = ('opening', 'tcp_x', 'tcp_z')
    world = TwinWorld(4)
    columns = [world.spec.feature_names.index(name) for name in names]
    whole = demonstrate(2)
    seen = make_demonstrator('twin', (TASK,), feature_names=names).demonstrate(
        2, TABLETOP, seed=0, perturbed=0.0, deviation=0.3
    )
    assert seen.feature_names == names
    assert np.array_equal(seen.features, whole.features[:, columns])
    policy = make_policy(FlowConfig(feature_names=names, chunk_length=5, hidden=8))
    make_world = world_maker('twin', environments=4, feature_names=names)
    found = evaluate_policy(policy, make_world, (TASK,), episodes=2, seed=0)
    assert found.success.n == 2
    with pytest.raises(CheckpointError, match='sees 3 features; twin has'):
        evaluate_policy(policy, lambda: world, (TASK,), episodes=2, seed=0)
