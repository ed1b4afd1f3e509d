"""Static decompositions as JSON files: strict to read, one line an entry to look at.

    {"version": 1, "task": ..., "body": ..., "stages": [[{"phrase": ..., "predicate": ...}]], ...}

Every key is checked, an unknown one is refused, and durations that stand beside demonstrations
must be those that the demonstrations give, so that no number is changed by hand unseen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import FORMAT_VERSION
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.decomposition import DroppedSubtask
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.decomposition import Provenance
from structrl_ros.subtasks.decomposition import measured_durations
from structrl_ros.types import JsonObject

_TOP = {
    'version': int,
    'task': str,
    'body': str,
    'variant': str,
    'instruction': str,
    'stages': list,
    'durations': dict,
    'coverage': dict,
    'dropped': list,
    'demonstrations': dict,
    'provenance': dict,
}
_SUBTASK = {'phrase': str, 'predicate': str}
_DROPPED = {**_SUBTASK, 'filter': str, 'reason': str}
_PROVENANCE = {
    'source': str,
    'command': str,
    'demonstrator': str,
    'attempts': int,
    'resets': int,
    'idle': int,
}
_DEMONSTRATIONS = {'seeds': list, 'initial_states': list, 'steps': list, 'first_true': dict}
_SAME = 1e-9


def read_decomposition(path: Path) -> Decomposition:
    """Read a file.

    Raises:
        ParameterError: If it is missing, no JSON, of another version, or a field is wrong; one
            line that begins with the path.
    """
    try:
        document = json.loads(path.read_text(encoding='utf-8'), object_pairs_hook=_object)
    except OSError as error:
        raise ParameterError(f'{path}: {error.strerror}') from None
    except ParameterError as error:
        raise ParameterError(f'{path}: {error}') from None
    except (ValueError, RecursionError) as error:
        raise ParameterError(f'{path}: is no JSON: {" ".join(str(error).split())}') from None
    try:
        return decomposition_from_document(document)
    except ParameterError as error:
        raise ParameterError(f'{path}: {error}') from None


def write_decomposition(path: Path, decomposition: Decomposition) -> None:
    """Write a file that `read_decomposition` reads back as an equal value.

    Raises:
        ParameterError: If the file cannot be written.
    """
    text = _text(decomposition_to_document(decomposition)) + '\n'
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise ParameterError(f'{path}: {error.strerror}') from None


def decomposition_to_document(decomposition: Decomposition) -> JsonObject:
    """Return the document of a decomposition."""
    demos = decomposition.demonstrations
    names = sorted({name for demo in demos for name in demo.first_true})
    own = decomposition
    return {
        'version': FORMAT_VERSION,
        'task': own.task,
        'body': own.body,
        'variant': own.variant,
        'instruction': own.instruction,
        'stages': [[_fields(s, _SUBTASK) for s in stage] for stage in own.stages],
        'durations': {str(k): dict(v) for k, v in sorted(own.durations.items())},
        'coverage': dict(own.coverage),
        'dropped': [_fields(d, _DROPPED) for d in own.dropped],
        'demonstrations': {
            'seeds': [demo.seed for demo in demos],
            'initial_states': [demo.initial_state for demo in demos],
            'steps': [demo.steps for demo in demos],
            'first_true': {n: [demo.first_true.get(n) for demo in demos] for n in names},
        },
        'provenance': _fields(own.provenance, _PROVENANCE),
    }


def decomposition_from_document(document: Any) -> Decomposition:
    """Check a document and return its decomposition.

    Raises:
        ParameterError: Naming the field, what was got and what is allowed.
    """
    top = _checked(document, _TOP, '')
    if top['version'] != FORMAT_VERSION:
        raise ParameterError(f'version: {top["version"]}; allowed: {FORMAT_VERSION}')
    stages = []
    for index, stage in enumerate(top['stages']):
        if not isinstance(stage, list):
            raise ParameterError(f'stages.{index}: must be a list of subtasks')
        entries = [_checked(s, _SUBTASK, f'stages.{index}.{k}.') for k, s in enumerate(stage)]
        stages.append(tuple(GroundedSubtask(**entry) for entry in entries))
    dropped = [_checked(d, _DROPPED, f'dropped.{k}.') for k, d in enumerate(top['dropped'])]
    decomposition = Decomposition(
        task=top['task'],
        body=top['body'],
        instruction=top['instruction'],
        stages=tuple(stages),
        durations=_durations(top['durations']),
        coverage={n: _count(c, f'coverage.{n}') for n, c in top['coverage'].items()},
        dropped=tuple(DroppedSubtask(**entry) for entry in dropped),
        demonstrations=_demonstrations(top['demonstrations']),
        provenance=Provenance(**_checked(top['provenance'], _PROVENANCE, 'provenance.')),
        variant=top['variant'],
    )
    _check_measured(decomposition)
    return decomposition


def _check_measured(decomposition: Decomposition) -> None:
    """Refuse durations that are not those of the demonstrations in the same file."""
    if not decomposition.demonstrations:
        return
    for length, durations in decomposition.durations.items():
        measured, coverage = measured_durations(
            decomposition.stage_names, decomposition.demonstrations, length
        )
        for name in sorted({*measured, *durations}):
            own, given = measured.get(name), durations.get(name)
            if own is None or given is None or abs(own - given) > _SAME * own:
                raise ParameterError(
                    f'durations.{length}.{name}: {given}, but the demonstrations give {own}'
                )
        if dict(decomposition.coverage) != coverage:
            raise ParameterError('coverage: is not that of the demonstrations')


def _durations(document: Mapping[str, Any]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for key, durations in document.items():
        if not (key.isdecimal() and key.isascii()) or not isinstance(durations, dict):
            raise ParameterError(
                f'durations.{key}: allowed: chunk length, to an object of name to chunks'
            )
        for name, value in durations.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ParameterError(f'durations.{key}.{name}: must be chunks, got {value!r}')
        found[int(key)] = {name: float(value) for name, value in durations.items()}
    return found


def _demonstrations(document: Any) -> tuple[Demonstration, ...]:
    if document == {}:
        return ()
    checked = _checked(document, _DEMONSTRATIONS, 'demonstrations.')
    columns = [checked['seeds'], checked['initial_states'], checked['steps']]
    first_true = checked['first_true']
    size = len(columns[0])
    for values in (*columns, *first_true.values()):
        if not isinstance(values, list) or len(values) != size:
            raise ParameterError(f'demonstrations: every list must have {size} entries')
    for name, column in zip(_DEMONSTRATIONS, columns, strict=False):
        for value in column:
            _count(value, f'demonstrations.{name}')
    for name, column in first_true.items():
        for value in column:
            if value is not None:
                _count(value, f'demonstrations.first_true.{name}')
    return tuple(
        Demonstration(seed, state, steps, {n: values[i] for n, values in first_true.items()})
        for i, (seed, state, steps) in enumerate(zip(*columns, strict=True))
    )


def _count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(f'{place}: must be a whole number from 0, got {value!r}')
    return value


def _checked(document: Any, fields: Mapping[str, type], place: str) -> dict[str, Any]:
    """Return an object that has exactly these fields, of these types."""
    if not isinstance(document, dict):
        raise ParameterError(f'{place or "document"}: must be an object'.replace('.:', ':'))
    for key in document:
        if key not in fields:
            raise ParameterError(f'{place}{key}: unknown field; allowed: {", ".join(fields)}')
    for key, kind in fields.items():
        if key not in document:
            raise ParameterError(f'{place}{key}: missing')
        value = document[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ParameterError(f'{place}{key}: must be {_KINDS[kind]}, got {value!r:.60}')
    return document


_KINDS = {int: 'a whole number', str: 'text', list: 'a list', dict: 'an object'}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; a repeated key would silently drop a value."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ParameterError(f'{key}: stands twice in one object')
        found[key] = value
    return found


def _fields(value: object, fields: Mapping[str, type]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in fields}


def _text(value: Any, indent: str = '') -> str:
    """Return JSON in which an object or list without another inside stands on one line."""
    inside = value.values() if isinstance(value, dict) else value
    is_leaf = not isinstance(value, dict | list) or not any(
        isinstance(item, dict | list) for item in inside
    )
    if is_leaf:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = indent + ' '
    if isinstance(value, dict):
        items = [
            f'{json.dumps(k, ensure_ascii=False)}: {_text(v, deeper)}' for k, v in value.items()
        ]
    else:
        items = [_text(item, deeper) for item in value]
    opened, closed = ('{', '}') if isinstance(value, dict) else ('[', ']')
    joined = f',\n{deeper}'.join(items)
    return f'{opened}\n{deeper}{joined}\n{indent}{closed}'
