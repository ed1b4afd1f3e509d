"""Settings from a YAML file and `key:=value` words; unknown keys are refused in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import TypeVar

import yaml
from pydantic import BaseModel
from pydantic import ValidationError

from structrl_ros.errors import ParameterError
from structrl_ros.training.settings import RunSettings

Settings = TypeVar('Settings', bound=BaseModel)

#: Where the configurations lie that ship with the package.
CONFIGS = Path(__file__).parent / 'configs'


def make_settings(
    kind: type[Settings],
    document: Mapping[str, Any],
    assignments: Mapping[str, str] | None = None,
) -> Settings:
    """Return checked settings: the defaults, then the document, then the assignments.

    Args:
        kind: Class of the settings.
        document: Values by key.
        assignments: Text by key, as from `key:=value`; lists are separated by commas.

    Raises:
        ParameterError: If a key is unknown, or a value has a wrong type or range.
    """
    values = dict(document)
    for key, text in (assignments or {}).items():
        is_list = key in kind.model_fields and kind.model_fields[key].annotation == tuple[str, ...]
        values[key] = [part for part in text.split(',') if part] if is_list else text
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ParameterError(_one_line(kind, error)) from None


def read_document(name: str | Path) -> dict[str, Any]:
    """Return the mapping of a YAML file: a path, or the name of a file in `CONFIGS`.

    Raises:
        ParameterError: If there is no such file, or it is no mapping.
    """
    path = Path(name)
    shipped = CONFIGS / f'{name}.yaml'
    if not path.is_file() and not shipped.is_file():
        known = ', '.join(sorted(p.stem for p in CONFIGS.glob('*.yaml')))
        raise ParameterError(f'config {str(name)!r}: no such file; shipped: {known}')
    chosen = path if path.is_file() else shipped
    try:
        document = yaml.safe_load(chosen.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise ParameterError(f'config {chosen}: cannot be read: {reason}') from None
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ParameterError(f'config {chosen}: must be a mapping of keys to values')
    return document


def settings_text(settings: RunSettings) -> str:
    """Return the settings as JSON text that `make_settings` takes back unchanged."""
    return json.dumps(settings.model_dump(mode='json'), indent=2)


def _one_line(kind: type[BaseModel], error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    key = '.'.join(str(part) for part in fault['loc'])
    if fault['type'] == 'extra_forbidden':
        return f'unknown setting {key!r}; allowed: {", ".join(kind.model_fields)}'
    if fault['type'] == 'value_error':
        return str(fault['ctx']['error'])
    return f'{key}: {_lower_first(fault["msg"])}, got {fault["input"]!r}'


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
