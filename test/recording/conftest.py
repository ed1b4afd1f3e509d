"""A synthetic run: dataclasses to CDR by rosbags, so that recording is tested without nodes."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from html.parser import HTMLParser

import numpy as np
import pytest
from episode_records import episode_record

from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.message_types import message_types
from structrl_ros.recording.policy_entry import policy_values
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.settings_text import SETTINGS_KEY
from structrl_ros.subtasks.settings_text import settings_to_text
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import MeasuredRate
from structrl_ros.types import Plan
from structrl_ros.types import PolicySpec
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict

OWN = 'structrl_msgs/msg/'
NAMES = (
    'grasp(alphabet_soup_1)',
    'in(alphabet_soup_1, basket_1_contain_region)',
    'grasp(tomato_sauce_1)',
    'in(tomato_sauce_1, basket_1_contain_region)',
)
SECOND = 1_000_000_000
LATCHED = TopicQos(reliable=True, transient_local=True, depth=1)
HELD = {
    'calls': '44',
    'due': '45',
    'dropped': '1',
    'wanted_hz': '5',
    'rate_hz': '4.9',
    'period_p50_s': '0.2',
    'period_p99_s': '0.205',
}
POLICY = PolicySpec(
    name='flow',
    action_space='ee_delta_pose',
    action_dimension=7,
    chunk_length=5,
    roles=(),
    max_age_s={},
    measured=(MeasuredRate('before', 26, 100), MeasuredRate('after', 83, 100)),
    trained_by='structrl train ppo',
)
TOPICS = {
    '/plan': (OWN + 'Plan', LATCHED),
    '/episode': (OWN + 'Episode', LATCHED),
    '/subtask': (OWN + 'SubtaskStatus', LATCHED),
    '/safety': (OWN + 'Safety', LATCHED),
    '/verdict': (OWN + 'Verdict', TopicQos(depth=100)),
    '/reward': (OWN + 'Reward', TopicQos(depth=100)),
    '/predicates': (OWN + 'Predicates', TopicQos(depth=100)),
    '/chunk_done': (OWN + 'ChunkDone', TopicQos(depth=100)),
    '/action_chunk': (OWN + 'ActionChunk', TopicQos(depth=1)),
    '/observation/head/image': ('sensor_msgs/msg/Image', TopicQos(depth=5)),
    '/clock': ('rosgraph_msgs/msg/Clock', TopicQos(reliable=False, depth=1)),
    '/diagnostics': ('diagnostic_msgs/msg/DiagnosticArray', TopicQos(depth=10)),
}
#: Topics of a run that `is_rich`.
MORE_TOPICS = {
    '/intervention': (OWN + 'Intervention', TopicQos(depth=100)),
    '/progress': (OWN + 'Progress', TopicQos(depth=100)),
    '/observation/left_wrist/image': ('sensor_msgs/msg/Image', TopicQos(depth=5)),
}


def _new(msgtype, **fields):
    return message_types().types[msgtype](**fields)


def _time(stamp_ns):
    return _new('builtin_interfaces/msg/Time', sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND)


def _header(stamp_ns, frame=''):
    return _new('std_msgs/msg/Header', stamp=_time(stamp_ns), frame_id=frame)


def _subtask(s):
    return _new(
        OWN + 'Subtask',
        id=s.id,
        phrase=s.phrase,
        verb=s.verb,
        arguments=list(s.arguments),
        stage=s.stage,
    )


def encode(value):
    """Return the CDR bytes of a dataclass of `types`."""
    name = OWN + type(value).__name__
    fields = {f: getattr(value, f) for f in value.__dataclass_fields__ if f != 'stamp_ns'}
    if isinstance(value, Plan):
        fields['subtasks'] = [_subtask(s) for s in value.subtasks]
    elif isinstance(value, Reward):
        fields['terms'] = [_new(OWN + 'RewardTerm', name=n, value=v) for n, v in value.terms]
    elif isinstance(value, Episode):
        fields['phase'] = int(fields.pop('ended'))
    elif isinstance(value, Safety):
        fields['state'] = int(value.state)
    elif isinstance(value, ActionChunk):
        actions = fields.pop('actions')
        fields['length'], fields['dimension'] = actions.shape
        fields['data'] = actions.ravel()
    elif isinstance(value, ChunkDone):
        fields['executed'] = value.executed.ravel()
    elif isinstance(value, Predicates):
        fields['values'] = np.array(value.values, dtype=bool)
    for key, item in fields.items():
        if isinstance(item, tuple):
            fields[key] = list(item)
    fields = {'header': _header(value.stamp_ns), **fields}
    return bytes(message_types().serialize_cdr(_new(name, **fields), name))


def encode_image(stamp_ns, pixels):
    """Return the CDR bytes of an rgb8 image."""
    height, width, _ = pixels.shape
    image = _new(
        'sensor_msgs/msg/Image',
        header=_header(stamp_ns, 'head_optical'),
        height=height,
        width=width,
        encoding='rgb8',
        is_bigendian=0,
        step=3 * width,
        data=np.ascontiguousarray(pixels).ravel(),
    )
    return bytes(message_types().serialize_cdr(image, 'sensor_msgs/msg/Image'))


def encode_clock(stamp_ns):
    clock = _new('rosgraph_msgs/msg/Clock', clock=_time(stamp_ns))
    return bytes(message_types().serialize_cdr(clock, 'rosgraph_msgs/msg/Clock'))


def encode_diagnostics(stamp_ns, name, level, message, values):
    status = _new(
        'diagnostic_msgs/msg/DiagnosticStatus',
        level=level,
        name=name,
        message=message,
        hardware_id='',
        values=[_new('diagnostic_msgs/msg/KeyValue', key=k, value=v) for k, v in values.items()],
    )
    array = _new('diagnostic_msgs/msg/DiagnosticArray', header=_header(stamp_ns), status=[status])
    return bytes(message_types().serialize_cdr(array, 'diagnostic_msgs/msg/DiagnosticArray'))


def picture(share):
    """Return a small scene: a disc that wanders from left to right as `share` goes 0 to 1."""
    y, x = np.mgrid[0:96, 0:128]
    pixels = np.empty((96, 128, 3), dtype=np.uint8)
    pixels[..., 0] = 60 + x
    pixels[..., 1] = 80 + y
    pixels[..., 2] = 120
    pixels[(x - 20 - 88 * share) ** 2 + (y - 48) ** 2 < 150] = (220, 60, 40)
    return pixels


@dataclass
class SyntheticRun:
    """Plays a made-up run of two objects into a bag; the numbers are chosen, not measured."""

    chunks: int = 24
    chunk_s: float = 0.4
    done_at: tuple = (5, 11, 16, 22)
    durations: tuple = (4.0, 6.0, 5.0, 6.0)
    instruction: str = 'put both the alphabet soup and the tomato sauce in the basket'
    success: bool = True
    close: bool = True
    says_settings: bool = True
    is_rich: bool = False  # a second camera, a progress model, and a takeover in chunk 7
    spoil: Callable = lambda reward: reward
    sent: list = field(default_factory=list)
    wall_ns: int = 1_700_000_000 * SECOND
    step_ns: int = 1000

    def subtasks(self):
        names = ('alphabet soup', 'tomato sauce')
        found = []
        for i, spoken in enumerate(names):
            found.append(Subtask(f's{2 * i + 1}', f'grasp {spoken}', 'grasp', (spoken,), 2 * i))
            found.append(
                Subtask(
                    f's{2 * i + 2}',
                    f'place {spoken} in basket',
                    'place',
                    (spoken, 'basket'),
                    2 * i + 1,
                )
            )
        return tuple(found)

    def write(self, directory):
        """Write the run's bag to `directory/bag` and return the writer."""
        writer = BagWriter(directory / 'bag', now_ns=lambda: self.wall_ns)
        for topic, (msgtype, qos) in (TOPICS | (MORE_TOPICS if self.is_rich else {})).items():
            writer.add_topic(topic, msgtype, qos)
        self.writer = writer
        self._play()
        if self.close:
            writer.close()
        return writer

    def _send(self, topic, data):
        self.wall_ns += self.step_ns
        self.sent.append((topic, data))
        self.writer.write(topic, data)

    def _put(self, topic, value):
        self._send(topic, encode(value))
        if not isinstance(value, Episode | Plan | Verdict | Predicates | ChunkDone):
            return
        for output in self.tracker.consume(value):
            if isinstance(output, Reward):
                self._send('/reward', encode(self.spoil(output)))
            else:
                self._send('/subtask', encode(output))

    def _play(self):
        self.tracker = Tracker(self.settings(), StructuredReward)
        self.index = 0
        self._send('/clock', encode_clock(SECOND))
        self._put('/safety', Safety(SECOND, SafetyState.OK, ''))
        self._put('/episode', self._episode(SECOND, ended=False))
        if self.says_settings:
            values = {SETTINGS_KEY: settings_to_text(self.settings())}
            data = encode_diagnostics(SECOND, 'tracker_node: ledger', 0, 'fine', values)
            self._send('/diagnostics', data)
        self._send('/observation/head/image', encode_image(SECOND, picture(0.0)))
        self._put('/predicates', self._predicates(0, SECOND, success=False))
        thought = '<soup> & then the sauce'
        self._put('/plan', Plan(SECOND, 1, self.instruction, self.subtasks(), thought, 'rules'))
        for k in range(1, self.chunks + 1):
            self._chunk(k)
        end = SECOND + int(self.chunks * self.chunk_s * SECOND)
        data = encode_diagnostics(end, 'planner_node: monitor', 0, '5.00 Hz', HELD)
        self._send('/diagnostics', data)
        data = encode_diagnostics(end, 'policy_node: policy', 0, 'fine', policy_values(POLICY))
        self._send('/diagnostics', data)
        self._put('/episode', self._episode(end, ended=True))

    def settings(self):
        """What the run is paid by."""
        return TrackerSettings(durations=dict(zip(NAMES, self.durations, strict=True)))

    def _episode(self, stamp_ns, *, ended):
        return Episode(
            stamp_ns,
            1,
            ended,
            'libero',
            'libero_10/0',
            self.instruction,
            7,
            3,
            ended and self.success,
            ('success' if self.success else 'horizon reached') if ended else '',
            ('alphabet_soup', 'tomato_sauce', 'basket'),
        )

    def _chunk(self, k):
        before, after = (SECOND + int(i * self.chunk_s * SECOND) for i in (k - 1, k))
        actions = np.full((8, 7), 0.01 * k, dtype=np.float32)
        chunk = ActionChunk(before, 1, k, 'policy', 'ee_delta_pose', 0.05, actions)
        self._put('/action_chunk', chunk)
        for tick in range(1, 3):
            self._verdict(k, before + tick * SECOND // 5, is_last=tick == 2)
        self._send('/observation/head/image', encode_image(after, picture(k / self.chunks)))
        is_end = k == self.chunks
        won, lost = is_end and self.success, is_end and not self.success
        if self.is_rich:
            self._add_more(k, before, after)
        self._put('/predicates', self._predicates(k, after, success=won))
        self._put('/chunk_done', ChunkDone(after, 1, k, 8, won, lost, won, actions))
        if k == 9:
            self._put('/safety', Safety(after, SafetyState.HOLD, 'no chunk for 0.11 s'))
            values = {'rejected_chunks': '1', 'real_time_factor': '0.98'}
            words = 'chunk 8 holds NaN: rejected'
            self._send(
                '/diagnostics', encode_diagnostics(after, 'sim_node: chunks', 1, words, values)
            )
        if k == 10:
            self._put('/safety', Safety(after, SafetyState.OK, ''))

    def _add_more(self, k, before, after):
        share = k / self.chunks
        self._send('/observation/left_wrist/image', encode_image(after, picture(1 - share)))
        answer = Progress(after, 1, 8 * k, 0.1, -0.1, 0.05, False, share, 0.01, 0.02, k != 5)
        self._put('/progress', answer)
        if k == 7:
            for stamp_ns, active in ((before, True), (after, False)):
                action = np.zeros(7, dtype=np.float32)
                self._put('/intervention', Intervention(stamp_ns, 1, active, 'pad', action))

    def _verdict(self, k, stamp_ns, *, is_last):
        self._send('/clock', encode_clock(stamp_ns))
        ids = [s.id for s in self.subtasks()]
        if self.index == len(ids):
            return
        is_done = is_last and k in self.done_at
        name = ids[self.index]
        self._put(
            '/verdict', Verdict(stamp_ns, 1, self.index, name, is_done, 0.9, 0.004, 'predicates')
        )
        self.index += is_done

    def _predicates(self, k, stamp_ns, *, success):
        values = tuple(0 < d <= k for d in self.done_at)
        return Predicates(stamp_ns, 1, k, 8 * k, NAMES, values, success)


@pytest.fixture
def synthetic_run():
    """The class of synthetic runs; a test makes its own."""
    return SyntheticRun


@pytest.fixture
def encoders():
    """Functions that turn dataclasses, images, clocks and diagnostics into CDR bytes."""
    return {'message': encode, 'image': encode_image, 'clock': encode_clock, 'picture': picture}


def made_up_results(label, tasks=4, each=25, seed=0, skill=0.6):
    """Return results of an evaluation that nobody played; the numbers are drawn."""
    random = np.random.default_rng(seed)
    causes = ('never_grasped', 'dropped', 'horizon')
    names = [f'grasp(thing_{k})' for k in range(3)]
    episodes = []
    for number in range(tasks * each):
        success = bool(random.random() < skill)
        cause = '' if success else causes[int(random.integers(3))]
        done = 3 if success else int(random.integers(3))
        episodes.append(
            episode_record(
                success,
                number=number,
                code=label,
                task=f'task_{number // each}',
                seed=number % each,
                initial_state=number % 5,
                reason='success' if success else 'horizon reached',
                cause=cause,
                cause_detail='' if success else '<thing> & 1',
                subtasks=tuple((name, k < done) for k, name in enumerate(names)),
                steps=int(random.integers(50, 400)),
                chunks=10,
                duration_s=float(random.uniform(4.0, 30.0)),
                episode_return=float(random.uniform(0.0, 3.0)),
            )
        )
    return EvaluationResults(
        protocol='made up <by a test>',
        protocol_hash='0123456789abcdef',
        body='twin',
        success_rule='truth',
        planned=tasks * each,
        policies=(EvaluatedPolicy(code=label, name=label, fingerprint='feed'),),
        episodes=tuple(episodes),
        details={'title': 'a & b'},
    )


@pytest.fixture(scope='session')
def make_results():
    """A function that makes up the results of an evaluation."""
    return made_up_results


VOID = {'meta', 'link', 'img', 'input', 'br', 'hr'}


class StrictParser(HTMLParser):
    """Collects ids, links, images and table cells; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.uses, self.links, self.images = [], [], [], [], []
        self.videos = []
        self.paid, self.total = [], None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag, attrs):
        self._look(tag, dict(attrs))

    def handle_starttag(self, tag, attrs):
        self._look(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f'</{tag}> closes nothing'
        assert self.open.pop() == tag, f'</{tag}> closes another element'

    def _look(self, tag, found):
        if 'id' in found:
            self.ids.append(found['id'])
        self.uses += [found[k] for k in ('aria-labelledby', 'for') if k in found]
        self.links += [found[k] for k in ('href', 'src') if k in found]
        if tag == 'img':
            self.images.append(found)
        if tag == 'video':
            self.videos.append(found)
        if 'data-paid' in found:
            self.paid.append((int(found['data-chunk']), float(found['data-paid'])))
        if 'data-return' in found:
            self.total = float(found['data-return'])


@pytest.fixture
def parse_html():
    """The class that reads a page strictly."""
    return StrictParser
