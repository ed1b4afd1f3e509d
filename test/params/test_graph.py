"""Graphs: arguments, conditions and parameters are checked before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from graph_arguments import FRANKA

from structrl_ros.errors import ParameterError
from structrl_ros.params import graph
from structrl_ros.params.share import share_path
from structrl_ros.threads import ONE_THREAD

SMALL = """
description: A small one.
arguments:
  body: {default: kinematic, choices: [libero, kinematic], description: World.}
  seed: {default: 3, description: Seed.}
  record: {default: '', description: Bag.}
  params_file: {default: '', description: File.}
nodes:
  - name: sim_node
    namespace: $(arg body)
    parameters: {body: $(arg body), seed: $(arg seed), lockstep: true}
    remappings: {safety: $(arg body)/safety}
    respawn: true
    respawn_delay_s: 2
  - {name: only_libero, executable: sim_node, when: {body: libero}}
  - {name: not_without_record, executable: sim_node, unless: {record: ['']}}
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / 'small.yaml'
    path.write_text(SMALL)
    return str(path)


def names(loaded: graph.Graph) -> list[str]:
    return [node.name for node in loaded.nodes]


def test_arguments_are_filled_in_with_the_type_of_the_parameter(small: str) -> None:
    node = graph.load_graph(small, {'seed': '5'}).nodes[0]
    assert node.parameters == {'body': 'kinematic', 'seed': 5, 'lockstep': True}
    assert (node.namespace, node.module) == ('kinematic', 'structrl_ros.nodes.sim_node')
    assert node.remappings == {'safety': 'kinematic/safety'}
    assert (node.respawn, node.respawn_delay_s) == (True, 2.0)


def test_conditions_choose_the_nodes(small: str) -> None:
    assert names(graph.load_graph(small)) == ['sim_node']
    assert names(graph.load_graph(small, {'body': 'libero'})) == ['sim_node', 'only_libero']
    with_record = graph.load_graph(small, {'record': 'bag'})
    assert names(with_record) == ['sim_node', 'not_without_record']


def test_a_parameter_file_is_laid_over_the_graph(small: str, tmp_path: Path) -> None:
    overlay = tmp_path / 'cell.yaml'
    overlay.write_text(
        '/**: {ros__parameters: {image_size: 64}}\nsim_node: {ros__parameters: {seed: 9}}\n'
    )
    node = graph.load_graph(small, {'params_file': str(overlay)}).nodes[0]
    assert node.parameters['seed'] == 9
    assert node.parameters['image_size'] == 64
    overlay.write_text('arm_node: {ros__parameters: {seed: 9}}\n')
    with pytest.raises(ParameterError, match="'arm_node', which is no node of small"):
        graph.load_graph(small, {'params_file': str(overlay)})


@pytest.mark.parametrize(
    ('arguments', 'line'),
    [
        (
            {'bodi': 'libero'},
            "small.yaml: unknown argument 'bodi'; known: body, seed, record, params_file",
        ),
        (
            {'body': 'spot'},
            "small.yaml: argument body is 'spot'; allowed: libero, kinematic",
        ),
        ({'seed': 'x'}, "sim_node: parameter 'seed' is 'x'; allowed: int"),
        ({'seed': '-1'}, "sim_node: parameter 'seed' is -1; allowed: 0 to 2147483647"),
        ({'params_file': '/no/such.yaml'}, '/no/such.yaml: No such file or directory'),
    ],
)
def test_wrong_arguments_are_refused_with_one_line(
    small: str, arguments: dict[str, str], line: str
) -> None:
    with pytest.raises(ParameterError) as error:
        graph.load_graph(small, arguments)
    assert str(error.value) == line


