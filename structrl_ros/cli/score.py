"""`structrl score KIND FILE`: the core's functions on recorded numbers, without ROS."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from structrl_ros.cli.score_kinds import KINDS
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.errors import StructRLError
from structrl_ros.types import JsonObject


def score_command(kind: str, file: str) -> int:
    """Score a file and print the result as JSON; each failed case is a line on stderr too.

    Args:
        kind: What to score, a key of `KINDS`.
        file: A JSON document, or '-' for standard input.

    Returns:
        Exit status: 1 if any case failed, else 0.

    Raises:
        ParameterError: If the kind is unknown, or the file is missing or no such document.
    """
    _check_kind(kind)
    result, is_fine = score_document(kind, _read(file))
    for case in result['cases']:
        if 'error' in case:
            sys.stderr.write(f'structrl score: {case["error"]}\n')
    json.dump(result, sys.stdout, allow_nan=False)
    sys.stdout.write('\n')
    return 0 if is_fine else 1


def score_document(kind: str, document: JsonObject) -> tuple[JsonObject, bool]:
    """Score every case of a document; a wrong case does not stop the others.

    Args:
        kind: What to score, a key of `KINDS`.
        document: {"cases": [{"input": {...}}, ...]}.

    Returns:
        {"kind": ..., "cases": [{"output": {...}} or {"error": "..."}, ...]} in the same order,
        and whether every case was fine.

    Raises:
        ParameterError: If the kind is unknown, the document has no list of cases, or it says that
            it is of another kind.
    """
    _check_kind(kind)
    cases = document.get('cases') if isinstance(document, dict) else None
    if not isinstance(cases, list):
        raise ParameterError('the document must be an object with a list "cases"')
    if document.get('kind', kind) != kind:
        raise ParameterError(f'the document is of kind {document["kind"]!r}, not {kind!r}')
    scored = [_score_case(kind, index, case) for index, case in enumerate(cases)]
    return {'kind': kind, 'cases': scored}, not any('error' in case for case in scored)


def _score_case(kind: str, index: int, case: Any) -> JsonObject:
    name = case.get('name') if isinstance(case, dict) else None
    place = f'cases[{index}]' + (f' ({name})' if isinstance(name, str) else '')
    model, function = KINDS[kind]
    if not isinstance(case, dict) or not isinstance(case.get('input'), dict):
        return {'error': f'{place}: input: must be an object'}
    try:
        with np.errstate(all='ignore'):  # an overflow is reported below, once
            output = function(model.model_validate(case['input']))
    except ValidationError as error:
        return {'error': f'{place}: {_first_fault(error)}'}
    except PlanSyntaxError as error:
        # That a text holds no plan is an answer about the text, so it is the output as well.
        return {'error': f'{place}: {_one_line(error)}', 'output': {'error': _one_line(error)}}
    except StructRLError as error:
        return {'error': f'{place}: {_one_line(error)}'}
    if not _is_finite(output):
        return {'error': f'{place}: output: overflows; the numbers of the input are too large'}
    return {'output': output}


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    field = '.'.join(str(part) for part in fault['loc'] if not _is_branch(part))
    if fault['type'] == 'extra_forbidden':
        allowed = f'; allowed: {", ".join(_fields(error))}' if len(fault['loc']) == 1 else ''
        return f'{field}: unknown field{allowed}'
    if fault['type'] == 'missing':
        return f'{field}: missing'
    got = repr(fault['input'])
    shown = got if len(got) <= 60 else f'{got[:57]}...'
    return f'{field}: {fault["msg"]}, got {shown}'


def _is_branch(part: int | str) -> bool:
    """Tell whether a place in a location is pydantic's name of a union's branch."""
    return isinstance(part, str) and part in (
        'int',
        'str',
        'float',
        'nullable',
        'constrained-float',
    )


def _fields(error: ValidationError) -> list[str]:
    models = {model.__name__: model for model, _ in KINDS.values()}
    fields = models[error.title].model_fields if error.title in models else {}
    return [field.alias or name for name, field in fields.items()]


def _one_line(error: Exception) -> str:
    return ' '.join(str(error).split())


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ParameterError(f'unknown kind {kind!r}; known: {", ".join(KINDS)}')


def _read(file: str) -> JsonObject:
    try:
        text = sys.stdin.read() if file == '-' else Path(file).read_text(encoding='utf-8')
        document = json.loads(text)
    except OSError as error:
        raise ParameterError(f'{file}: {error.strerror}') from None
    except UnicodeDecodeError:
        raise ParameterError(f'{file}: is no UTF-8 text') from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ParameterError(f'{file}: is no JSON: {_one_line(error)}') from None
    if not isinstance(document, dict):
        raise ParameterError(f'{file}: must hold a JSON object, got {type(document).__name__}')
    return document
