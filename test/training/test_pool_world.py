"""Claims of worlds in a pool of processes: same episodes, deaths are seen, nothing is left."""

import functools
import multiprocessing
import multiprocessing.connection
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('torch')

from kinematic_state_body import FEATURE_NAMES
from kinematic_state_body import DyingBody
from kinematic_state_body import KinematicStateBody
from rollout_equality import assert_equal
from scripted_chunk_policy import ScriptedPolicy

from structrl_ros.errors import SimulationError
from structrl_ros.ports import VectorWorld
from structrl_ros.sim.registry import make_body
from structrl_ros.training.collecting import collect
from structrl_ros.training.lanes import LaneWorld
from structrl_ros.training.pool_world import PoolWorld
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

TASKS = ('kinematic/two_in_basket', 'kinematic/soup_in_basket')
STARTS = tuple(EpisodeStart(TASKS[i % 2], 100 + i, i) for i in range(7))
MAKE = functools.partial(KinematicStateBody, horizon_steps=60, image_size=16)
STILL = np.zeros((3, 4, 7), np.float32)
ALL = np.ones(3, dtype=bool)


def play(world, **options):
    policy = ScriptedPolicy(FEATURE_NAMES, roles=options.pop('roles', ()))
    words = {'seed': 5, 'iteration': 2, 'explore': True, 'batch': 4, **options}
    return collect(policy, world, STARTS, **words)


def blocks(pid=None):
    return list(Path('/dev/shm').glob(f'structrl_{pid or os.getpid()}_*'))


def processes():
    return [child.pid for child in multiprocessing.active_children()]


@pytest.fixture(scope='module')
def pool():
    with PoolWorld(MAKE, lanes=3, workers=2) as world:
        yield world
        assert blocks()
    assert not blocks()
    assert not processes()


@pytest.fixture
def strangers():
    """Return the processes that were there before: the module's pool has a 'world 0', too."""
    return processes()


@pytest.fixture
def dying(strangers):
    with PoolWorld(functools.partial(DyingBody, last_step=6), lanes=3, workers=2) as world:
        world.reset(dict(enumerate(STARTS[:3])))
        yield world


def test_a_pool_plays_the_episodes_of_one_process_to_the_last_bit(pool):
    assert isinstance(pool, VectorWorld)
    alone = LaneWorld([MAKE() for _ in range(2)])
    assert pool.spec.feature_names == alone.spec.feature_names
    one, other = play(pool), play(alone)
    assert one.success.any()
    assert_equal(one, other)


def test_pictures_of_a_pool_are_those_of_one_process(pool):
    one = play(pool, roles=('head', 'left_wrist'), kept_roles=('head', 'left_wrist'))
    alone = LaneWorld([MAKE() for _ in range(2)])
    assert_equal(one, play(alone, roles=('head', 'left_wrist'), kept_roles=('head', 'left_wrist')))
    assert one.images['head'].any()


def test_cpu_time_of_the_workers_is_told(pool):
    cpu = play(pool).cpu
    assert 0.0 < cpu.physics < cpu.total
    told = pool.cpu_seconds()
    assert 0.0 < told.bodies < told.elsewhere < 30.0


def test_errors_of_a_worker_are_one_line_and_the_pool_goes_on(pool):
    with pytest.raises(SimulationError, match=r"^unknown task 'no/such'; known: [^\n]*$"):
        pool.reset({2: EpisodeStart('no/such', 0, 0)})
    with pytest.raises(SimulationError, match='no lane 3; allowed: 0 to 2'):
        pool.reset({3: STARTS[0]})
    pool.reset(dict(enumerate(STARTS[:3])))
    with pytest.raises(SimulationError, match="no camera 'right_wrist'"):
        pool.images('right_wrist')
    spoiled = STILL.copy()
    spoiled[1] = np.nan
    with pytest.raises(SimulationError, match='lane 1 are not finite'):
        pool.run_chunk(spoiled, ALL)
    with pytest.raises(SimulationError, match='chunk of 300 rows; allowed: at most 256'):
        pool.run_chunk(np.zeros((3, 300, 7), np.float32), ALL)
    for _ in range(15):
        last = pool.run_chunk(STILL, ALL)
    assert last.truncated.all()
    with pytest.raises(SimulationError, match='lane 2: no episode runs'):
        pool.run_chunk(STILL, np.array([False, False, True]))


