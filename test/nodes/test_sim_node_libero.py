"""Claims of sim_node with LIBERO as its body: one process, one scene, pictures on demand."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('libero')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import RIGHT  # noqa: E402
from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402

from structrl_ros.control.action_limiter import ActionLimiter  # noqa: E402
from structrl_ros.control.episode_runner import EpisodeRunner  # noqa: E402
from structrl_ros.control.limits import Limits  # noqa: E402
from structrl_ros.sim.libero.body import LiberoBody  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Safety  # noqa: E402
from structrl_ros.types import SimulatorState  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.image_codecs import image_from_message  # noqa: E402
from structrl_ros.wire.qos import message_type  # noqa: E402
from structrl_ros.wire.qos import recorder_qos  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.sim]

TASK = 'goal/8'


@pytest.fixture(scope='module')
def body():
    number = domain(20)
    process = start_node(
        'sim_node', number, body='libero', task=TASK, lockstep=True, image_size=64
    )
    client = Client(number)
    try:
        client.wait(lambda: client.all(Episode), 'the scene', 180.0)
        client.ready()
        yield client
    finally:
        client.close()
        status, log = end_node(process)
        assert status == 0, log


def test_lockstep_through_topics_equals_the_rollout_in_process(body):
    rng = np.random.default_rng(1)
    chunks = [rng.uniform(-1, 1, (8, 7)).astype(np.float32) for _ in range(3)]
    body.reset(TASK, 2, 5)
    executed = [body.run(k, c).executed for k, c in enumerate(chunks, 1)]
    world = LiberoBody()
    runner = EpisodeRunner(world, limiter=ActionLimiter(Limits(), period_s=0.05))
    runner.reset(TASK, 2, 5)
    for chunk, sent in zip(chunks, executed, strict=True):
        assert np.array_equal(runner.run_chunk(chunk).done.executed, sent)
        assert np.array_equal(chunk, sent)
    assert np.array_equal(body.last(SimulatorState).state, runner.simulator_state().state)
    world.close()


def test_reset_in_the_middle_of_a_chunk_closes_the_part_that_ran(body):
    assert body.reset().accepted
    old = body.episode.episode
    said = len(body.all(Safety))
    body.send(1, np.tile(RIGHT, (36, 1)))
    body.wait(lambda: len(body.all(Safety)) > said, 'the start of the chunk')
    assert body.reset().accepted
    (done,) = [d for d in body.all(ChunkDone) if d.episode == old]
    (end,) = [e for e in body.all(Episode) if e.episode == old and e.ended]
    assert 0 < len(done.executed) == done.executed_steps < 288
    assert (done.truncated, done.terminated) == (True, False)
    assert end.end_reason == 'reset'
    assert done.stamp_ns < body.episode.stamp_ns
    assert body.run(1, RIGHT).chunk == 1


def test_pictures_come_once_a_chunk_and_only_to_subscribers(body):
    images, infos = [], []
    assert body.reset().accepted
    body.run(1)
    for topic, kept in (
        (topics.image_topic('head'), images),
        (topics.camera_info_topic('head'), infos),
    ):
        body.node.create_subscription(message_type(topic), topic, kept.append, recorder_qos(topic))
    body.wait(lambda: images, 'the picture of the standing world, for a late subscriber', 60.0)
    time.sleep(1.5)
    before = len(images)
    done = body.run(2, RIGHT)
    body.wait(lambda: len(images) > before, 'the picture after the chunk')
    time.sleep(0.3)
    assert len(images) == before + 1
    stamp_ns, image = image_from_message(images[-1])
    assert stamp_ns == done.stamp_ns
    assert image.shape == (64, 64, 3)
    assert image.std() > 10
    assert infos[-1].width == 64
    assert infos[-1].k[0] == pytest.approx(32 / np.tan(np.deg2rad(45) / 2), rel=0.01)
