"""A bag as a Rerun recording (.rrd): cameras, arm, rewards and decisions on the body's time.

Pictures are JPEG, so that an hour fits into a viewer's memory. Timelines: `body` is the time that
a message is about, in seconds; `received` is when the recorder got it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_reader import RawMessage
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.decoding import is_decodable
from structrl_ros.recording.run_events import IMAGE_TYPE
from structrl_ros.recording.stamp_order import stamp_ns
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

JPEG_QUALITY = 90
_SECOND = 1e9
_JOINTS = 'sensor_msgs/msg/JointState'
_POSE = 'geometry_msgs/msg/PoseStamped'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'


def export_rerun(bag: Path, out: Path) -> dict[str, int]:
    """Write a bag as a .rrd file.

    Args:
        bag: Folder of the bag.
        out: File to write; it must not exist.

    Returns:
        Messages written, by topic.

    Raises:
        BagError: If there is no bag, it breaks the contract, or the file exists.
        ModuleNotFoundError: If rerun-sdk is not installed.
    """
    import rerun

    if out.exists():
        raise BagError(f'{out} exists already; nothing is overwritten')
    reader = BagReader(bag)
    out.parent.mkdir(parents=True, exist_ok=True)
    recording = rerun.RecordingStream('structrl_ros', recording_id=str(bag.resolve()))
    recording.save(out)
    export = _Export(rerun, recording, reader)
    for raw in reader.raw_messages():
        export.take(raw)
    recording.flush()
    recording.disconnect()
    return dict(export.counts)


class _Export:
    """Logs messages; counts those that it knows how to show."""

    def __init__(self, rerun: Any, recording: Any, reader: BagReader) -> None:
        self.counts: Counter[str] = Counter()
        self._rerun, self._recording, self._reader = rerun, recording, reader
        self._show: dict[type[Any], Callable[[str, Any], None]] = {
            Reward: self._reward,
            Progress: self._progress,
            Plan: lambda e, v: self._say(e, f'plan {v.revision}: {_phrases(v)}'),
            Verdict: lambda e, v: self._say(e, f'{v.subtask_id}: {_outcome(v)} ({v.monitor})'),
            SubtaskStatus: lambda e, v: self._say(e, v.current or 'nothing is pursued'),
            Safety: self._safety,
            Episode: lambda e, v: self._say(e, _episode_words(v)),
            Predicates: lambda e, v: self._say(e, ', '.join(sorted(v.truth)) or 'nothing holds'),
            ChunkDone: lambda e, v: self._number(f'{e}/chunk', v.chunk),
        }

    def take(self, raw: RawMessage) -> None:
        """Log a message on both timelines, if it is of a kind that is shown."""
        found = stamp_ns(raw)
        if found is None:
            return
        self._recording.set_time('body', duration=found / _SECOND)
        self._recording.set_time('received', timestamp=raw.stamp_ns / _SECOND)
        entity = raw.topic.strip('/')
        if is_decodable(raw.msgtype):
            value = decode(raw.msgtype, self._reader.decode(raw))
            if show := self._show.get(type(value)):
                show(entity, value)
                self.counts[raw.topic] += 1
        elif raw.msgtype in (IMAGE_TYPE, _JOINTS, _POSE, _WRENCH):
            self._sensor(entity, raw)
            self.counts[raw.topic] += 1

    def _sensor(self, entity: str, raw: RawMessage) -> None:
        message = self._reader.decode(raw)
        if raw.msgtype == IMAGE_TYPE:
            self._image(entity, message)
        elif raw.msgtype == _JOINTS:
            for name, position in zip(message.name, message.position, strict=True):
                self._number(f'{entity}/{name}', position)
        elif raw.msgtype == _POSE:
            point, turn = message.pose.position, message.pose.orientation
            translation = (point.x, point.y, point.z)
            turned = self._rerun.Quaternion(xyzw=(turn.x, turn.y, turn.z, turn.w))
            self._log(entity, self._rerun.Transform3D(translation=translation, quaternion=turned))
            for axis, value in zip('xyz', translation, strict=True):
                self._number(f'{entity}/{axis}', value)
        else:
            for axis in 'xyz':
                self._number(f'{entity}/force_{axis}', getattr(message.wrench.force, axis))

    def _image(self, entity: str, message: Any) -> None:
        if message.encoding == '16UC1':
            depth = message.data.view('>u2' if message.is_bigendian else '<u2')
            depth = depth.reshape(message.height, -1)[:, : message.width].astype('uint16')
            self._log(entity, self._rerun.DepthImage(depth, meter=1000.0))
            return
        picture = self._rerun.Image(decode_image(message))
        self._log(entity, picture.compress(jpeg_quality=JPEG_QUALITY))

    def _reward(self, entity: str, reward: Reward) -> None:
        self._number(f'{entity}/value', reward.value)
        self._number(f'{entity}/return', reward.episode_return)
        for name, value in reward.terms:
            self._say(f'{entity}/terms', f'{name} {value:+.3f}')

    def _progress(self, entity: str, progress: Progress) -> None:
        for name in ('potential', 'hop_forward', 'hop_backward', 'hop_incremental'):
            value = getattr(progress, name)
            if not math.isnan(value):  # a backward hop without a goal
                self._number(f'{entity}/{name}', value)

    def _safety(self, entity: str, safety: Safety) -> None:
        self._say(entity, f'{safety.state.name.lower()} {safety.reason}'.strip())

    def _number(self, entity: str, value: float) -> None:
        self._log(entity, self._rerun.Scalars(float(value)))

    def _say(self, entity: str, text: str) -> None:
        self._log(entity, self._rerun.TextLog(text))

    def _log(self, entity: str, archetype: Any) -> None:
        self._recording.log(entity, archetype)


def _phrases(plan: Plan) -> str:
    return ' > '.join(s.phrase for s in plan.subtasks) or 'hold'


def _outcome(verdict: Verdict) -> str:
    return 'stop' if verdict.stop else 'done' if verdict.done else 'not yet'


def _episode_words(episode: Episode) -> str:
    if not episode.ended:
        return f'episode {episode.episode}: {episode.instruction}'
    return f'episode {episode.episode} ended: {episode.end_reason}'
