"""Claims of rollouts through topics: the same episodes, the same rewards, clear faults."""

import json
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('torch')
sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402
from kinematic_state_body import FEATURE_NAMES  # noqa: E402
from kinematic_state_body import KinematicStateBody  # noqa: E402
from rollout_equality import assert_equal  # noqa: E402
from scripted_chunk_policy import ScriptedPolicy  # noqa: E402

from structrl_ros.cli.score import score_document  # noqa: E402
from structrl_ros.errors import SimulationError  # noqa: E402
from structrl_ros.models.policies.flow import FlowConfig  # noqa: E402
from structrl_ros.models.policies.registry import make_policy  # noqa: E402
from structrl_ros.nodes.ros_world import RosWorld  # noqa: E402
from structrl_ros.ports import VectorWorld  # noqa: E402
from structrl_ros.recording.bag_reader import BagReader  # noqa: E402
from structrl_ros.rewards.structured import StructuredReward  # noqa: E402
from structrl_ros.sim.registry import make_body  # noqa: E402
from structrl_ros.subtasks.decomposition import Decomposition  # noqa: E402
from structrl_ros.subtasks.decomposition import GroundedSubtask  # noqa: E402
from structrl_ros.subtasks.decomposition import Provenance  # noqa: E402
from structrl_ros.subtasks.paid_plan import paid_subtasks  # noqa: E402
from structrl_ros.subtasks.tracker import Tracker  # noqa: E402
from structrl_ros.subtasks.tracker import TrackerSettings  # noqa: E402
from structrl_ros.training.body_worlds import world_maker  # noqa: E402
from structrl_ros.training.collecting import collect  # noqa: E402
from structrl_ros.training.lanes import LaneWorld  # noqa: E402
from structrl_ros.training.pool_world import PoolWorld  # noqa: E402
from structrl_ros.training.reward_configurations import REWARDS  # noqa: E402
from structrl_ros.training.reward_source import StructuredRewards  # noqa: E402
from structrl_ros.training.traces import trace_document  # noqa: E402
from structrl_ros.types import ChunkDone  # noqa: E402
from structrl_ros.types import Episode  # noqa: E402
from structrl_ros.types import Plan  # noqa: E402
from structrl_ros.types import Predicates  # noqa: E402
from structrl_ros.types import Reward  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.plan_codecs import plan_from_message  # noqa: E402
from structrl_ros.wire.reward_codecs import reward_from_message  # noqa: E402
from structrl_ros.wire.task_codecs import health_from_message  # noqa: E402
from structrl_ros.world_types import EpisodeStart  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.torch]

TASKS = ('kinematic/two_in_basket', 'kinematic/soup_in_basket')
STARTS = tuple(EpisodeStart(TASKS[i % 2], 100 + i, i) for i in range(5))
CANS = ('alphabet_soup_1', 'tomato_sauce_1')
STAGES = tuple(
    (GroundedSubtask('', name),)
    for can in CANS
    for name in (f'grasp({can})', f'in({can}, basket_1_contain_region)')
)
DURATIONS = {subtask.predicate: 1.5 + i for i, (subtask,) in enumerate(STAGES)}
PAID = {
    *(topics.EPISODE, topics.PLAN, topics.PREDICATES, topics.CHUNK_DONE),
    *(topics.ACTION_CHUNK, topics.SUBTASK, topics.REWARD),
}
STILL = np.zeros((1, 4, 7), np.float32)
ALL = np.ones(1, dtype=bool)


def connect(domain_id, namespaces=('',), **options):
    words = {'make_twin': lambda _: KinematicStateBody(image_size=16), **options}
    return RosWorld(namespaces, domain_id=domain_id, **words)


def alone():
    return LaneWorld([KinematicStateBody(image_size=16)])


def play(world, starts=STARTS, **options):
    policy = ScriptedPolicy(FEATURE_NAMES, roles=options.pop('roles', ()))
    words = {'seed': 5, 'iteration': 2, 'explore': True, 'batch': 4, **options}
    return collect(policy, world, starts, **words)


def start_body(domain_id, *, namespace='', **parameters):
    words = {'body': 'kinematic', 'lockstep': True, 'image_size': 16, **parameters}
    return start_node('sim_node', domain_id, namespace=namespace, **words)


@pytest.fixture(scope='module')
def body():
    process = start_body(domain('ros_world'))
    yield domain('ros_world')
    status, log = end_node(process)
    assert status == 0, log
    assert 'Traceback' not in log


def test_episodes_through_topics_are_those_of_one_process_to_the_last_bit(body):
    with connect(body) as world:
        assert isinstance(world, VectorWorld)
        through_topics = play(world)
        assert world.cpu_seconds().bodies > 0.0
    in_process = play(alone())
    assert through_topics.success.all()
    assert_equal(through_topics, in_process)


