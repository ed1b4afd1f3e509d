"""From demonstrations to a rosbag2 bag that `structrl replay` plays.

A step's observations are written once each, at the time they were made; a chunk is sent by
`replay` when its first step begins and is done when its last one ends.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from structrl_ros.errors import DatasetError
from structrl_ros.errors import StructRLError
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.encoding import Encodable
from structrl_ros.recording.encoding import encode
from structrl_ros.recording.encoding import encode_clock
from structrl_ros.recording.encoding import encode_image
from structrl_ros.recording.encoding import encode_joints
from structrl_ros.recording.encoding import encode_pose
from structrl_ros.recording.lerobot.demonstration import Demonstration
from structrl_ros.recording.lerobot.demonstration import StateLayout
from structrl_ros.recording.lerobot.episode_messages import Told
from structrl_ros.recording.lerobot.episode_messages import chunk_done
from structrl_ros.recording.lerobot.episode_messages import chunk_reward
from structrl_ros.recording.lerobot.episode_messages import chunk_spans
from structrl_ros.recording.lerobot.episode_messages import end_of_chunk
from structrl_ros.recording.lerobot.episode_messages import episode_end
from structrl_ros.recording.lerobot.episode_messages import recorded_plans
from structrl_ros.recording.lerobot.mapping import FeatureMap
from structrl_ros.recording.lerobot.mapping import action_space
from structrl_ros.recording.lerobot.mapping import camera_roles
from structrl_ros.recording.lerobot.mapping import demonstration
from structrl_ros.recording.lerobot.mapping import state_names
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.recording.lerobot.signals import EE_POSE
from structrl_ros.recording.lerobot.signals import JOINT_STATES
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import SubtaskStatus

#: The body's clock at the start: stamp 0 means "no time" in ROS.
START_NS = 1_000_000_000
_BASE_FRAME = 'base_link'
_LATCHED = TopicQos(transient_local=True, depth=1)
_COUNTED = TopicQos(depth=100)
_SENSOR = TopicQos(depth=5)
_TOPICS: Mapping[type[Any], tuple[str, TopicQos]] = {
    Episode: ('/episode', _LATCHED),
    Plan: ('/plan', _LATCHED),
    SubtaskStatus: ('/subtask', _LATCHED),
    ActionChunk: ('/action_chunk', TopicQos(depth=1)),
    ChunkDone: ('/chunk_done', _COUNTED),
    Reward: ('/reward', _COUNTED),
    Intervention: ('/intervention', _COUNTED),
}


@dataclass(frozen=True, slots=True)
class Source:
    """What all demonstrations have in common; `body` is the name of the robot."""

    body: str
    period_ns: int
    action_space: str
    layout: StateLayout
    roles: tuple[str, ...]


@dataclass(slots=True)
class ImportReport:
    """What was written."""

    out: Path
    episodes: int = 0
    steps: int = 0
    cameras: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def import_dataset(root: Path, out: Path, how: FeatureMap) -> ImportReport:
    """Write a LeRobotDataset v3.0 as a bag.

    Raises:
        DatasetError: If the dataset is missing, cut, of another version, or does not tell enough.
        BagError: If the bag exists or the disk refuses.
    """
    reader = DatasetReader(root)
    info = reader.info
    source = Source(
        body=info.robot_type or 'unknown',
        period_ns=round(1e9 / info.fps),
        action_space=action_space(info, how),
        layout=StateLayout(state_names(info, how)),
        roles=camera_roles(info, how),
    )
    found = (demonstration(episode, info, how) for episode in reader.episodes())
    return write_bag(out, source, found)


def write_bag(out: Path, source: Source, demonstrations: Iterable[Demonstration]) -> ImportReport:
    """Write demonstrations one after the other; nothing is left of a bag that fails.

    Raises:
        DatasetError: If a demonstration is damaged, or there is none.
        BagError: If the bag exists or the disk refuses.
    """
    report = ImportReport(out, cameras=source.roles)
    clock = _Clock()
    writer = BagWriter(out, now_ns=clock.receipt_ns)
    try:
        bag = _Bag(writer, clock, source)
        for number, found in enumerate(demonstrations, start=1):
            bag.add(number, found)
            report.episodes += 1
            report.steps += len(found.action)
        if not report.episodes:
            raise DatasetError('no episode; allowed: one or more')
    except BaseException:
        with suppress(StructRLError):
            writer.close()
        shutil.rmtree(out, ignore_errors=True)
        raise
    writer.close()
    return report


class _Clock:
    """The body's time, and the wall time that the bag's stamps begin at."""

    def __init__(self) -> None:
        self._wall_ns = time.time_ns()
        self.now_ns = START_NS

    def receipt_ns(self) -> int:
        """Return the time of receipt: it goes on as the body's."""
        return self._wall_ns + self.now_ns - START_NS