@pytest.mark.parametrize(
    ('text', 'line'),
    [
        ('nodes: [{name: a, launch: b}]', "unknown key 'launch' in node"),
        ('nodes: []', 'nodes is []; allowed: a list of nodes'),
        ('nodes: [{executable: a}]', 'node without a name'),
        ('nodes: [{name: sim_node}, {name: sim_node}]', "two nodes are called 'sim_node'"),
        ('nodes: [{name: $(arg x)}]', '$(arg x) is no argument'),
        ('nodes: [{name: a, when: {x: 1}}]', "when of a names 'x'"),
        ('nodes: [{name: sim_node, parameters: {sed: 1}}]', "unknown parameter 'sed'"),
        ('arguments: {a: {deflt: 1}}\nnodes: [{name: a}]', "unknown key 'deflt' in argument a"),
        ('arguments: {a: {description: A.}}\nnodes: [{name: b}]', "argument 'a' must be given"),
        ('nodes: [{name: sim_nod}]', "sim_nod: unknown executable 'sim_nod'"),
        ('derived: {x: [{valu: 1}]}\nnodes: [{name: a}]', "unknown key 'valu' in derived x"),
        ('derived: {x: 3}\nnodes: [{name: a}]', 'derived x is 3; allowed: a list'),
        ('derived: {x: []}\nnodes: [{name: a}]', 'no entry of derived x holds'),
        ('includes: [{graph: none_such}]\nnodes: [{name: sim_node}]', "unknown graph 'none_such'"),
        ('[1, 2]', 'document is [1, 2]'),
        ('a: [', 'is no YAML'),
    ],
)
def test_broken_graphs_are_refused_with_one_line(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / 'broken.yaml'
    path.write_text(text)
    with pytest.raises(ParameterError) as error:
        graph.load_graph(str(path))
    assert line in str(error.value)
    assert '\n' not in str(error.value)


def test_an_unknown_graph_lists_the_known() -> None:
    with pytest.raises(ParameterError, match=r"unknown graph 'deplo'; known: .*deploy"):
        graph.load_graph('deplo')


def nodes_of_all_graphs() -> list[Any]:
    found = []
    for name in graph.graph_names():
        known = {argument.name for argument in graph.graph_document(name).arguments}
        found += graph.load_graph(name, {'record': 'bag'} if 'record' in known else {}).nodes
    mirrored = {**FRANKA, 'simulated': 'true', 'mirror': 'true', 'record': 'bag'}
    return [*found, *graph.load_graph('deploy', mirrored).nodes]


def test_the_deploy_graph_has_brain_body_and_recorder() -> None:
    loaded = graph.load_graph('deploy', {'record': 'runs/now/bag'})
    brain = ['planner_node', 'policy_node', 'tracker_node']
    assert names(loaded) == ['sim_node', *brain, 'recorder_node']
    assert [node.name for node in loaded.nodes if node.respawn] == brain
    assert names(graph.load_graph('deploy')) == ['sim_node', *brain]


def test_the_brain_lives_on_the_bodys_clock() -> None:
    bodies = {'sim_node', 'replayer_node', 'camera_node', 'arm_node'}  # the mirror follows one
    for node in nodes_of_all_graphs():
        assert node.parameters.get('use_sim_time', False) is (node.executable not in bodies)


def test_every_node_of_every_graph_has_a_parameter_dataclass() -> None:
    for node in nodes_of_all_graphs():
        assert graph.parameters_class(node.executable) is not None, node.executable


def test_the_environment_adds_the_fast_dds_profile_and_keeps_what_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv('FASTRTPS_DEFAULT_PROFILES_FILE', raising=False)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    monkeypatch.setenv('KEPT', 'yes')
    environment = graph.process_environment()
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    assert environment['KEPT'] == 'yes'
    profile = ElementTree.parse(environment['FASTRTPS_DEFAULT_PROFILES_FILE']).getroot()
    sizes = [node.text for node in profile.iter() if node.tag.endswith('segment_size')]
    assert sizes == ['33554432']


def test_a_process_of_a_graph_computes_with_one_thread_unless_more_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('MKL_NUM_THREADS', '8')
    environment = graph.process_environment()
    assert environment['OMP_NUM_THREADS'] == '1'
    assert environment['MKL_NUM_THREADS'] == '8'


def test_share_files_are_found_in_an_ament_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / 'share' / 'structrl_ros' / 'only_installed.txt'
    installed.parent.mkdir(parents=True)
    installed.write_text('here')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert share_path('only_installed.txt') == installed
    with pytest.raises(ParameterError, match=r'no_such_file\.txt is not installed; searched'):
        share_path('no_such_file.txt')


def test_an_arm_without_address_or_workspace_is_refused() -> None:
    for missing, named in (('robot_ip', 'address'), ('box_low', 'box_low')):
        given = {key: value for key, value in FRANKA.items() if key != missing}
        with pytest.raises(ParameterError, match=named):
            graph.load_graph('deploy', given)


def test_an_arm_gets_the_brain_of_the_simulators_in_wall_time_and_a_dry_run() -> None:
    loaded = graph.load_graph('deploy', FRANKA)
    brain = ['planner_node', 'policy_node', 'tracker_node']
    assert names(loaded) == ['arm_node', *brain]
    assert [node.executable for node in loaded.nodes[1:]] == [
        node.executable for node in graph.load_graph('deploy').nodes[1:]
    ]
    assert loaded.nodes[0].parameters['dry_run'] is True
    assert not any(node.parameters.get('use_sim_time') for node in loaded.nodes)


def backends(loaded: graph.Graph) -> tuple[Any, ...]:
    planner, policy, tracker = (n.parameters for n in loaded.nodes if n.name in BRAIN)
    return planner['planner'], planner['monitor'], policy['policy'], tracker['truth_source']


BRAIN = ('planner_node', 'policy_node', 'tracker_node')
TOLD = ('rules', 'predicates', 'expert', 'predicates')


def test_models_are_asked_only_where_nobody_tells_the_truth() -> None:
    assert backends(graph.load_graph('deploy')) == TOLD
    assert backends(graph.load_graph('deploy', {**FRANKA, 'mirror': 'true'})) == TOLD
    seen = graph.load_graph('deploy', FRANKA)
    assert backends(seen) == ('openai', 'openai', 'remote', 'verdicts')
    chosen = graph.load_graph('deploy', {**FRANKA, 'planner': 'rules', 'policy': 'expert'})
    assert backends(chosen) == ('rules', 'openai', 'expert', 'verdicts')


def test_an_arm_waits_for_nobody() -> None:
    with pytest.raises(ParameterError, match='an arm waits for nobody'):
        graph.load_graph('deploy', {**FRANKA, 'lockstep': 'true'})


def test_cameras_come_from_the_cameras_graph_and_the_file_of_the_cell(tmp_path: Path) -> None:
    cell = tmp_path / 'cell.yaml'
    cell.write_text('camera_head: {ros__parameters: {width: 1280, height: 720, max_age_s: 0.2}}\n')
    cameras = {'head': 'realsense', 'head_source': '8123', 'params_file': str(cell)}
    loaded = graph.load_graph('deploy', {**FRANKA, **cameras, 'namespace': 'left'})
    assert names(loaded)[-1] == 'camera_head'
    camera = loaded.nodes[-1]
    assert (camera.executable, camera.namespace, camera.respawn) == ('camera_node', 'left', True)
    assert camera.parameters['source'] == '8123'
    assert (camera.parameters['width'], camera.parameters['max_age_s']) == (1280, 0.2)
    mirrored = graph.load_graph('deploy', {**FRANKA, **cameras, 'mirror': 'true'})
    assert 'camera_head' not in names(mirrored)
    cell.write_text('camera_foot: {ros__parameters: {width: 1280}}\n')
    with pytest.raises(ParameterError, match="'camera_foot', which is no node of deploy"):
        graph.load_graph('deploy', {**FRANKA, **cameras})


@pytest.mark.parametrize(
    ('arguments', 'beats'), [({'body': 'kinematic'}, False), (FRANKA, True)], ids=['sim', 'arm']
)
def test_policy_tells_an_arm_that_it_lives_and_no_simulator(arguments, beats):
    nodes = graph.load_graph('deploy', arguments).nodes
    policy = next(node for node in nodes if node.name == 'policy_node')
    assert policy.parameters['heartbeat'] is beats