def test_pictures_through_topics_are_those_of_one_process(body):
    with connect(body) as world:
        one = play(
            world, STARTS[:2], roles=('head', 'left_wrist'), kept_roles=('head', 'left_wrist')
        )
    other = play(
        alone(), STARTS[:2], roles=('head', 'left_wrist'), kept_roles=('head', 'left_wrist')
    )
    assert one.images['head'].any()
    assert_equal(one, other)


def test_without_state_vectors_pictures_are_all_there_is(body):
    with connect(body, wants_state=False) as world:
        world.reset({0: STARTS[0]})
        before = world.images('left_wrist')
        assert world.features().shape == (1, 0)
        assert world.run_chunk(STILL - 0.5, ALL).steps.tolist() == [4]
        assert not np.array_equal(world.images('left_wrist'), before)


def test_what_the_body_refuses_is_one_line_and_the_next_start_works(body):
    with connect(body) as world:
        with pytest.raises(SimulationError, match="unknown task 'no/such'"):
            world.reset({0: EpisodeStart('no/such', 0, 0)})
        with pytest.raises(SimulationError, match='no lane 1; allowed: 0 to 0'):
            world.reset({1: STARTS[0]})
        world.reset({0: STARTS[0]})
        with pytest.raises(SimulationError, match='lane 0 are not finite; nothing was sent'):
            world.run_chunk(STILL * np.nan, ALL)
        with pytest.raises(SimulationError, match="no camera 'right_wrist'"):
            world.images('right_wrist')
        assert world.run_chunk(STILL, ALL).steps.tolist() == [4]
        world.reset({0: STARTS[1]})
        assert world.tasks[0].task == STARTS[1].task
    with pytest.raises(SimulationError, match='no tracker_node beside it came up within 5 s'):
        connect(body, plan=lambda info: (), start_limit_s=5.0)


def test_a_second_driver_and_a_lost_message_are_errors(body):
    with connect(body) as world:
        world.reset({0: STARTS[0]})
        client = Client(body, name='intruder')
        try:
            client.ready()
            client.run(1)
            client.run(2)
            line = (
                r'`\w+` of chunk 2 came, not of 1: a message was lost, or somebody else|'
                r'chunk number 1 does not rise \(last 2\): repeated, or a second publisher'
            )
            with pytest.raises(SimulationError, match=line):
                world.run_chunk(STILL, ALL)
            with pytest.raises(SimulationError, match='/intruder publishes `action_chunk`, too'):
                for _ in range(100):  # until it is discovered
                    world.reset({0: STARTS[0]})
                    time.sleep(0.1)
            assert client.stop(True).success
        finally:
            client.node.destroy_node()
            client.close()
        world.reset({0: STARTS[0]})
        with pytest.raises(SimulationError, match='EMERGENCY: service emergency_stop'):
            world.run_chunk(STILL, ALL)


def test_two_lanes_in_two_namespaces_run_side_by_side():
    number = domain('two lanes')
    bodies = [start_body(number, namespace=name) for name in ('/one', '/two')]
    try:
        with connect(number, ('/one', '/two')) as world:
            assert world.spec.lanes == 2
            assert_equal(play(world), play(alone()))
    finally:
        ended = [end_node(process) for process in bodies]
    assert [status for status, _ in ended] == [0, 0], ended


def test_a_body_that_dies_or_does_not_wait_is_one_line():
    number = domain('dying')
    process = start_body(number)
    with connect(number, chunk_limit_s=1.0) as world:
        world.reset({0: STARTS[0]})
        process.send_signal(signal.SIGKILL)
        process.wait()
        line = r'^sim_node in / (is gone|did not end chunk 1 of episode 2.* within 1 s)$'
        with pytest.raises(SimulationError, match=line):
            world.run_chunk(STILL, ALL)
    process.communicate()
    with pytest.raises(SimulationError, match='sim_node in /none did not come up within 1 s'):
        connect(number, ('/none',), start_limit_s=1.0)
    process = start_body(number, namespace='/live', lockstep=False)
    try:
        with connect(number, ('/live',)) as world:
            world.reset({0: STARTS[0]})
            with pytest.raises(SimulationError, match='does not wait for chunks; allowed: lock'):
                for _ in range(3):
                    time.sleep(0.2)
                    world.run_chunk(STILL, ALL)
    finally:
        end_node(process)