def test_a_worker_killed_in_a_chunk_is_named_and_restart_brings_it_back(dying):
    features = dying.features()
    dying.run_chunk(STILL, ALL)
    began = time.monotonic()
    line = r'worker 1 with lanes 1 to 2 died \(exit code -9, SIGKILL\); restart\(\) brings'
    with pytest.raises(SimulationError, match=line) as caught:
        dying.run_chunk(STILL, np.array([False, True, False]))
    assert time.monotonic() - began < 5.0
    assert '\n' not in str(caught.value)
    assert dying.restart() == (1, 2)
    assert dying.tasks[0] is not None
    assert dying.tasks[1:] == (None, None)
    assert not dying.features()[1:].any()
    dying.reset(dict(enumerate(STARTS[1:3], start=1)))
    assert np.array_equal(dying.features()[1:], features[1:])
    dying.run_chunk(STILL, np.array([False, True, True]))
    assert len(processes()) >= 2
    assert dying.restart() == ()


def test_a_worker_killed_between_chunks_is_seen_at_the_next_one_and_leaves_no_zombie(
    dying, strangers
):
    mine = [c for c in multiprocessing.active_children() if c.pid not in strangers]
    (victim,) = [child for child in mine if child.name == 'world 0']
    os.kill(victim.pid, signal.SIGKILL)
    multiprocessing.connection.wait([victim.sentinel], timeout=30.0)
    with pytest.raises(SimulationError, match=r'worker 0 with lane 0 died \(exit code -9'):
        dying.run_chunk(STILL, ALL)
    assert not Path(f'/proc/{victim.pid}').exists()
    with pytest.raises(SimulationError, match='worker 0'):
        dying.reset({0: STARTS[0]})
    assert dying.restart() == (0,)
    dying.reset({0: STARTS[0]})
    assert dying.run_chunk(STILL, np.array([True, False, False])).steps.tolist() == [4, 0, 0]


def test_what_cannot_be_made_is_one_line_and_leaves_nothing():
    before, children = blocks(), processes()
    with pytest.raises(SimulationError, match=r'^image size 5 px; allowed: 16 to 1024$'):
        PoolWorld(functools.partial(KinematicStateBody, image_size=5), lanes=2, workers=2)
    with pytest.raises(SimulationError, match="unknown body 'nothing'"):
        PoolWorld(functools.partial(make_body, 'nothing'), lanes=1, workers=1)
    with pytest.raises(SimulationError, match='0 lanes on 2 workers'):
        PoolWorld(MAKE, lanes=0, workers=2)
    assert blocks() == before
    assert sorted(processes()) == sorted(children)


ORPHANS = """
import functools, multiprocessing, os, signal, sys
sys.path[:0] = {path!r}
from kinematic_state_body import KinematicStateBody
from structrl_ros.training.pool_world import PoolWorld
if __name__ == '__main__':
    world = PoolWorld(KinematicStateBody, lanes=2, workers=2)
    print(os.getpid(), *[c.pid for c in multiprocessing.active_children()], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_trainer_leaves_neither_workers_nor_memory(tmp_path):
    script = tmp_path / 'trainer.py'
    script.write_text(ORPHANS.format(path=[str(Path(__file__).parents[1] / 'fakes')]))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    trainer, *pids = done.stdout.split()
    workers = [Path('/proc', pid) for pid in pids]
    assert len(workers) == 2
    end = time.monotonic() + 10.0
    while any(map(Path.exists, workers)) or blocks(trainer):
        assert time.monotonic() < end, (workers, blocks(trainer))
        time.sleep(0.05)
