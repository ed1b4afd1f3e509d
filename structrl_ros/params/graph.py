"""Node graphs: what `structrl up GRAPH` and `ros2 launch structrl_ros GRAPH.launch.py` start.

Both read `launch/graphs/GRAPH.yaml` here, so both start the same processes with the same
parameters, which are checked against the dataclasses of this room before anything starts.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.params.graph_document import Argument
from structrl_ros.params.graph_document import GraphDocument
from structrl_ros.params.graph_document import argument_values
from structrl_ros.params.graph_document import derived_values
from structrl_ros.params.graph_document import is_wanted
from structrl_ros.params.graph_document import read_document
from structrl_ros.params.graph_document import read_yaml
from structrl_ros.params.graph_document import substituted
from structrl_ros.params.parameter import parameters_from_values
from structrl_ros.params.share import share_path
from structrl_ros.threads import ONE_THREAD

#: A node that dies more often than this is left dead: something is wrong with it.
RESPAWN_LIMIT = 5
#: The argument, if a graph has it, that names a ROS parameter file laid over the graph's own.
PARAMETER_FILE = 'params_file'
#: Parameters that every ROS node has by itself.
_BUILT_IN = {'use_sim_time': bool}


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One process: how to start it by ROS (`executable`) and by Python (`module`)."""

    name: str
    executable: str
    module: str
    namespace: str
    parameters: Mapping[str, Any]
    remappings: Mapping[str, str]
    respawn: bool
    respawn_delay_s: float


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph with its arguments filled in; `nodes` are those whose conditions hold."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    values: Mapping[str, str]
    nodes: tuple[NodeSpec, ...]


def graph_names() -> tuple[str, ...]:
    """Return the names of the graphs that are shipped."""
    return tuple(sorted(path.stem for path in share_path('launch', 'graphs').glob('*.yaml')))


def graph_document(name_or_path: str) -> GraphDocument:
    """Return a graph as it is written: its description and arguments.

    Raises:
        ParameterError: If there is no such graph, or its YAML is wrong.
    """
    if name_or_path.endswith(('.yaml', '.yml')):
        return read_document(Path(name_or_path))
    if name_or_path not in graph_names():
        raise ParameterError(
            f'unknown graph {name_or_path!r}; known: {", ".join(graph_names())}, or a .yaml file'
        )
    return read_document(share_path('launch', 'graphs', f'{name_or_path}.yaml'))


def load_graph(name_or_path: str, arguments: Mapping[str, str] | None = None) -> Graph:
    """Return a graph with its arguments filled in and its parameters checked.

    Raises:
        ParameterError: If the graph or an argument is unknown, or a value is not allowed.
    """
    document = graph_document(name_or_path)
    values = argument_values(document, arguments or {})
    overlay = _overlay(values.get(PARAMETER_FILE, ''))
    known: list[str] = []
    nodes = tuple(_nodes(document, values, overlay, known))
    _check_names(document, [node.name for node in nodes], overlay, known)
    return Graph(document.path.stem, document.description, document.arguments, values, nodes)


def _nodes(
    document: GraphDocument,
    values: Mapping[str, str],
    overlay: Mapping[str, Mapping[str, Any]],
    known: list[str],
) -> list[NodeSpec]:
    """Return the nodes whose conditions hold, and of included graphs; `known` gets all names."""
    values = {**values, **derived_values(document, values)}
    known += [node['name'] for node in document.nodes]
    wanted = [node for node in document.nodes if is_wanted(document, node, values)]
    nodes = [_node(document, node, values, overlay) for node in wanted]
    for include in document.includes:
        part = graph_document(str(include['graph']))
        known += [node['name'] for node in part.nodes]
        if is_wanted(document, {'name': part.path.stem, **include}, values):
            given = substituted(document, include.get('arguments') or {}, values)
            given = {name: str(value) for name, value in given.items()}
            nodes += _nodes(part, argument_values(part, given), overlay, known)
    return nodes


def process_environment() -> dict[str, str]:
    """Return the environment for the processes of a graph: this one's, and the additions."""
    return {**os.environ, **additional_environment()}


