"""grm_node beside a simulated body in lock-step: what it publishes, and the same from its bag."""

import dataclasses
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
torch = pytest.importorskip('torch')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import ExternalShutdownException  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from structrl_ros.errors import CheckpointError  # noqa: E402
from structrl_ros.errors import MessageError  # noqa: E402
from structrl_ros.models.grm.checkpoint import save_grm  # noqa: E402
from structrl_ros.models.grm.config import GrmConfig  # noqa: E402
from structrl_ros.models.grm.network import GrmNetwork  # noqa: E402
from structrl_ros.nodes.grm_models import open_again  # noqa: E402
from structrl_ros.nodes.grm_models import open_model  # noqa: E402
from structrl_ros.nodes.grm_node import GrmNode  # noqa: E402
from structrl_ros.nodes.recorder_node import RecorderNode  # noqa: E402
from structrl_ros.recording.progress_again import compare_hops  # noqa: E402
from structrl_ros.recording.progress_check import compare_progress  # noqa: E402
from structrl_ros.recording.run_events import read_events  # noqa: E402
from structrl_ros.types import Progress  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.reward_codecs import progress_from_message  # noqa: E402
from structrl_ros.wire.reward_codecs import progress_to_message  # noqa: E402
from structrl_ros.wire.task_codecs import health_from_message  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.torch]

SOUP = 'kinematic/soup_in_basket'
CONFIG = GrmConfig(view_px=32, cell_px=16, grid=2, width=32, heads=2, layers=1)
ALSO = {
    topics.PROGRESS: progress_from_message,
    topics.DIAGNOSTICS: lambda message: health_from_message(message)[0],
}
LIMIT = 60.0


class Local:
    """Nodes in this process, in a context and a thread of their own."""

    def __init__(self, number):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=number)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.nodes = []
        self.is_over = False
        self.thread = threading.Thread(target=self._spin, daemon=True)

    def add(self, kind, *, maker=None, **parameters):
        values = {'use_sim_time': True, **parameters}
        overrides = [Parameter(k, value=v) for k, v in values.items()]
        options = {} if maker is None else {'opener': maker}
        node = kind(context=self.context, parameter_overrides=overrides, **options)
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def _spin(self):
        while not self.is_over:
            try:
                self.executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                return

    def close(self):
        """Stop to spin first, as `run_node` does: a recorder must not write while it closes."""
        self.is_over = True
        if self.thread.is_alive():
            self.thread.join(LIMIT)
        for node in self.nodes:
            node.close()
        self.context.try_shutdown()
        self.executor.shutdown()


class Slow:
    """A progress model that thinks for as long as its gate is closed."""

    name = 'slow'

    def __init__(self, model, gate):
        self.model, self.gate = model, gate

    def hops(self, contexts):
        assert self.gate.wait(LIMIT)
        return self.model.hops(contexts)


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp('model') / 'grm'
    save_grm(folder, GrmNetwork(CONFIG), '# random weights')
    return folder


@pytest.fixture(scope='module')
def run(model, tmp_path_factory):
    """Play two short episodes, recorded; the model is held up in the first chunks."""
    number, bag = domain(30), tmp_path_factory.mktemp('run') / 'bag'
    gate = threading.Event()

    def held_up(parameters):
        opened = open_model(parameters)
        make = opened.online.make
        online = dataclasses.replace(opened.online, make=lambda s: Slow(make(s), gate))
        return dataclasses.replace(opened, online=online)

    size = {'image_size': 48, 'lockstep': True}
    process = start_node('sim_node', number, body='kinematic', task=SOUP, **size)
    local, client = Local(number), Client(number, also=ALSO)
    try:
        roles = ['head', 'left_wrist']
        local.add(RecorderNode, directory=str(bag), images='all')
        grm = {'model': str(model), 'roles': roles, 'wait_s': 60.0}
        local.add(GrmNode, maker=held_up, lockstep=True, **grm)
        local.thread.start()
        client.ready()
        play(client, gate, local)
        answers = {'heard': client.all(Progress), 'told': client.all(tuple)}
    finally:
        gate.set()
        local.close()
        client.close()
        status, log = end_node(process)
        assert status == 0, log
    return answers, bag


@pytest.fixture(scope='module')
def events(run):
    return read_events(run[1])


