"""The table of episodes of a report: rows that can be sorted and filtered, with small pictures."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from structrl_ros.errors import BagError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.types import UInt8

#: Folder of the pictures in that of an evaluation; a file is called NUMBER.jpg.
PICTURES = 'pictures'
#: Longest side of a small picture in pixels, and JPEG quality.
_SIDE, _QUALITY = 96, 70

#: Number of an episode to the JPEG bytes of its picture.
Pictures = Mapping[int, bytes]


@dataclass(frozen=True, slots=True)
class Column:
    """A column; one that `is_choice` can be filtered by its values."""

    name: str
    is_number: bool = False
    is_choice: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns, and places of pictures in `EpisodeTable.pictures`."""

    cells: tuple[str, ...]
    pictures: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class EpisodeTable:
    """What the table shows; `pictures` are base64 of JPEG, decoded when they come into view."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    pictures: tuple[str, ...]

    def choices(self, place: int) -> list[str]:
        """Return the values of a column, in order."""
        return sorted({row.cells[place] for row in self.rows})


#: Columns of `_start`.
_START = (
    Column('Task', is_choice=True),
    Column('Seed', is_number=True),
    Column('State', is_number=True),
    Column('Repeat', is_number=True),
)


def save_picture(folder: Path, number: int, pixels: UInt8) -> None:
    """Keep a small picture of an episode in the folder of its evaluation.

    Args:
        folder: Of the evaluation.
        number: Place of the episode in the schedule.
        pixels: RGB, shape (H, W, 3).

    Raises:
        BagError: If it cannot be written.
    """
    image = Image.fromarray(pixels)
    image.thumbnail((_SIDE, _SIDE))
    out = io.BytesIO()
    image.save(out, 'JPEG', quality=_QUALITY, optimize=True)
    try:
        (folder / PICTURES).mkdir(exist_ok=True)
        (folder / PICTURES / f'{number}.jpg').write_bytes(out.getvalue())
    except OSError as error:
        raise BagError(f'cannot save a picture in {folder}: {error.strerror}') from None


def load_pictures(folder: Path) -> dict[int, bytes]:
    """Return the pictures of an evaluation's folder; {} if there are none."""
    files = (folder / PICTURES).glob('*.jpg')
    return {int(f.stem): f.read_bytes() for f in files if f.stem.isdecimal()}


def episode_table(results: EvaluationResults, pictures: Pictures) -> EpisodeTable:
    """Return a row an episode, in the order of the schedule."""
    store = _Store()
    rows = []
    for e in results.episodes:
        done = sum(is_done for _, is_done in e.subtasks)
        cells = (
            str(e.number),
            results.label(e.code),
            *_start(e),
            'success' if e.success else 'failure',
            e.cause.replace('_', ' '),
            e.cause_detail,
            f'{done} of {len(e.subtasks)}' if e.subtasks else '-',
            f'{e.duration_s:.1f}',
            str(e.interventions),
            str(e.safety_stops),
            f'{e.episode_return:.3f}',
        )
        rows.append(Row(cells, store.add((e, pictures, ''))))
    names = ('Subtasks', 'Time (s)', 'Takeovers', 'Stops', 'Return')
    columns = (
        Column('No.', is_number=True),
        Column('Policy', is_choice=True),
        *_START,
        Column('Result', is_choice=True),
        Column('Cause', is_choice=True),
        Column('About'),
        *(Column(name, is_number=True) for name in names),
    )
    return EpisodeTable(columns, tuple(rows), tuple(store.kept))


def pair_table(
    pairs: Sequence[tuple[EpisodeRecord, EpisodeRecord]],
    labels: tuple[str, str],
    pictures: tuple[Pictures, Pictures],
) -> EpisodeTable:
    """Return a row a pair of episodes of policies A and B from one start."""
    store = _Store()
    rows = []
    for a, b in pairs:
        cells = (
            *_start(a),
            _pair_result(a.success, b.success, labels),
            *(' '.join((e.cause.replace('_', ' '), e.cause_detail)).strip() for e in (a, b)),
            *(f'{e.duration_s:.1f}' for e in (a, b)),
            *(f'{e.episode_return:.3f}' for e in (a, b)),
        )
        shown = zip((a, b), pictures, labels, strict=True)
        rows.append(Row(cells, store.add(*shown)))
    columns = (
        *_START,
        Column('Success', is_choice=True),
        *(Column(f'Cause, {label}') for label in labels),
        *(Column(f'Time (s), {label}', is_number=True) for label in labels),
        *(Column(f'Return, {label}', is_number=True) for label in labels),
    )
    return EpisodeTable(columns, tuple(rows), tuple(store.kept))


def _start(episode: EpisodeRecord) -> tuple[str, ...]:
    numbers = (episode.seed, episode.initial_state, episode.repetition)
    return episode.task, *map(str, numbers)


def _pair_result(a: bool, b: bool, labels: tuple[str, str]) -> str:
    if a == b:
        return 'both' if a else 'neither'
    return f'only {labels[0] if a else labels[1]}'


class _Store:
    """Collects the pictures of rows."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def add(self, *shown: tuple[EpisodeRecord, Pictures, str]) -> tuple[tuple[int, str], ...]:
        """Return place and text alternative of the pictures that there are."""
        found = []
        for episode, pictures, label in shown:
            if jpeg := pictures.get(episode.number):
                by = f' of {label}' if label else ''
                found.append((len(self.kept), f'Episode {episode.number}{by}'))
                self.kept.append(b64encode(jpeg).decode('ascii'))
        return tuple(found)
