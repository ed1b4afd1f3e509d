"""A checkpoint acts on a body through its twin, and says in one line where it cannot."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch', reason='needs torch: make install')

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import save_policy
from structrl_ros.models.policies.diffusion import DiffusionConfig
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
from structrl_ros.models.policies.registry import make_policy as make_network
from structrl_ros.nodes.policies import LearnedPolicy
from structrl_ros.nodes.policies import ShippedDiffusion
from structrl_ros.nodes.policies import check_policy
from structrl_ros.nodes.policies import make_policy
from structrl_ros.nodes.policies import shipped_checkpoint
from structrl_ros.params.policy import PolicyParameters
from structrl_ros.sim.registry import default_task
from structrl_ros.sim.registry import make_body
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import Proprioception
from structrl_ros.types import Subtask

pytestmark = pytest.mark.torch

NOTHING = Subtask('', '', '', (), 0)
HEAD = """---
trained_by: "structrl train ppo"
measured:
- label: "after"
  successes: 3
  episodes: 4
---
"""


@pytest.fixture
def runner():
    runner = EpisodeRunner(make_body('twin'))
    runner.reset(default_task('twin'), 0, 0)
    return runner


def save(folder, names):
    network = make_network(FlowConfig(feature_names=names, chunk_length=3, hidden=8))
    save_policy(folder, network, HEAD)
    return folder


def test_checkpoint_acts_on_the_features_of_the_twin(tmp_path, runner):
    folder = save(tmp_path / 'policy', make_body('twin').feature_names)
    policy = make_policy(PolicyParameters(policy='checkpoint', checkpoint=str(folder)), 'twin')
    policy.reset(runner.episode)
    first = policy.act(runner.observe(privileged=True), NOTHING, '')
    policy.reset(runner.episode)
    assert first.shape == (3, 7)
    np.testing.assert_array_equal(policy.act(runner.observe(privileged=True), NOTHING, ''), first)
    assert policy.spec.privileged
    assert [dataclasses.astuple(r) for r in policy.spec.measured] == [('after', 3, 4)]
    policy.close()


def test_chunk_continues_from_the_actions_on_their_way(tmp_path, runner):
    folder = save(tmp_path / 'policy', make_body('twin').feature_names)
    policy, ahead = LearnedPolicy(folder, 'twin'), LearnedPolicy(folder, 'twin')
    rows = np.full((2, 7), 0.5, dtype=np.float32)
    now = dataclasses.replace(runner.observe(privileged=True), committed=rows)
    for each in (policy, ahead):
        each.reset(runner.episode)
    continued = policy.act(now, NOTHING, '')
    for row in rows:
        runner.step(row)
    assert policy.spec.continues
    np.testing.assert_array_equal(
        continued, ahead.act(runner.observe(privileged=True), NOTHING, '')
    )


def test_a_policy_of_pictures_needs_no_twin_and_hears_the_subtask(tmp_path, runner):
    config = DiffusionConfig(
        feature_names=PROPRIOCEPTION,
        chunk_length=4,
        hidden=16,
        roles=('head',),
        image_size=(16, 16),
        channels=(8, 16),
    )
    save_policy(tmp_path / 'policy', make_network(config), HEAD)
    policy = LearnedPolicy(tmp_path / 'policy', 'twin')
    assert not policy.spec.privileged and not policy.spec.continues
    assert policy.spec.roles == ('head',)
    seen = runner.observe(('head',))
    said = []
    for phrase in ('open box', 'open box', 'close box'):
        policy.reset(runner.episode)
        said.append(policy.act(seen, Subtask('', phrase, '', (), 0), phrase[::-1]))
    np.testing.assert_array_equal(said[0], said[1])
    assert not np.array_equal(said[0], said[2])
    policy.close()


def test_a_body_without_a_shipped_diffusion_policy_is_told_who_has_one(tmp_path):
    with pytest.raises(CheckpointError, match=r"no diffusion policy .* body 'twin'; shipped for"):
        make_policy(PolicyParameters(policy='diffusion'), 'twin')


def test_checkpoint_of_other_features_is_refused_in_one_line(tmp_path):
    folder = save(tmp_path / 'policy', ('one', 'two'))
    with pytest.raises(CheckpointError, match='features differ: 2 entries, allowed'):
        LearnedPolicy(folder, 'twin')


def test_body_without_a_state_vector_is_refused_in_one_line(tmp_path):
    folder = save(tmp_path / 'policy', ('one', 'two'))
    with pytest.raises(ParameterError, match="body 'kinematic' tells no state vector"):
        LearnedPolicy(folder, 'kinematic')


@pytest.mark.parametrize(
    ('options', 'error', 'text'),
    [
        ({'policy': 'checkpoint'}, ParameterError, 'give its folder'),
        ({'policy': 'checkpoint', 'checkpoint': '/nowhere'}, CheckpointError, '/nowhere'),
        ({'policy': 'remote'}, ParameterError, 'policy_server:=ws'),
    ],
)
def test_what_can_never_work_is_refused_at_once(options, error, text):
    with pytest.raises(error, match=text):
        check_policy(PolicyParameters(**options))


def test_body_without_a_shipped_policy_is_told_which_have_one():
    with pytest.raises(CheckpointError, match="shipped for body 'kinematic'; shipped for: "):
        shipped_checkpoint('kinematic')


@pytest.mark.parametrize(
    ('task', 'name'),
    [
        ('', 'diffusion_libero'),
        ('long/0', 'diffusion_libero'),
        ('long/4', 'diffusion_libero_long_4'),
        ('libero_10/6', 'diffusion_libero_long_6'),
    ],
)
def test_each_task_has_the_diffusion_policy_that_knows_it(task, name):
    assert shipped_checkpoint('libero', 'diffusion', task).name == name


def test_a_task_without_a_diffusion_policy_is_told_which_have_one():
    with pytest.raises(
        CheckpointError, match="task 'long/9'; shipped for: long/0, long/4, long/6"
    ):
        shipped_checkpoint('libero', 'diffusion', 'long/9')


def test_the_diffusion_policy_of_the_episodes_task_acts():
    policy = ShippedDiffusion('libero')
    episode = Episode(0, 1, False, 'libero', 'long/4', 'put the mugs on the plates', 0, 0)
    measured = policy.spec.measured
    policy.reset(episode)
    assert policy.spec.measured != measured
    assert 'task 4' in policy.spec.measured[0].label
    with pytest.raises(CheckpointError, match='no diffusion policy is shipped'):
        policy.reset(dataclasses.replace(episode, task='long/9'))
    policy.close()


def test_the_shipped_diffusion_policies_are_small():
    folder = shipped_checkpoint('libero', 'diffusion')
    files = folder.parent.glob('diffusion_libero*/*')
    assert sum(path.stat().st_size for path in files) < 15e6


def test_the_shipped_diffusion_policy_acts_on_pictures_it_was_trained_for():
    policy = LearnedPolicy(shipped_checkpoint('libero', 'diffusion'), 'libero')
    assert policy.spec.roles == ('head', 'left_wrist')
    assert not policy.spec.privileged
    assert policy.spec.measured[0].episodes >= 30
    arm = Proprioception(
        *(0, (), np.zeros(0), np.zeros(0)),
        ee_pose=np.array([0.46, 0.0, 0.28, 1.0, 0.0, 0.0, 0.0]),
        gripper=np.array([0.04, 0.04]),
    )
    picture = np.full((192, 192, 3), 90, dtype=np.uint8)
    seen = Observation(0, 1, arm, {'head': picture, 'left_wrist': picture})
    rows = policy.act(seen, Subtask('0', 'grasp alphabet soup', 'grasp', (), 0), '')
    assert rows.shape == (8, 7)
    assert np.abs(rows).max() <= 1.0
    assert rows[0, 6] < 0  # the fingers are open before a grasp
    policy.close()
