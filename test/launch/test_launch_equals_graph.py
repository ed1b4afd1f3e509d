"""`ros2 launch structrl_ros X.launch.py` starts what `structrl up X` starts.

`launch` and `launch_ros` are no wheels: where they are not installed, the stand-ins of
`test/fakes/ros_launch` keep what the launch files say; the files themselves are the real ones.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from graph_arguments import FRANKA

from structrl_ros.errors import ParameterError
from structrl_ros.params import graph

ROOT = Path(__file__).parents[2]
FAKES = ROOT / 'test' / 'fakes' / 'ros_launch'

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec('launch_ros') is not None,
    reason='a real launch_ros is installed: checked by `ros2 launch --show-args` instead',
)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FAKES))
    yield
    ours = ('launch', 'launch_ros', 'structrl_ros.nodes.graph_launch')
    for name in [n for n in sys.modules if n in ours or n.startswith(('launch.', 'launch_ros.'))]:
        del sys.modules[name]


def description(name: str) -> Any:
    path = ROOT / 'launch' / f'{name}.launch.py'
    spec = importlib.util.spec_from_file_location(f'{name}_launch', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def launched(name: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
    import launch

    context = launch.LaunchContext()
    context.launch_configurations.update(arguments)
    nodes: list[dict[str, Any]] = []
    for entity in description(name).entities:
        nodes += [node.given for node in entity.execute(context) or []]
    return nodes


def plain(value: Any) -> Any:
    return getattr(value, 'value', value)


@pytest.mark.parametrize('name', graph.graph_names())
@pytest.mark.parametrize(
    'arguments',
    [
        {},
        {
            'task': 'kinematic/soup_in_basket',
            'seed': '7',
            'body': 'kinematic',
            'lockstep': 'true',
            'namespace': 'left',
        },
        {'record': 'runs/now/bag', 'policy': 'expert'},
    ],
)
@pytest.mark.usefixtures('stand_ins')
def test_launch_description_equals_graph(name: str, arguments: dict[str, str]) -> None:
    known = {argument.name for argument in graph.graph_document(name).arguments}
    check_equal(name, {key: value for key, value in arguments.items() if key in known})


@pytest.mark.parametrize('arm', ['fci', 'crisp', 'fake'])
@pytest.mark.usefixtures('stand_ins')
def test_launch_of_an_arm_with_its_cameras_equals_graph(arm: str) -> None:
    cameras = {'head': 'opencv', 'head_source': '0', 'left_wrist': 'realsense'}
    check_equal('deploy', {**FRANKA, **cameras, 'arm': arm, 'record': 'bag'})


def check_equal(name: str, arguments: dict[str, str]) -> None:
    nodes = launched(name, arguments)
    specs = graph.load_graph(name, arguments).nodes
    assert [node['name'] for node in nodes] == [spec.name for spec in specs]
    for node, spec in zip(nodes, specs, strict=True):
        assert node['package'] == 'structrl_ros'
        assert node['executable'] == spec.executable
        assert node['namespace'] == spec.namespace
        (parameters,) = node['parameters']
        assert {key: plain(value) for key, value in parameters.items()} == spec.parameters
        assert dict(node['remappings']) == spec.remappings
        assert node['respawn'] is spec.respawn
        assert node['respawn_delay'] == spec.respawn_delay_s
        assert node['respawn_max_retries'] == graph.RESPAWN_LIMIT
        assert (node['on_exit'] is None) is spec.respawn
        assert node['additional_env'] == graph.additional_environment()


@pytest.mark.usefixtures('stand_ins')
def test_text_parameters_stay_text_in_launch() -> None:
    (node,) = launched('cameras', {'head': 'opencv', 'head_source': '0'})
    assert node['parameters'][0]['source'].value_type is str


@pytest.mark.parametrize('name', graph.graph_names())
@pytest.mark.usefixtures('stand_ins')
def test_launch_arguments_are_the_graphs(name: str) -> None:
    declared = {
        entity.name: (entity.default_value, entity.description, tuple(entity.choices or ()))
        for entity in description(name).entities
        if hasattr(entity, 'default_value')
    }
    assert declared == {
        argument.name: (argument.default, argument.description, argument.choices)
        for argument in graph.graph_document(name).arguments
    }
    assert all(text for _, text, _ in declared.values())


@pytest.mark.usefixtures('stand_ins')
def test_a_wrong_argument_stops_the_launch_with_the_graphs_error() -> None:
    with pytest.raises(ParameterError, match='body is'):
        launched('deploy', {'body': 'spot'})