def additional_environment() -> dict[str, str]:
    """Return what a graph's processes need and this environment does not set.

    The Fast DDS profile gives shared memory room for camera images (Jazzy and Kilted read
    different variables); discovery stays on this machine, so that two labs do not meet by chance:
    set ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET to span machines. Each process computes with one
    thread, as in training and evaluation: nodes do not starve each other, and sums are rounded as
    there; a large policy on a CPU may want OMP_NUM_THREADS=8.
    """
    profile = str(share_path('launch', 'fastdds.xml'))
    wanted = {
        'FASTRTPS_DEFAULT_PROFILES_FILE': profile,
        'FASTDDS_DEFAULT_PROFILES_FILE': profile,
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'PYTHONUNBUFFERED': '1',
        **ONE_THREAD,
    }
    return {name: value for name, value in wanted.items() if not os.environ.get(name)}


def parameters_class(executable: str) -> type[Any] | None:
    """Return the dataclass of a node's parameters, or None if there is no such node.

    By name: `policy_node` has `structrl_ros.params.policy.PolicyParameters`.
    """
    stem = executable.removesuffix('_node')
    name = f'structrl_ros.params.{stem}'
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
    words = ''.join(word.capitalize() for word in stem.split('_'))
    kind: type[Any] | None = getattr(module, f'{words}Parameters', None)
    return kind


def _check_names(
    document: GraphDocument,
    started: Sequence[str],
    overlay: Mapping[str, object],
    known: Sequence[str],
) -> None:
    for name in started:
        if started.count(name) > 1:
            raise ParameterError(f'{document.path.name}: two nodes are called {name!r}')
    for name in overlay:
        if name not in ('/**', *known):
            raise ParameterError(
                f'parameters for {name!r}, which is no node of {document.path.name}; '
                f'nodes: {", ".join(dict.fromkeys(known))}'
            )


def _node(
    document: GraphDocument,
    node: Mapping[str, Any],
    values: Mapping[str, str],
    overlay: Mapping[str, Mapping[str, Any]],
) -> NodeSpec:
    filled = substituted(document, dict(node), values)
    name, executable = filled['name'], str(filled.get('executable', filled['name']))
    parameters = {
        **(filled.get('parameters') or {}),
        **overlay.get('/**', {}),
        **overlay.get(name, {}),
    }
    return NodeSpec(
        name=name,
        executable=executable,
        module=f'structrl_ros.nodes.{executable}',
        namespace=str(filled.get('namespace', '')),
        parameters=_checked(name, executable, parameters),
        remappings={str(k): str(v) for k, v in (filled.get('remappings') or {}).items()},
        respawn=bool(filled.get('respawn', False)),
        respawn_delay_s=float(filled.get('respawn_delay_s', 0.0)),
    )


def _checked(name: str, executable: str, values: Mapping[str, Any]) -> dict[str, Any]:
    words = {'true': True, 'false': False}  # arguments of a graph are text
    built_in = {
        key: words.get(str(value), value) for key, value in values.items() if key in _BUILT_IN
    }
    for key, value in built_in.items():
        if not isinstance(value, _BUILT_IN[key]):
            raise ParameterError(f'{name}: parameter {key!r} is {value!r}; allowed: true, false')
    own = {key: value for key, value in values.items() if key not in _BUILT_IN}
    kind = parameters_class(executable)
    if kind is None:
        raise ParameterError(f'{name}: unknown executable {executable!r}')
    checked = parameters_from_values(kind, own, name)
    return {**built_in, **{key: _plain(getattr(checked, key)) for key in own}}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _overlay(path: str) -> dict[str, dict[str, Any]]:
    """Return node name (or '/**') to parameters of a ROS parameter file; '' is none."""
    if not path:
        return {}
    overlay: dict[str, dict[str, Any]] = {}
    for name, entry in read_yaml(Path(path)).items():
        own = entry.get('ros__parameters') if isinstance(entry, dict) else None
        if not isinstance(own, dict):
            raise ParameterError(f'{path}: {name} has no ros__parameters')
        overlay[name.rsplit('/', 1)[-1] if name != '/**' else name] = own
    return overlay