def play(client, gate, local):
    """Run three chunks while the model thinks, then two in another episode."""
    client.wait(lambda: client.node.count_publishers(topics.PROGRESS), 'grm_node', LIMIT)
    pictures = topics.image_topic('head')
    client.wait(lambda: client.node.count_subscribers(pictures) >= 2, 'two readers', LIMIT)
    driver = local.nodes[1]._driver
    client.wait(lambda: driver.health()[1]['start'] == 'seen', 'the start frame', LIMIT)
    for chunk in (1, 2, 3):
        client.run(chunk)
    assert not client.all(Progress)
    asker = client.node.create_client(GetParameters, '/grm_node/get_parameters')
    assert asker.wait_for_service(LIMIT)
    answer = client.call(asker, GetParameters.Request(names=['roles']))
    assert list(answer.values[0].string_array_value) == ['head', 'left_wrist']
    gate.set()
    client.wait(lambda: len(client.all(Progress)) >= 3, 'three answers', LIMIT)
    assert client.reset(SOUP, seed=1).accepted
    for chunk in (1, 2):
        client.run(chunk)
    client.wait(lambda: len(client.all(Progress)) >= 5, 'five answers', LIMIT)
    client.wait(
        lambda: any(t[0] == 'grm_node: model' and t[3]['asked'] == '5' for t in client.all(tuple)),
        'a report',
        LIMIT,
    )


def test_every_chunk_has_its_progress_though_the_model_was_slow(run):
    heard = run[0]['heard']
    first = heard[0].episode
    assert [(p.episode, p.step) for p in heard] == [
        (first, 1),
        (first, 2),
        (first, 3),
        (first + 1, 1),
        (first + 1, 2),
    ]
    assert all(p.valid and np.isnan(p.hop_backward) for p in heard)
    assert all(p.stamp_ns % 50_000_000 == 0 for p in heard)
    assert len({p.potential for p in heard}) == 5


def test_health_tells_latency_rate_model_and_that_there_is_no_goal(run):
    values = [t[3] for t in run[0]['told'] if t[0] == 'grm_node: model'][-1]
    assert float(values['latency_s']) >= 0.0
    assert {'rate_hz', 'dropped', 'failed', 'waiting'} <= set(values)
    assert values['goal'] == 'none: the backward term is left out'
    assert values['instruction'] == 'put the alphabet soup in the basket'


def test_recording_gives_the_same_progress_to_the_last_bit(run, events):
    heard, bag = run[0]['heard'], run[1]
    assert repr(events.of(Progress)) == repr(heard)
    found = compare_hops(bag, events, open_again)
    assert (found.compared, found.difference, found.why) == (5, '', '')
    assert compare_progress(events).difference == ''


def test_a_recording_that_was_spoiled_shows_where(run, events):
    spoiled = dataclasses.replace(events, arrivals=list(events.arrivals))
    for i, arrival in enumerate(events.arrivals):
        if isinstance(arrival.value, Progress) and arrival.value.step == 2:
            other = arrival.value.hop_forward + 2.0**-40
            value = dataclasses.replace(arrival.value, hop_forward=other)
            spoiled.arrivals[i] = arrival._replace(value=value)
            break
    found = compare_hops(run[1], spoiled, open_again)
    assert 'step 2, hop_forward: recorded' in found.difference


def test_a_recording_whose_model_is_gone_is_told_and_is_no_difference(run, events):
    def gone(ran_with):
        raise CheckpointError(f'no {ran_with.model}')

    found = compare_hops(run[1], events, gone)
    assert (found.compared, found.skipped, found.difference) == (0, 5, '')
    assert 'whose model cannot be had (no ' in found.why
    nothing = dataclasses.replace(events, diagnostics=[])
    found = compare_hops(run[1], nothing, open_again)
    assert (found.compared, found.why) == (0, '5 of which nothing was told')


def test_nan_is_taken_of_the_backward_hop_alone(run):
    heard = run[0]['heard'][0]
    assert np.isnan(progress_from_message(progress_to_message(heard)).hop_backward)
    for field in ('hop_forward', 'hop_incremental', 'potential'):
        with pytest.raises(MessageError, match=f'Progress.{field} is nan'):
            progress_to_message(dataclasses.replace(heard, **{field: np.nan}))


def test_a_model_that_cannot_be_had_leaves_the_node_unconfigured(tmp_path):
    local = Local(domain(30))
    try:
        node = local.add(GrmNode, model=str(tmp_path / 'none'))
        assert node._state_machine.current_state[1] == 'unconfigured'
        node._report()
    finally:
        local.close()
