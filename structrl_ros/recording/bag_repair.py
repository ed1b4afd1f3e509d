"""Finish a bag that was cut by SIGKILL, a power loss or a full disk."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rosbags.interfaces import Connection
from rosbags.interfaces import ConnectionExtRosbag2
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import dump_qos_v9
from ruamel.yaml import YAML

from structrl_ros.errors import BagError
from structrl_ros.recording.mcap_finish import finish_mcap
from structrl_ros.recording.message_types import message_types


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repaired bag holds, in messages a topic; `dropped_bytes` of a torn end are gone."""

    counts: Mapping[str, int]
    dropped_bytes: int

    @property
    def messages(self) -> int:
        """Number of messages in the bag."""
        return sum(self.counts.values())


def bag_file(directory: Path) -> Path:
    """Return the one `.mcap` file of a bag.

    Raises:
        BagError: If there is none or more than one.
    """
    files = sorted(directory.glob('*.mcap'))
    if len(files) != 1:
        raise BagError(f'{directory} holds {len(files)} .mcap files; allowed: one')
    return files[0]


def repair_bag(directory: Path) -> RepairReport:
    """Finish a cut bag in place: drop the torn end, write the index and metadata.yaml.

    Raises:
        BagError: If the folder holds no bag, or its file is damaged.
        OSError: If the disk refuses.
    """
    path = bag_file(directory)
    size = path.stat().st_size
    kept = finish_mcap(path)
    connections = _write_metadata(directory, path)
    return RepairReport({c.topic: c.msgcount for c in connections}, max(0, size - kept))


def _write_metadata(directory: Path, path: Path) -> list[Connection]:
    try:
        with Reader(path) as bag:
            connections, count = list(bag.connections), bag.message_count
            start = bag.start_time if count else 0
            duration = max(0, bag.duration - 1)
    except ReaderError as error:
        raise BagError(f'{path} cannot be read after its repair: {error}') from error
    span = {
        'starting_time': {'nanoseconds_since_epoch': start},
        'duration': {'nanoseconds': duration},
        'message_count': count,
    }
    information = {
        'version': 9,
        'storage_identifier': 'mcap',
        'relative_file_paths': [path.name],
        **span,
        'topics_with_message_count': _topics(connections),
        'compression_format': '',
        'compression_mode': '',
        'files': [{'path': path.name, **span}],
        'custom_data': None,
        'ros_distro': 'rosbags',
    }
    yaml = YAML(typ='safe')
    yaml.default_flow_style = False
    part = directory / 'metadata.yaml.tmp'
    with part.open('w', encoding='utf-8') as stream:
        yaml.dump({'rosbag2_bagfile_information': information}, stream)
    part.replace(directory / 'metadata.yaml')
    return connections


def _topics(connections: Sequence[Connection]) -> list[dict[str, Any]]:
    store = message_types()
    return [
        {
            'topic_metadata': {
                'name': c.topic,
                'type': c.msgtype,
                'serialization_format': c.ext.serialization_format,
                'offered_qos_profiles': dump_qos_v9(c.ext.offered_qos_profiles),
                'type_description_hash': (
                    store.hash_rihs01(c.msgtype) if c.msgtype in store.fielddefs else ''
                ),
            },
            'message_count': c.msgcount,
        }
        for c in connections
        if isinstance(c.ext, ConnectionExtRosbag2)
    ]
