"""The YAML of a node graph: arguments, nodes, conditions and `$(arg name)`, checked on reading."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml

from structrl_ros.errors import ParameterError

# What a graph looks like:
#
#   description: One sentence.
#   arguments:
#     body: {default: libero, choices: [libero, kinematic], description: World to act in.}
#   derived:                    # named values; the first entry whose conditions hold
#     clock: [{when: {body: franka}, value: false}, {value: true}]
#     pace: [{when: {body: franka, lockstep: true}, error: refused with this text}, {value: ''}]
#   includes:                   # nodes of another graph, with arguments of this one
#     - {graph: cameras, when: {body: franka}, arguments: {head: $(arg head)}}
#   nodes:
#     - name: sim_node            # executable: the same, unless given
#       when: {body: [libero, kinematic]}   # all must match; `unless` is the opposite
#       parameters: {body: $(arg body)}
#       remappings: {action_chunk: other_chunk}
#       namespace: $(arg namespace)
#       respawn: true
#       respawn_delay_s: 1.0
#: Most arguments that a complaint lists.
_LISTED = 12
_GRAPH_KEYS = {'description', 'arguments', 'derived', 'includes', 'nodes'}
_DERIVED_KEYS = {'when', 'unless', 'value', 'error'}
_INCLUDE_KEYS = {'graph', 'when', 'unless', 'arguments'}
_ARGUMENT_KEYS = {'default', 'choices', 'description'}
_NODE_KEYS = {
    *('name', 'executable', 'namespace', 'parameters', 'remappings'),
    *('respawn', 'respawn_delay_s', 'when', 'unless'),
}
_ARGUMENT = re.compile(r'\$\(arg ([a-z_][a-z0-9_]*)\)')


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a graph; all values are text. Without default it must be given."""

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphDocument:
    """A graph as it is written, before its arguments are known."""

    path: Path
    description: str
    arguments: tuple[Argument, ...]
    nodes: tuple[Mapping[str, Any], ...]
    derived: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    includes: tuple[Mapping[str, Any], ...] = ()


def read_document(path: Path) -> GraphDocument:
    """Return the document of a graph.

    Raises:
        ParameterError: If it is no YAML or has unknown keys or wrong types.
    """
    document = read_yaml(path)
    _check_keys(path, 'graph', document, _GRAPH_KEYS)
    arguments = _mapping(path, 'arguments', document.get('arguments'))
    nodes = document.get('nodes')
    if not isinstance(nodes, list) or not nodes:
        raise ParameterError(f'{path.name}: nodes is {nodes!r}; allowed: a list of nodes')
    for node in nodes:
        _check_keys(path, 'node', _mapping(path, 'node', node), _NODE_KEYS)
        if not isinstance(node.get('name'), str):
            raise ParameterError(f'{path.name}: node without a name: {node!r}')
    return GraphDocument(
        path=path,
        description=str(document.get('description', '')),
        arguments=tuple(_argument(path, name, entry) for name, entry in arguments.items()),
        nodes=tuple(nodes),
        derived=_derived(path, document),
        includes=_entries(path, 'include', document.get('includes'), _INCLUDE_KEYS),
    )


