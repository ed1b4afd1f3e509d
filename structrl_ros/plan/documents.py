"""JSON plans: the accepted shapes, bare or in a fence, as raw steps grouped in stages.

Shapes: `{"stages": [[phrase]]}` (StructRL, Appendix B.1), `[[phrase]]`, `[phrase]`,
`[{"action": ..., "objects": [...]}]`, and `{"plan": ...}` or `{"subtasks": ...}` around them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from typing import NoReturn

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.plan.grammar import quote

KEYS = ('stages', 'plan', 'subtasks')

_FENCE = '```'
_LANGUAGE = re.compile(r'[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n|[ \t]*json(?=[\s\[{])', re.IGNORECASE)
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class RawStep:
    """A step before the grammar has read it: a phrase, or an action with its objects."""

    phrase: str | None
    action: str | None
    objects: tuple[str, ...] | None
    position: int | None


def read_document(body: str, offset: int) -> list[list[RawStep]] | None:
    """Return the stages of the JSON plan in the text, or None if the text holds no JSON.

    Args:
        body: Text in which to look: the whole of it, then each fence, first that parses.
        offset: Position of `body` in the model's text, for errors.

    Raises:
        PlanSyntaxError: If the JSON repeats a key, holds NaN, has another shape, or is broken.
    """
    failure: json.JSONDecodeError | None = None
    for content, start in ((body, 0), *_fences(body)):
        try:
            document = _load(content)
        except json.JSONDecodeError as error:
            if content.lstrip()[:1] in {'[', '{'} and failure is None:
                failure = error
                failed_at = offset + start + error.pos
        except (PlanSyntaxError, RecursionError) as error:
            message = 'JSON is nested too deep' if isinstance(error, RecursionError) else error
            raise PlanSyntaxError(f'{message}', position=offset + start) from None
        else:
            return _stages(document, offset + start, 0)
    if failure is not None:
        raise PlanSyntaxError(f'broken JSON: {failure.msg}', position=failed_at)
    return None


def _fences(body: str) -> list[tuple[str, int]]:
    """Return the inside of every closed fence, without its language word, and its position."""
    pieces = body.split(_FENCE)
    fences = []
    position = 0
    for i, piece in enumerate(pieces):
        if i % 2 == 1 and i < len(pieces) - 1:
            language = _LANGUAGE.match(piece)
            skip = 0 if language is None else language.end()
            fences.append((piece[skip:], position + skip))
        position += len(piece) + len(_FENCE)
    return fences


def _load(content: str) -> Any:
    """Parse JSON strictly: no repeated key, no NaN or infinity."""
    return json.loads(
        content.strip(' \t\r\n\v\f'),
        object_pairs_hook=_object,
        parse_constant=_refuse_constant,
        parse_int=float,
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; a repeated key would silently drop a part of the plan."""
    keys = {}
    for key, value in pairs:
        if key in keys:
            raise PlanSyntaxError(f'JSON repeats the key {quote(key)}')
        keys[key] = value
    return keys


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which are no JSON."""
    raise PlanSyntaxError(f'JSON holds {name}')


def _stages(document: Any, position: int, depth: int) -> list[list[RawStep]]:
    """Return the stages of a parsed document."""
    if isinstance(document, dict):
        present = [k for k in KEYS if k in document]
        if len(present) != 1 or depth >= _MAX_DEPTH:
            found = ', '.join(quote(k) for k in list(document)[:5]) or 'no key'
            raise PlanSyntaxError(
                f'a JSON plan needs one of the keys {", ".join(KEYS)}, got {found}',
                position=position,
            )
        if present == ['stages'] and not _is_nested(document['stages']):
            raise PlanSyntaxError('stages must be a list of lists of steps', position=position)
        return _stages(document[present[0]], position, depth + 1)
    if not isinstance(document, list):
        raise PlanSyntaxError(
            f'a JSON plan must be a list or an object, got {_kind(document)}', position=position
        )
    if document and _is_nested(document):
        if not all(document):
            empty = next(i for i, stage in enumerate(document) if not stage)
            raise PlanSyntaxError(f'stage {empty + 1} is empty', position=position)
        return [[_raw_step(s, i + 1, position) for s in stage] for i, stage in enumerate(document)]
    return [[_raw_step(s, i + 1, position)] for i, s in enumerate(document)]


def _is_nested(document: Any) -> bool:
    """Tell whether the document is a list of lists."""
    return isinstance(document, list) and all(isinstance(s, list) for s in document)


def _raw_step(item: Any, number: int, position: int) -> RawStep:
    """Return one item of the document as a raw step."""
    if isinstance(item, str):
        return RawStep(item, None, None, None)
    if not isinstance(item, dict):
        raise PlanSyntaxError(
            f'step or stage {number} must be a phrase or an object, got {_kind(item)}',
            position=position,
        )
    action, objects = item.get('action'), item.get('objects')
    if not isinstance(action, str):
        raise PlanSyntaxError(f'step {number}: "action" must be text', position=position)
    if not isinstance(objects, list) or not all(isinstance(o, str) for o in objects):
        raise PlanSyntaxError(
            f'step {number}: "objects" must be a list of text', position=position
        )
    return RawStep(None, action, tuple(objects), None)


def _kind(value: Any) -> str:
    """Return what JSON calls the type of a value."""
    names = {
        bool: 'true or false',
        float: 'a number',
        str: 'text',
        list: 'a list',
        dict: 'an object',
    }
    return 'null' if value is None else names.get(type(value), 'a value')
