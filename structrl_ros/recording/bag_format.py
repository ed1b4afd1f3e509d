"""How a bag lies on disk, and the QoS that it keeps of a topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self
from typing import cast
from typing import get_args

from rosbags.interfaces import Qos
from rosbags.interfaces import QosDurability
from rosbags.interfaces import QosHistory
from rosbags.interfaces import QosLiveliness
from rosbags.interfaces import QosReliability
from rosbags.interfaces import QosTime

from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_parts import Compression
from structrl_ros.recording.bag_parts import Storage

_INFINITE = QosTime(9223372036, 854775807)


@dataclass(frozen=True, slots=True, kw_only=True)
class BagFormat:
    """How a bag lies on disk.

    Attributes:
        storage: mcap, or sqlite3 for tools that read no MCAP.
        compression: none, or zstd for the chunks of MCAP (smaller and slower).
        split_bytes: A part that is longer is closed; 0 never splits by size.
        split_seconds: A part that is older is closed; 0 never splits by time.
    """

    storage: Storage = 'mcap'
    compression: Compression = 'none'
    split_bytes: int = 0
    split_seconds: float = 0.0

    @classmethod
    def of_settings(
        cls, storage: str, compression: str, split_megabytes: float, split_seconds: float
    ) -> Self:
        """Return the format that parameters name.

        Raises:
            ParameterError: If it is not allowed.
        """
        return cls(
            storage=cast(Storage, storage),
            compression=cast(Compression, compression),
            split_bytes=round(split_megabytes * 1e6),
            split_seconds=split_seconds,
        )

    def __post_init__(self) -> None:
        """Refuse what is not allowed.

        Raises:
            ParameterError: Saying what is.
        """
        if self.storage not in get_args(Storage):
            allowed = ', '.join(get_args(Storage))
            raise ParameterError(f'storage {self.storage!r}; allowed: {allowed}')
        allowed = ', '.join(get_args(Compression)) if self.storage == 'mcap' else 'none'
        if self.compression not in allowed.split(', '):
            raise ParameterError(
                f'compression {self.compression!r} of {self.storage}; allowed: {allowed}'
            )
        if self.split_bytes < 0 or not 0.0 <= self.split_seconds < float('inf'):
            raise ParameterError(
                f'split at {self.split_bytes} bytes and {self.split_seconds} s; '
                'allowed: 0 (never) and more'
            )


@dataclass(frozen=True, slots=True)
class TopicQos:
    """What of a publisher's QoS a player needs to offer the same."""

    reliable: bool = True
    transient_local: bool = False
    depth: int = 10

    def profile(self) -> Qos:
        """Return the profile in the bag's form."""
        return Qos(
            QosHistory.KEEP_LAST,
            self.depth,
            QosReliability.RELIABLE if self.reliable else QosReliability.BEST_EFFORT,
            QosDurability.TRANSIENT_LOCAL if self.transient_local else QosDurability.VOLATILE,
            _INFINITE,
            _INFINITE,
            QosLiveliness.AUTOMATIC,
            _INFINITE,
            avoid_ros_namespace_conventions=False,
        )