def read_yaml(path: Path) -> dict[str, Any]:
    """Return a YAML file that holds a mapping.

    Raises:
        ParameterError: If it cannot be read, or holds something else.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ParameterError(f'{path}: {error.strerror}') from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = ' '.join(str(error).split())
        raise ParameterError(f'{path} is no YAML: {reason}') from None
    return _mapping(path, 'document', document)


def argument_values(document: GraphDocument, given: Mapping[str, str]) -> dict[str, str]:
    """Return a value for every argument: given, or its default.

    Raises:
        ParameterError: If an argument is unknown, not among its choices, or must be given.
    """
    known = {argument.name: argument for argument in document.arguments}
    for name in given:
        if name not in known:
            allowed = f'known: {", ".join(known)}'
            if len(known) > _LISTED:
                near = difflib.get_close_matches(name, known, n=1)
                meant = f'did you mean {near[0]!r}? ' if near else ''
                allowed = f'{meant}all: structrl up {document.path.stem} --show-args'
            raise ParameterError(f'{document.path.name}: unknown argument {name!r}; {allowed}')
    values: dict[str, str] = {}
    for name, argument in known.items():
        value = given.get(name, argument.default)
        if value is None:
            raise ParameterError(
                f'{document.path.name}: argument {name!r} must be given: {argument.description}'
            )
        if argument.choices and value not in argument.choices:
            raise ParameterError(
                f'{document.path.name}: argument {name} is {value!r}; '
                f'allowed: {", ".join(argument.choices)}'
            )
        values[name] = value
    return values


def derived_values(document: GraphDocument, values: Mapping[str, str]) -> dict[str, str]:
    """Return the derived values of a graph, of the values of its arguments.

    Raises:
        ParameterError: If no entry of a value holds, or one that holds is an error.
    """
    found: dict[str, str] = {}
    for name, entries in document.derived.items():
        known = {**values, **found}
        entry = next((e for e in entries if is_wanted(document, {**e, 'name': name}, known)), {})
        if 'value' not in entry:
            reason = entry.get('error', f'no entry of derived {name} holds')
            raise ParameterError(f'{document.path.name}: {reason}')
        found[name] = _text(substituted(document, entry['value'], known))
    return found


def substituted(document: GraphDocument, value: Any, values: Mapping[str, str]) -> Any:
    """Return a value of the document with every `$(arg name)` replaced."""
    if isinstance(value, dict):
        return {key: substituted(document, part, values) for key, part in value.items()}
    if isinstance(value, list):
        return [substituted(document, part, values) for part in value]
    if not isinstance(value, str):
        return value
    for name in _ARGUMENT.findall(value):
        if name not in values:
            raise ParameterError(
                f'{document.path.name}: $(arg {name}) is no argument; known: {", ".join(values)}'
            )
    return _ARGUMENT.sub(lambda match: values[match.group(1)], value)


def is_wanted(document: GraphDocument, node: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    """Whether the conditions of a node hold: every `when` matches and no `unless` does."""
    when = _condition(document, node, 'when', values)
    unless = _condition(document, node, 'unless', values)
    return all(values[name] in allowed for name, allowed in when.items()) and not any(
        values[name] in excluded for name, excluded in unless.items()
    )


def _condition(
    document: GraphDocument, node: Mapping[str, Any], key: str, values: Mapping[str, str]
) -> dict[str, list[str]]:
    condition = _mapping(document.path, key, node.get(key))
    for name in condition:
        if name not in values:
            raise ParameterError(
                f'{document.path.name}: {key} of {node["name"]} names {name!r}; '
                f'known: {", ".join(values)}'
            )
    return {name: _texts(allowed) for name, allowed in condition.items()}


def _argument(path: Path, name: str, entry: Any) -> Argument:
    fields = _mapping(path, f'argument {name}', entry)
    _check_keys(path, f'argument {name}', fields, _ARGUMENT_KEYS)
    default = fields.get('default')
    return Argument(
        name=name,
        default=None if default is None else _text(default),
        description=str(fields.get('description', '')),
        choices=tuple(_texts(fields.get('choices', []))),
    )


def _derived(path: Path, document: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    written = _mapping(path, 'derived', document.get('derived'))
    return {
        name: _entries(path, f'derived {name}', entries, _DERIVED_KEYS)
        for name, entries in written.items()
    }


def _entries(path: Path, what: str, value: Any, known: set[str]) -> tuple[Mapping[str, Any], ...]:
    """Return a list of mappings with known keys."""
    if not isinstance(value, list | type(None)):
        raise ParameterError(f'{path.name}: {what} is {value!r}; allowed: a list')
    for entry in value or ():
        _check_keys(path, what, _mapping(path, what, entry), known)
    return tuple(value or ())


def _texts(values: Any) -> list[str]:
    return [_text(value) for value in (values if isinstance(values, list) else [values])]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _mapping(path: Path, what: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f'{path.name}: {what} is {value!r}; allowed: a mapping of names')
    return value


def _check_keys(path: Path, what: str, document: Mapping[str, Any], known: set[str]) -> None:
    for key in document:
        if key not in known:
            raise ParameterError(
                f'{path.name}: unknown key {key!r} in {what}; known: {", ".join(sorted(known))}'
            )
