"""The parquet files of a dataset: columns of frames, of episodes, and the tables of words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.layout import Feature

#: A picture in a table: a PNG file, as the Hugging Face library `datasets` has it.
_PICTURE = pa.struct([('bytes', pa.binary()), ('path', pa.string())])
_SCALARS = {
    'float32': pa.float32(),
    'float64': pa.float64(),
    'int64': pa.int64(),
    'int32': pa.int32(),
    'uint8': pa.uint8(),
    'bool': pa.bool_(),
    'string': pa.string(),
}


def frame_schema(features: Mapping[str, Feature]) -> pa.Schema:
    """Return the schema of `data/`; a video lies beside it, a picture in it.

    The metadata tells the viewers of the hub which columns are pictures.
    """
    fields, known = [], {}
    for key, feature in features.items():
        if feature.dtype == 'video':
            continue
        if feature.dtype == 'image':
            fields.append((key, _PICTURE))
            known[key] = {'_type': 'Image'}
            continue
        value: Any = {'dtype': feature.dtype, '_type': 'Value'}
        kind = _SCALARS[feature.dtype]
        if feature.shape != (1,):
            value = {'feature': value, 'length': feature.shape[0], '_type': 'List'}
            kind = pa.list_(kind, feature.shape[0])
        fields.append((key, kind))
        known[key] = value
    text = json.dumps({'info': {'features': known}})
    return pa.schema(fields, metadata={'huggingface': text})


def frame_table(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    """Return a table of arrays (T,) and (T, n), and of lists of PNG files.

    Args:
        columns: One entry for each field of the schema, arrays of its type.
        schema: Of `frame_schema`.
    """
    arrays = []
    for field in schema:
        values = columns[field.name]
        if field.type == _PICTURE:
            rows = [{'bytes': png, 'path': None} for png in values]
            arrays.append(pa.array(rows, type=_PICTURE))
        elif pa.types.is_fixed_size_list(field.type):
            flat = pa.array(np.ascontiguousarray(values).ravel(), type=field.type.value_type)
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, field.type.list_size))
        else:
            arrays.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def write_words(path: Path, name: str, words: Sequence[str]) -> None:
    """Write a table from words to their numbers, as pandas does: the words are the index."""
    columns = [
        {
            'name': f'{name}_index',
            'field_name': f'{name}_index',
            'pandas_type': 'int64',
            'numpy_type': 'int64',
            'metadata': None,
        },
        {
            'name': name,
            'field_name': name,
            'pandas_type': 'unicode',
            'numpy_type': 'object',
            'metadata': None,
        },
    ]
    pandas = {
        'index_columns': [name],
        'column_indexes': [],
        'columns': columns,
        'creator': {'library': 'pyarrow', 'version': pa.__version__},
        'pandas_version': '2.0.0',
    }
    numbers = pa.array(range(len(words)), pa.int64())
    table = pa.table({f'{name}_index': numbers, name: pa.array(list(words), pa.string())})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({'pandas': json.dumps(pandas)}), path)


def read_words(path: Path, name: str) -> dict[int, str]:
    """Return number -> words of `tasks.parquet` or `subtasks.parquet`.

    Raises:
        DatasetError: If the file is missing, cut or of another layout.
    """
    table = read_table(path)
    texts = next((c for c in (name, '__index_level_0__') if c in table.column_names), None)
    if texts is None or f'{name}_index' not in table.column_names:
        got = ', '.join(table.column_names)
        raise DatasetError(f'{path} has columns {got}; allowed: {name}_index and {name}')
    numbers = table.column(f'{name}_index').to_pylist()
    return {int(n): str(t) for n, t in zip(numbers, table.column(texts).to_pylist(), strict=True)}


def read_table(
    path: Path, columns: Sequence[str] | None = None, episode: int | None = None
) -> pa.Table:
    """Read a parquet file, or one episode's rows of it.

    Raises:
        DatasetError: If the file is missing, cut, or lacks a column.
    """
    if not path.is_file():
        raise DatasetError(f'{path} is missing')
    wanted = None if episode is None else [('episode_index', '=', episode)]
    try:
        table = pq.read_table(path, columns=columns, filters=wanted, partitioning=None)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetError(f'{path} is cut or no parquet file: {reason}') from None
    missing = sorted(set(columns or ()) - set(table.column_names))
    if missing:
        raise DatasetError(f'{path} has no column {", ".join(missing)}')
    return table


def column_array(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a column of numbers as an array (T,) or (T, n).

    Raises:
        DatasetError: If the rows are of unequal length, or one is missing.
    """
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise DatasetError(f'column {name} has {column.null_count} empty rows; allowed: none')
    try:
        if pa.types.is_nested(column.type):
            return np.array(column.to_pylist())
        return np.asarray(column.to_numpy(zero_copy_only=False))
    except (ValueError, pa.ArrowException) as error:
        raise DatasetError(f'column {name} has rows of unequal length: {error}') from None


def picture_files(table: pa.Table, name: str) -> list[bytes]:
    """Return the files of a column of pictures.

    Raises:
        DatasetError: If the pictures do not lie in the table.
    """
    rows = table.column(name).to_pylist()
    files = [row.get('bytes') if isinstance(row, dict) else None for row in rows]
    if any(f is None for f in files):
        raise DatasetError(f'column {name} holds no pictures; allowed: PNG or JPEG files in rows')
    return [f for f in files if f is not None]