class _Bag:
    """Turns demonstrations into messages."""

    def __init__(self, writer: BagWriter, clock: _Clock, source: Source) -> None:
        self._writer, self._clock, self._source = writer, clock, source
        self._free_ns, self._told_ns = START_NS, 0
        writer.add_topic('/clock', 'rosgraph_msgs/msg/Clock', TopicQos(reliable=False, depth=1))
        for kind, (topic, qos) in _TOPICS.items():
            writer.add_topic(topic, f'structrl_msgs/msg/{kind.__name__}', qos)
        if source.layout.joint_names:
            writer.add_topic(f'/{JOINT_STATES}', 'sensor_msgs/msg/JointState', _SENSOR)
        if source.layout.has_pose:
            writer.add_topic(f'/{EE_POSE}', 'geometry_msgs/msg/PoseStamped', _SENSOR)
        for role in source.roles:
            writer.add_topic(_image_topic(role), 'sensor_msgs/msg/Image', _SENSOR)

    def add(self, number: int, found: Demonstration) -> None:
        """Write one episode."""
        earliest = int(min(0, found.observed_ns.min()))
        start_ns = max(int(found.origin.get('start_ns', 0)), self._free_ns - earliest)
        self._clock.now_ns = start_ns + earliest
        seen = _Seen(self, found, start_ns)
        seen.look(0)
        self._move(start_ns)
        start = self._episode(number, found, start_ns)
        self._put(start)
        told = Told(number, found, recorded_plans(found.origin, start_ns))
        returned = 0.0
        for first, last in chunk_spans(found.chunk):
            begin_ns = start_ns + int(found.begin_ns[first])
            for step in range(first, last + 1):
                now_ns = start_ns + int(found.begin_ns[step])
                seen.look(step)
                self._move(now_ns)
                for value in told.at(step, now_ns):
                    self._put(value)
                if step == first:
                    self._put(self._sent(number, found, first, last, begin_ns))
            end_ns = start_ns + end_of_chunk(found, first, last, self._source.period_ns)
            self._move(end_ns)
            done = chunk_done(number, found, first, last, end_ns)
            self._put(done)
            if found.reward is not None:
                paid = float(found.reward[first : last + 1].sum())
                returned += paid
                self._put(chunk_reward(done, paid, returned))
        for value in told.close(end_ns):
            self._put(value)
        self._put(episode_end(start, found, end_ns))
        self._free_ns = end_ns + self._source.period_ns

    def write(self, topic: str, data: bytes) -> None:
        """Write a message."""
        self._writer.write(topic, data)

    @property
    def source(self) -> Source:
        """What the demonstrations have in common."""
        return self._source

    def _move(self, now_ns: int) -> None:
        if now_ns > self._told_ns:
            self._clock.now_ns = self._told_ns = now_ns
            self._writer.write('/clock', encode_clock(now_ns))

    def _put(self, value: Encodable) -> None:
        self._writer.write(_TOPICS[type(value)][0], encode(value))

    def _episode(self, number: int, found: Demonstration, start_ns: int) -> Episode:
        origin = found.origin
        return Episode(
            stamp_ns=start_ns,
            episode=number,
            ended=False,
            body=str(origin.get('body', self._source.body)),
            task=str(origin.get('task', found.task)),
            instruction=found.task,
            seed=int(origin.get('seed', 0)),
            initial_state=int(origin.get('initial_state', -1)),
            objects=tuple(origin.get('objects', ())),
        )

    def _sent(
        self, number: int, found: Demonstration, first: int, last: int, begin_ns: int
    ) -> ActionChunk:
        return ActionChunk(
            stamp_ns=begin_ns,
            episode=number,
            chunk=int(found.chunk[first]),
            source='replay',
            action_space=self._source.action_space,
            step_period=self._source.period_ns / 1e9,
            actions=found.action[first : last + 1],
        )


class _Seen:
    """Writes what a step sees, unless it was written before."""

    def __init__(self, bag: _Bag, found: Demonstration, start_ns: int) -> None:
        self._bag, self._found, self._start_ns = bag, found, start_ns
        self._pictures = {role: found.pictures[role]() for role in bag.source.roles}
        self._step = -1
        self._last: dict[int, int] = {}

    def look(self, step: int) -> None:
        """Write the observations of a step; steps come in order, the first one twice."""
        if step == self._step:
            return
        self._step = step
        found, layout, write = self._found, self._bag.source.layout, self._bag.write
        row = found.state[step]
        if (stamp := self._new(0)) is not None and layout.joint_names:
            joints = layout.joints(row).tolist()
            data = encode_joints(stamp, layout.joint_names, joints, _BASE_FRAME)
            write(f'/{JOINT_STATES}', data)
        if (stamp := self._new(1)) is not None and layout.has_pose:
            write(f'/{EE_POSE}', encode_pose(stamp, layout.pose(row).tolist(), _BASE_FRAME))
        for i, (role, pictures) in enumerate(self._pictures.items()):
            pixels = next(pictures)
            if (stamp := self._new(2 + i)) is not None:
                write(_image_topic(role), encode_image(stamp, pixels, f'{role}_optical'))

    def _new(self, column: int) -> int | None:
        stamp = self._start_ns + int(self._found.observed_ns[self._step, column])
        if self._last.get(column) == stamp:
            return None
        self._last[column] = stamp
        return stamp


def _image_topic(role: str) -> str:
    return f'/observation/{role}/image'