@pytest.mark.parametrize('name', ['twin', pytest.param('tabletop', marks=pytest.mark.sim)])
def test_a_network_plays_the_same_episodes_in_every_kind_of_world(name):
    number = domain(name)
    process = start_node('sim_node', number, body=name, lockstep=True)
    here = world_maker(name, environments=3, workers=1)()
    torch.manual_seed(0)
    config = FlowConfig(feature_names=here.spec.feature_names, chunk_length=5)
    policy = make_policy(config)
    starts = [EpisodeStart('pack_lunch', seed, seed) for seed in range(4)]
    options = {'seed': 1, 'iteration': 0, 'explore': True, 'max_chunks': 12}
    reference = collect(policy, here, starts, **options)
    bodies = partial(make_body, name)
    with PoolWorld(bodies, lanes=2, workers=2) as world:
        assert_equal(collect(policy, world, starts, **options), reference)
    try:
        with RosWorld(domain_id=number) as world:
            assert_equal(collect(policy, world, starts, **options), reference)
    finally:
        assert end_node(process)[0] == 0


class Ledger(Client):
    """Hears what a tracker hears, and what it pays."""

    def __init__(self, domain_id):
        self.recorded = set()
        also = {topics.REWARD: reward_from_message, topics.PLAN: plan_from_message}
        also[topics.DIAGNOSTICS] = self.take_health
        super().__init__(domain_id, also=also, publishes=())

    def take_health(self, message):
        for name, _, _, values in health_from_message(message):
            if name.endswith('recorder_node: bag'):
                self.recorded = set(values['connected'].split())

    def meet(self):
        """Wait until trainer, tracker and recorder hear each other, and are heard here."""
        self.wait(lambda: self.recorded >= PAID, 'a recorder that hears all of them')
        for topic in (topics.PLAN, topics.EPISODE, topics.PREDICATES, topics.CHUNK_DONE):
            self.wait(self.subscriptions[topic].get_publisher_count, topic)

    def ends(self):
        """Return the ends of episodes that were heard."""
        return [value for value in list(self.heard) if isinstance(value, Episode) and value.ended]

    def scored(self, settings):
        kinds = (Episode, Plan, Predicates, ChunkDone)
        heard = [value for value in list(self.heard) if isinstance(value, kinds)]
        assert sum(isinstance(value, Plan) for value in heard) == len(STARTS)
        tracker = Tracker(settings, StructuredReward)
        for value in sorted(heard, key=in_order):
            tracker.consume(value)
        return score(tracker.trace())


def in_order(value):
    """Sort what was heard on several topics as the trainer made it happen."""
    if isinstance(value, Episode):
        return value.stamp_ns, 9 if value.ended else 0
    return value.stamp_ns, (Plan, Predicates, ChunkDone).index(type(value)) + 1


def score(document):
    scored, is_fine = score_document('structured_reward', json.loads(json.dumps(document)))
    assert is_fine
    return [value for case in scored['cases'] for value in case['output']['rewards']]


def decomposition(task):
    names = [n for n in DURATIONS if task == TASKS[0] or 'soup' in n]
    stages = tuple(stage for stage in STAGES if stage[0].predicate in names)
    durations = {8: {name: DURATIONS[name] for name in names}}
    return Decomposition(
        task, 'kinematic', 'go', stages, Provenance('task data'), durations=durations
    )


def test_the_trainer_pays_what_the_live_tracker_pays_and_the_trace_scores(tmp_path):
    number = domain('tracked')
    durations = tmp_path / 'durations.json'
    durations.write_text(json.dumps(DURATIONS))
    settings = TrackerSettings(durations=DURATIONS)
    source = StructuredRewards({t: decomposition(t) for t in TASKS}, REWARDS['structured'])
    bag = tmp_path / 'bag'
    nodes = [
        start_body(number),
        start_node('tracker_node', number, durations_file=durations),
        start_node('recorder_node', number, directory=bag, images='none'),
    ]
    ledger = Ledger(number)
    try:
        with connect(
            number,
            plan=lambda info: paid_subtasks(decomposition(info.task).stages, info.predicate_names),
        ) as world:
            ledger.meet()
            rollouts = play(world)
        paid = source(rollouts)
        rewards = paid.rewards[rollouts.valid].tolist()
        ledger.wait(lambda: len(ledger.all(Reward)) >= len(rewards), 'the last reward')
        ledger.wait(lambda: len(ledger.ends()) >= len(STARTS), 'the end of every episode')
    finally:
        ledger.close()
        ended = [end_node(node) for node in nodes]
    assert [status for status, _ in ended] == [0, 0, 0], ended
    assert len(set(rewards)) > 5
    assert [reward.value for reward in ledger.all(Reward)] == rewards
    assert ledger.scored(settings) == rewards
    assert score(trace_document(rollouts, source)) == rewards
    assert sum(e.success for e in ledger.ends()) == rollouts.success.sum()
    recorded = BagReader(bag).topics
    for topic in (topics.ACTION_CHUNK, topics.CHUNK_DONE, topics.REWARD):
        assert recorded[f'/{topic}'].count == len(rewards), topic
    assert recorded[f'/{topics.PLAN}'].count == len(STARTS)
