"""Bags of a recorder, one after another: a disk that fails ends a bag, and nothing else.

    bags = BagRecorder(BagFormat(), PublicationCounter(), failed=print)
    bags.begin(next_directory('runs/mine/bag'), {'/plan': ('structrl_msgs/msg/Plan', TopicQos())})
    bags.write('/plan', data)
    bags.end()

What is missing is noted in the bag, by topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from itertools import count
from pathlib import Path
from typing import Any

from structrl_ros.errors import BagError
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_metadata import MISSING
from structrl_ros.recording.bag_metadata import OFFERED
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.gaps import GapCounter
from structrl_ros.recording.gaps import PublicationCounter

#: Seconds for one write from which the disk is told as a reason for what is missing.
SLOW_S = 0.5


class BagRecorder:
    """Writes while it has a bag, counts what is missing, and raises for no fault of the disk.

    Attributes:
        error: Why the last bag stopped early or could not be made, '' if it did and could.
    """

    def __init__(
        self, form: BagFormat, publications: PublicationCounter, *, failed: Callable[[str], None]
    ) -> None:
        """Have no bag yet.

        Args:
            form: Of every bag.
            publications: What publishers sent and the recorder did not get; every bag begins it
                anew.
            failed: Told once why a bag could not go on.
        """
        self._form, self._publications, self._failed = form, publications, failed
        self._chunks = GapCounter()
        self._bag: BagWriter | None = None
        self._ended = 'nothing is recorded: parameter directory is empty'
        self.error = ''

    @property
    def is_open(self) -> bool:
        """Whether there is a bag, also one whose disk has failed."""
        return self._bag is not None

    @property
    def counts(self) -> Counter[str]:
        """Messages of the bag that is open, by the name of their topic."""
        return Counter() if self._bag is None else self._bag.counts

    @property
    def missing(self) -> Counter[str]:
        """Messages that the last bag should hold and does not, by the name of their topic."""
        return +(self._chunks.missing | self._publications.missing)

    @property
    def summary(self) -> str:
        """What is recorded, why nothing is, or what was, in a line."""
        if self.error:
            return self.error
        if self._bag is None:
            return self._ended
        missing = self.missing.total()
        holes = f', {missing} missing' if missing else ''
        if missing and self._bag.slowest_s > SLOW_S:
            holes += f' (the disk took {self._bag.slowest_s:.1f} s for a write)'
        return f'{self._bag.counts.total()} messages in {self._bag.path}{holes}'

    def numbers(self) -> dict[str, object]:
        """Return what /diagnostics tells of a bag."""
        gaps: dict[str, object] = {f'gap {name}': n for name, n in self.missing.items()}
        if self._bag is None:
            return gaps
        return gaps | {
            'messages': self._bag.counts.total(),
            'lost': self._bag.lost.total(),
            'slowest_write_s': f'{self._bag.slowest_s:.3f}',
        }

    def begin(self, path: Path, topics: Mapping[str, tuple[str, TopicQos]]) -> bool:
        """Begin a bag, and return whether it could be made.

        Args:
            path: Its folder.
            topics: Name to type (`package/msg/Name`) and QoS of its publishers.

        Raises:
            BagError: If the folder exists already, or a type is unknown.
        """
        if path.exists():
            raise BagError(f'{path} exists already; nothing is overwritten, give a new folder')
        self.error, self._chunks = '', GapCounter()
        self._publications.missing.clear()
        try:
            bag = BagWriter(path, form=self._form)
        except BagError as error:
            self._fail(error)
            return False
        for name, (kind, qos) in topics.items():
            bag.add_topic(name, kind, qos)
        self._bag = bag
        return True

    def write(self, name: str, data: bytes) -> None:
        """Write a serialised message; without a bag do nothing."""
        if self._bag is not None:
            self._try(self._bag.write, name, data)

    def see_chunk(self, name: str, episode: int, chunk: int) -> int:
        """Take the number of a message of a numbered topic; return how many lack before it."""
        return self._chunks.see(name, episode, chunk)

    def note_offer(self, name: str, offered: str) -> None:
        """Keep with the bag what the publishers of a topic offer, in words."""
        if self._bag is not None:
            self._bag.notes[f'{OFFERED}{name}'] = offered

    def flush_if_due(self) -> None:
        """Put on disk what has waited for a while; to be called once a second."""
        if self._bag is not None:
            self._note_missing(self._bag)
            self._try(self._bag.flush_if_due)

    def end(self) -> str:
        """End the bag, and return what it holds, or what the one before held."""
        if self._bag is not None:
            self._note_missing(self._bag)
            self._try(self._bag.close)
            self._ended = f'ended: {self.summary}'
            self._bag = None
        return self._ended

    def _note_missing(self, bag: BagWriter) -> None:
        bag.notes |= {f'{MISSING}{name}': str(n) for name, n in self.missing.items()}

    def _try(self, action: Callable[..., None], *arguments: Any) -> None:
        try:
            action(*arguments)
        except BagError as error:
            self._fail(error)

    def _fail(self, error: BagError) -> None:
        self.error = str(error)
        self._failed(self.error)


def next_directory(directory: str) -> Path:
    """Return a free folder for a bag: `directory`, else with _2, _3, ...; '': runs/<time>/bag."""
    if not directory:
        return Path('runs', datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3], 'bag')
    first = Path(directory).expanduser().absolute()
    others = (first.with_name(f'{first.name}_{number}') for number in count(2))
    return next(path for path in chain((first,), others) if not path.exists())
