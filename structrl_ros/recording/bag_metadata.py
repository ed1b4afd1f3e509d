"""metadata.yaml of a bag, written anew whenever a part is finished."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from io import StringIO
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.interfaces import ConnectionExtRosbag2
from rosbags.rosbag2.metadata import dump_qos_v9
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from structrl_ros.recording.bag_parts import VERSION
from structrl_ros.recording.bag_parts import Storage

FILE_NAME = 'metadata.yaml'
#: Prefixes of notes on a topic: how many messages never came, what QoS was offered instead.
MISSING = 'missing '
OFFERED = 'offered '


@dataclass
class PartSummary:
    """What a file of a bag holds; stamps are times of receipt in nanoseconds."""

    name: str
    first_ns: int = 0
    last_ns: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def see(self, topic: str, stamp_ns: int) -> None:
        """Count a message."""
        if not self.messages:
            self.first_ns = stamp_ns
        self.last_ns = max(self.last_ns, stamp_ns)
        self.counts[topic] = self.counts.get(topic, 0) + 1

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(self.counts.values())


def write_metadata(
    directory: Path,
    parts: Sequence[PartSummary],
    topics: Mapping[str, Connection],
    storage: Storage,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Write metadata.yaml whole, in the place of the one before.

    Args:
        directory: Of the bag.
        parts: Its files, in order.
        topics: Its topics.
        storage: Of the files.
        notes: Kept as `custom_data`.

    Raises:
        OSError: If the disk refuses.
    """
    about = information(parts, topics, storage)
    about['custom_data'] = dict(notes or {}) or None
    document = {'rosbag2_bagfile_information': about}
    temporary = directory / f'{FILE_NAME}.tmp'
    temporary.write_text(_yaml(document), 'utf-8')
    temporary.replace(directory / FILE_NAME)


def later_part_starts(directory: Path) -> frozenset[int]:
    """Return the stamps at which the parts of a bag begin, but the first; none if not told."""
    files = _read(directory).get('files') or []
    return frozenset(f['starting_time']['nanoseconds_since_epoch'] for f in files[1:])


def listed_files(directory: Path) -> frozenset[str]:
    """Return the names of the files that metadata.yaml lists; none if it cannot be read."""
    try:
        return frozenset(Path(str(p)).name for p in _read(directory)['relative_file_paths'])
    except (OSError, YAMLError, KeyError, TypeError):
        return frozenset()


def notes_on_topics(directory: Path, prefix: str) -> dict[str, str]:
    """Return the recorder's notes of a kind (`MISSING`, `OFFERED`), by topic; {} if none."""
    notes = all_notes(directory)
    return {k.removeprefix(prefix): v for k, v in notes.items() if k.startswith(prefix)}


def all_notes(directory: Path) -> dict[str, str]:
    """Return `custom_data` of a bag; {} where it has none, or no metadata.yaml that is read."""
    try:
        notes = _read(directory).get('custom_data') or {}
        return {str(k): str(v) for k, v in notes.items()}
    except (OSError, YAMLError, KeyError, TypeError, AttributeError):
        return {}


def part_metadata(part: PartSummary, topics: Mapping[str, Connection], storage: Storage) -> str:
    """Return what rosbag2 keeps of the metadata inside a file."""
    return _yaml(information([part], topics, storage)).strip()


def information(
    parts: Sequence[PartSummary], topics: Mapping[str, Connection], storage: Storage
) -> dict[str, Any]:
    """Return `rosbag2_bagfile_information` of parts in their order."""
    counts = {topic: sum(p.counts.get(topic, 0) for p in parts) for topic in topics}
    return {
        'version': VERSION,
        'storage_identifier': storage,
        'relative_file_paths': [p.name for p in parts],
        **_span(parts),
        'topics_with_message_count': [
            {'topic_metadata': _topic(c), 'message_count': counts[topic]}
            for topic, c in topics.items()
        ],
        'compression_format': '',
        'compression_mode': '',
        'files': [{'path': p.name, **_span([p])} for p in parts],
        'custom_data': None,
        'ros_distro': 'rosbags',
    }


def offered_words(connection: Connection) -> tuple[str, ...]:
    """Return what the publishers of a topic offered, each kind once, in words."""
    assert isinstance(connection.ext, ConnectionExtRosbag2)
    words = [
        f'{qos.reliability.name}, {qos.durability.name}'.replace('_', ' ').lower()
        for qos in connection.ext.offered_qos_profiles
    ]
    return tuple(dict.fromkeys(words))


def qos_text(connection: Connection) -> str:
    """Return the offered QoS profiles of a topic as a file keeps them."""
    assert isinstance(connection.ext, ConnectionExtRosbag2)
    dumped = dump_qos_v9(connection.ext.offered_qos_profiles)
    return dumped if isinstance(dumped, str) else _yaml(dumped).strip()


def _read(directory: Path) -> dict[str, Any]:
    document = YAML(typ='safe').load((directory / FILE_NAME).read_text('utf-8'))
    about: dict[str, Any] = document['rosbag2_bagfile_information']
    return about


def _topic(connection: Connection) -> dict[str, Any]:
    assert isinstance(connection.ext, ConnectionExtRosbag2)
    return {
        'name': connection.topic,
        'type': connection.msgtype,
        'serialization_format': connection.ext.serialization_format,
        'offered_qos_profiles': dump_qos_v9(connection.ext.offered_qos_profiles),
        'type_description_hash': connection.digest,
    }


def _span(parts: Sequence[PartSummary]) -> dict[str, Any]:
    filled = [p for p in parts if p.messages]
    first = min((p.first_ns for p in filled), default=0)
    last = max((p.last_ns for p in filled), default=0)
    return {
        'starting_time': {'nanoseconds_since_epoch': first},
        'duration': {'nanoseconds': last - first},
        'message_count': sum(p.messages for p in parts),
    }


def _yaml(document: Any) -> str:
    yaml, stream = YAML(typ='safe'), StringIO()
    yaml.default_flow_style = False
    yaml.dump(document, stream)
    return stream.getvalue()
