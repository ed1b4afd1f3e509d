"""Claims of rollouts on a Ray cluster of two workers on this machine."""

import functools
import os
import socket
import sys

import pytest

pytest.importorskip('torch')
pytest.importorskip('ray')

import torch
from rollout_equality import assert_equal

from structrl_ros.errors import PolicyError
from structrl_ros.errors import SimulationError
from structrl_ros.models.policies.flow import FlowConfig
from structrl_ros.models.policies.registry import make_policy
from structrl_ros.training import ray_cluster
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collecting import RolloutSource
from structrl_ros.training.collecting import collect
from structrl_ros.training.ray_rollouts import RayWorkers
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

STARTS = tuple(EpisodeStart('pack_lunch', 100 + i, i) for i in range(11))
MAKE = world_maker('twin', environments=3, options={'horizon_steps': 24})


def flow_policy(seed=0):
    torch.manual_seed(seed)
    return make_policy(FlowConfig(feature_names=MAKE().spec.feature_names, chunk_length=5))


def play(world, policy, starts=STARTS, **options):
    words = {'seed': 5, 'iteration': 2, 'explore': True, 'batch': 4, **options}
    return collect(policy, world, starts, **words)


@pytest.fixture(scope='module')
def cluster():
    ray = ray_cluster._import_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level='error')
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_actor_and_two_play_the_episodes_of_this_process_to_the_last_bit(cluster):
    policy, newer, here = flow_policy(), flow_policy(1), MAKE()
    for actors in (1, 2):
        with RayWorkers(MAKE, address='local', actors=actors) as workers:
            assert isinstance(workers, RolloutSource)
            assert workers.spec == here.spec
            assert_equal(play(workers, policy), play(here, policy))
            assert_equal(play(workers, newer, iteration=3), play(here, newer, iteration=3))
            told = play(workers, policy, explore=False).cpu
            assert told.physics > 0.0
            assert told.network > 0.0
    assert cluster.is_initialized()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_goes_wrong_on_an_actor_is_one_line_here(cluster):
    policy = flow_policy()
    with RayWorkers(MAKE, address='local', actors=2) as workers:
        with pytest.raises(SimulationError, match=r"^unknown task 'no/such'[^\n]*$"):
            play(workers, policy, [EpisodeStart('no/such', 0, 0)])
        with torch.no_grad():
            policy.head.out.bias[3] = torch.nan
        with pytest.raises(PolicyError, match=r'^lane \d, episode \d: actions of the flow[^\n]*$'):
            play(workers, policy)
        assert play(workers, flow_policy()).valid.any()
    with pytest.raises(SimulationError, match=r'^a Ray actor died: [^\n]*$'):
        RayWorkers(functools.partial(os._exit, 3), address='local', actors=1)
    with pytest.raises(SimulationError, match='3 actors on a Ray cluster of 2 CPUs; allowed: one'):
        RayWorkers(MAKE, address='local', actors=3)
    assert cluster.is_initialized()


def test_an_address_where_nothing_answers_is_one_line():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        address = f'127.0.0.1:{taken.getsockname()[1]}'
        with pytest.raises(SimulationError, match=rf"^no Ray cluster at '{address}': .*refused$"):
            RayWorkers(MAKE, address=address)
    with pytest.raises(SimulationError, match="Ray address 'nowhere'; allowed: local, auto, host"):
        RayWorkers(MAKE, address='nowhere')


def test_without_ray_the_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ray', None)
    with pytest.raises(SimulationError, match='Ray is not installed; pip install -r requirements'):
        RayWorkers(MAKE, address='local')
