"""What bags hold for a dataset: cameras, steps, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.lerobot.signals import Signals
from structrl_ros.recording.lerobot.signals import read_signals
from structrl_ros.recording.lerobot.steps import Extraction
from structrl_ros.recording.lerobot.steps import RecordedEpisode
from structrl_ros.recording.lerobot.steps import episode_steps
from structrl_ros.recording.lerobot.videos import ENCODERS
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import ROLES
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What to export.

    Attributes:
        bags: Folders of bags.
        out: Folder of the dataset; it must not exist.
        pictures: 'video' or 'images' demand pictures; '' makes videos where there are any.
        roles: Cameras to take; empty takes all that every bag has.
        codec: Of the videos, a key of `videos.ENCODERS`.
        max_age_s: How old an observation may be at the beginning of a step.
        fill: Take older ones too.
        successes: Leave out episodes without success.
    """

    bags: tuple[Path, ...]
    out: Path
    pictures: str = ''
    roles: tuple[str, ...] = ()
    codec: str = 'av1'
    max_age_s: float = 0.2
    fill: bool = False
    successes: bool = False

    def __post_init__(self) -> None:
        """Refuse what is not allowed.

        Raises:
            ParameterError: Saying what is.
        """
        if self.codec not in ENCODERS:
            raise ParameterError(f'codec {self.codec!r}; allowed: {", ".join(ENCODERS)}')
        if unknown := sorted(set(self.roles) - set(ROLES)):
            raise ParameterError(f'camera {", ".join(unknown)}; allowed: {", ".join(ROLES)}')
        if not 0.0 <= self.max_age_s < float('inf'):
            raise ParameterError(f'max age {self.max_age_s} s; allowed: 0 and more')
        if not self.bags:
            raise ParameterError('no bag; allowed: one or more')


@dataclass(frozen=True, slots=True)
class Source:
    """A bag that was looked at: everything but its pictures."""

    reader: BagReader
    signals: Signals
    rate_hz: int
    action_space: str
    episodes: tuple[RecordedEpisode, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What all episodes of a dataset must have in common."""

    rate_hz: int
    action_space: str
    action_size: int
    state_names: tuple[str, ...]


def read_sources(request: ExportRequest) -> tuple[list[Source], tuple[str, ...]]:
    """Return the bags of a request, looked at, and the cameras to export.

    Raises:
        BagError: If a bag is missing or cannot give the steps, with the place.
    """
    readers = [BagReader(bag) for bag in request.bags]
    signals = [read_signals(reader) for reader in readers]
    roles = _roles(request, readers, signals)
    found = [_source(r, s, roles, request) for r, s in zip(readers, signals, strict=True)]
    return found, roles


def _roles(
    request: ExportRequest, readers: Sequence[BagReader], signals: Sequence[Signals]
) -> tuple[str, ...]:
    """Return the cameras to export.

    Raises:
        BagError: If pictures are asked for and a bag has none.
    """
    wanted = request.roles
    for reader, signal in zip(readers, signals, strict=True):
        missing = [role for role in wanted if role not in signal.cameras]
        if missing or (request.pictures and not signal.cameras):
            what = f'no pictures of {", ".join(missing)}' if missing else 'no pictures'
            have = ', '.join(signal.cameras) or 'none'
            raise BagError(f'{reader.path} holds {what}; recorded cameras: {have}')
    return tuple(
        r for r in ROLES if (r in wanted or not wanted) and all(r in s.cameras for s in signals)
    )


def _source(
    reader: BagReader, signals: Signals, roles: tuple[str, ...], request: ExportRequest
) -> Source:
    events = read_events(reader.path)
    if not events.of(ChunkDone):
        raise BagError(f'{reader.path} holds no chunk_done: nothing says what was executed')
    rate_hz = _rate_hz(reader.path, events)
    spaces = sorted({c.action_space for c in events.of(ActionChunk)})
    if len(spaces) != 1:
        raise BagError(f'{reader.path} has action spaces {", ".join(spaces)}; allowed: one')
    how = Extraction(
        period_ns=round(1e9 / rate_hz),
        roles=roles,
        max_age_s=request.max_age_s,
        fill=request.fill,
    )
    found = []
    for number in events.episode_numbers():
        try:
            episode = episode_steps(events.of_episode(number), signals, how)
        except BagError as error:
            raise BagError(f'{reader.path}: {error}') from None
        if episode is not None and (episode.success or not request.successes):
            found.append(episode)
    return Source(reader, signals, rate_hz, spaces[0], tuple(found))


def _rate_hz(bag: Path, events: RunEvents) -> int:
    periods = sorted({c.step_period for c in events.of(ActionChunk)})
    if len(periods) != 1 or periods[0] <= 0.0:
        got = ', '.join(f'{p:g} s' for p in periods) or 'none (no action_chunk)'
        raise BagError(f'{bag} has control periods {got}; allowed: one')
    rate_hz = 1.0 / periods[0]
    if abs(rate_hz - round(rate_hz)) > 1e-6 or rate_hz < 0.5:
        raise BagError(f'{bag} was controlled at {rate_hz:g} Hz; allowed: a whole number')
    return round(rate_hz)


def common_shape(sources: Sequence[Source]) -> Shape:
    """Return what all episodes have in common.

    Raises:
        BagError: If there is no episode with a step.
        DatasetError: If the episodes do not go together.
    """
    shapes: dict[Shape, Path] = {}
    for source in sources:
        names = (*source.signals.joints.names, *source.signals.pose.names)
        for size in {e.steps.action.shape[1] for e in source.episodes}:
            shape = Shape(source.rate_hz, source.action_space, size, names)
            shapes[shape] = source.reader.path
    if not shapes:
        raise BagError('no episode with a step to export; allowed: one or more')
    if len(shapes) > 1:
        told = '; '.join(
            f'{path}: {s.rate_hz} Hz, {s.action_space} of {s.action_size}, '
            f'state of {", ".join(s.state_names)}'
            for s, path in shapes.items()
        )
        raise DatasetError(f'the episodes do not go together: {told}; allowed: all alike')
    return next(iter(shapes))
