"""A LEAP set on disk: parquet files with the pictures inside, a split each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from structrl_ros.errors import DatasetError
from structrl_ros.models.whole_files import whole_file
from structrl_ros.recording.lerobot.tables import read_table
from structrl_ros.training.leap_rows import KINDS
from structrl_ros.training.leap_rows import LeapRow

SPLITS = ('train', 'test')
DATA = 'data'

#: Rows of a row group: what a reader has to hold at once.
_GROUP = 256

_PICTURE = pa.struct([('bytes', pa.binary()), ('path', pa.string())])
_TYPES = {
    'seed': pa.int64(),
    'initial_state': pa.int64(),
    'correct': pa.int64(),
    'done': pa.bool_(),
    'objects': pa.list_(pa.string()),
    'plan': pa.list_(pa.string()),
    'distractors': pa.list_(pa.string()),
    'roles': pa.list_(pa.string()),
    'options': pa.list_(pa.list_(pa.string())),
    'images': pa.list_(_PICTURE),
}


def split_path(folder: Path, split: str) -> Path:
    """Return where a split lies."""
    return folder / DATA / f'{split}.parquet'


def write_split(folder: Path, split: str, rows: Sequence[LeapRow]) -> None:
    """Write a split, whole or not at all; a split without rows is no file.

    Raises:
        CheckpointError: If the disk refuses.
    """
    path = split_path(folder, split)
    if not rows:
        path.unlink(missing_ok=True)
        return
    schema = _schema()
    with whole_file(path) as new, pq.ParquetWriter(new, schema, compression='zstd') as writer:
        for first in range(0, len(rows), _GROUP):
            documents = [_document(row) for row in rows[first : first + _GROUP]]
            writer.write_table(pa.Table.from_pylist(documents, schema=schema))


def read_split(folder: Path, split: str, kinds: Sequence[str] = KINDS) -> list[LeapRow]:
    """Return the rows of a split, of some kinds.

    Raises:
        DatasetError: If there is no such split, or its file is cut or of another layout.
    """
    path = split_path(folder, split)
    if not path.is_file():
        have = ', '.join(s for s in SPLITS if split_path(folder, s).is_file()) or 'none'
        raise DatasetError(f'{folder} has no split {split!r}; it has {have}')
    names = [field.name for field in dataclasses.fields(LeapRow)]
    table = read_table(path, names)
    for name in names:
        if table.schema.field(name).type != _type(name):
            got = table.schema.field(name).type
            raise DatasetError(f'{path}: column {name} is {got}; allowed: {_type(name)}')
    return [row for row in _rows(table, path) if row.kind in kinds]


def _rows(table: pa.Table, path: Path) -> Iterator[LeapRow]:
    for number, document in enumerate(table.to_pylist()):
        try:
            files = tuple(image['bytes'] for image in document['images'])
            words = {n: tuple(document[n]) for n in ('objects', 'plan', 'distractors', 'roles')}
            options = tuple(tuple(option) for option in document['options'])
            row = LeapRow(**{**document, **words, 'options': options, 'images': files})
        except (TypeError, KeyError) as error:
            raise DatasetError(f'{path}: row {number} is not whole: {error}') from None
        _check(row, path, number)
        yield row


def _check(row: LeapRow, path: Path, number: int) -> None:
    """Refuse a row that cannot be asked."""
    is_whole = row.kind in KINDS and bool(row.plan) and bool(row.roles)
    is_whole = is_whole and len(row.images) % len(row.roles) == 0
    if row.kind == 'completion':
        is_whole &= row.done is not None and len(row.images) == 2 * len(row.roles)
    if row.kind == 'choice':
        is_whole &= len(row.options) == 4 and 0 <= row.correct < 4
    if not is_whole:
        raise DatasetError(f'{path}: row {number} ({row.id}) is no {row.kind}; make the set again')


def _document(row: LeapRow) -> dict[str, Any]:
    document = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    document['images'] = [{'bytes': file, 'path': None} for file in row.images]
    return document


def _type(name: str) -> pa.DataType:
    return _TYPES.get(name, pa.string())


def _schema() -> pa.Schema:
    """Return the schema; its metadata tell viewers which column holds pictures."""
    fields = [(field.name, _type(field.name)) for field in dataclasses.fields(LeapRow)]
    known = {name: _feature(kind) for name, kind in fields}
    text = json.dumps({'info': {'features': known}})
    return pa.schema(fields, metadata={'huggingface': text})


def _feature(kind: pa.DataType) -> dict[str, Any]:
    """Return a type as the library `datasets` writes it."""
    if kind == _PICTURE:
        return {'_type': 'Image'}
    if pa.types.is_list(kind):
        return {'feature': _feature(kind.value_type), '_type': 'List'}
    return {'dtype': str(kind), '_type': 'Value'}
