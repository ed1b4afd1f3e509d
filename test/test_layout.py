"""The shape of the repository: links, names, versions, shipped files."""

from __future__ import annotations

import ast
import os
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from graph_arguments import FRANKA

import structrl_ros
from structrl_ros.params import graph

ROOT = Path(__file__).parents[1]
SKIPPED = {'.git', 'build', 'install', 'log', 'runs', 'dist', '__pycache__'}
#: REP-144: a name says what lives there.
NAMELESS = {'utils', 'util', 'common', 'misc', 'helpers', 'shared', 'tools'}


def is_room(path: Path) -> bool:
    """Tell whether a package is a room: one of the package's folders, or one below it."""
    place = path.relative_to(ROOT).parts
    return place[0] in {'models', 'sim'} or (place[0] == 'structrl_ros' and len(place) > 2)


#: Rooms of the code that runs, and how long things in them may be; numbers that only fall.
ROOMS = ('structrl_ros', 'models', 'sim', 'launch')
MODULE_LINES, MEDIAN_LINES, FUNCTION_LINES = 300, 125, 60
#: Longest `*_node.py`: what is not wiring of a node lives beside it or in a room of its own.
NODE_LINES = 150


def package_element(tag: str, folder: str = '.') -> ElementTree.Element:
    element = ElementTree.parse(ROOT / folder / 'package.xml').getroot().find(tag)
    assert element is not None
    return element


def python_files() -> list[Path]:
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in SKIPPED and not f.startswith('.')]
        found += [Path(folder, name) for name in files if name.endswith('.py')]
    return [path for path in found if not path.is_symlink()]


@pytest.mark.parametrize('room', ['models', 'sim'])
def test_room_beside_the_package_is_reached_by_a_relative_link(room: str) -> None:
    link = ROOT / 'structrl_ros' / room
    assert link.is_symlink()
    assert os.readlink(link) == f'../{room}'
    assert (link / '__init__.py').is_file()


def test_links_are_committed_as_links() -> None:
    if not (ROOT / '.git').exists():
        pytest.skip('not a git checkout')
    command = ['git', 'ls-files', '-s', 'structrl_ros/models', 'structrl_ros/sim']
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ['120000', '120000']


def test_models_and_sim_are_no_modules_of_their_own() -> None:
    code = (
        'import sys, structrl_ros.models, structrl_ros.sim\n'
        'print(sorted({"models", "sim"} & set(sys.modules)))'
    )
    told = subprocess.run(
        [sys.executable, '-c', code], cwd='/', capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == '[]'
    assert not {'models', 'sim'} & set(sys.modules)


def test_the_package_and_the_pure_rooms_work_without_ros_torch_and_simulator() -> None:
    blocked = ('rclpy', 'structrl_msgs', 'torch', 'mujoco', 'robosuite', 'libero', 'typer')
    rooms = ['plan', 'subtasks', 'rewards', 'progress', 'learning', 'control', 'evaluation']
    code = (
        'import importlib, pkgutil, sys\n'
        f'sys.modules.update(dict.fromkeys({blocked!r}))\n'
        'import structrl_ros\n'
        f'for room in {rooms!r}:\n'
        '    package = importlib.import_module("structrl_ros." + room)\n'
        '    for module in pkgutil.iter_modules(package.__path__):\n'
        '        importlib.import_module(package.__name__ + "." + module.name)\n'
        'print(len([m for m in sys.modules if m.startswith("structrl_ros.")]))'
    )
    told = subprocess.run(
        [sys.executable, '-c', code], cwd='/', capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) > len(rooms)


def test_types_are_shipped() -> None:
    assert (ROOT / 'structrl_ros' / 'py.typed').is_file()
    assert "'py.typed'" in (ROOT / 'setup.py').read_text()


def test_the_version_stands_in_package_xml_and_is_told_by_the_package() -> None:
    version = package_element('version').text
    assert structrl_ros.__version__ == version
    assert package_element('version', 'structrl_msgs').text == version
    messages = tomllib.loads((ROOT / 'structrl_msgs' / 'pyproject.toml').read_text())
    assert messages['project']['version'] == version


@pytest.mark.parametrize('folder', ['.', 'structrl_msgs'])
def test_package_xml_has_a_valid_maintainer_address(folder: str) -> None:
    # With an invalid one colcon builds a plain Python package and says nothing.
    address = package_element('maintainer', folder).get('email', '')
    assert re.fullmatch(r'[-a-zA-Z0-9_%+.]+@[-a-zA-Z0-9.]+\.[a-zA-Z]{2,}', address)


def test_package_xml_names_what_the_nodes_import() -> None:
    root = ElementTree.parse(ROOT / 'package.xml').getroot()
    declared = {e.text for e in root if e.tag in {'depend', 'exec_depend'}}
    imported: set[str] = set()
    for room in ('nodes', 'wire'):
        for path in (ROOT / 'structrl_ros' / room).glob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    imported.add(node.module.split('.')[0])
                elif isinstance(node, ast.Import):
                    imported |= {alias.name.split('.')[0] for alias in node.names}
    ros = {n for n in imported if n == 'rclpy' or n.endswith(('_msgs', '_srvs', '_interfaces'))}
    assert ros - declared == set()


@pytest.mark.parametrize('folder', ['launch', 'test'])
def test_folder_that_would_hide_a_ros_package_is_no_python_package(folder: str) -> None:
    found = [p for p in (ROOT / folder).rglob('__init__.py') if 'fakes' not in p.parts]
    assert found == []


def test_no_file_is_named_after_nothing() -> None:
    assert [str(path) for path in python_files() if path.stem in NAMELESS] == []


@pytest.mark.parametrize('path', sorted((ROOT / 'launch').rglob('*.yaml')), ids=lambda p: p.name)
def test_yaml_below_launch_loads(path: Path) -> None:
    if path.parent.name == 'graphs':
        assert graph.load_graph(path.stem).nodes
    else:
        document = yaml.safe_load(path.read_text())
        assert all('ros__parameters' in entry for entry in document.values())


def test_every_graph_has_its_launch_file() -> None:
    files = {path.name.removesuffix('.launch.py') for path in (ROOT / 'launch').glob('*.py')}
    assert files == set(graph.graph_names())


def test_every_node_of_a_graph_is_an_installed_executable() -> None:
    setup = (ROOT / 'setup.py').read_text()
    graphs = [graph.load_graph(name) for name in graph.graph_names()]
    graphs += [graph.load_graph('deploy', {**FRANKA, 'mirror': 'true'})]
    for loaded in graphs:
        for node in loaded.nodes:
            assert f"'{node.executable}'" in setup
            assert (ROOT / 'structrl_ros' / 'nodes' / f'{node.executable}.py').is_file()


def test_links_of_the_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md')]
    broken: list[str] = []
    checked = 0
    for document in documents:
        for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', document.read_text()):
            checked += 1
            if '://' not in target and not (document.parent / target).exists():
                broken += [f'{document.relative_to(ROOT)}: {target}']
    assert checked
    assert broken == []


def test_requirements_name_a_version_each() -> None:
    lines = [
        f'{path.name}: {line}'
        for path in (ROOT / 'requirements').glob('*.txt')
        for line in path.read_text().splitlines()
    ]
    assert len(lines) > 20
    assert [line for line in lines if not re.search(r'[=<]', line)] == []


@pytest.mark.parametrize(
    'path',
    [path for path in sorted(python_files()) if path.name == '__init__.py' and is_room(path)],
    ids=lambda path: str(path.parent.relative_to(ROOT)),
)
def test_room_says_in_a_few_lines_what_lives_there_and_what_may_enter(path: Path) -> None:
    told = ast.get_docstring(ast.parse(path.read_text(encoding='utf-8')))
    assert told is not None
    lines = [line for line in told.splitlines() if line.strip()]
    assert 2 <= len(lines) <= 6
    assert sum(line.startswith('May enter: ') for line in lines) == 1


@pytest.fixture(scope='module')
def modules() -> dict[str, str]:
    """Return every module of the rooms with its text."""
    paths = [path.relative_to(ROOT) for path in python_files()]
    return {str(p): (ROOT / p).read_text() for p in paths if p.parts[0] in ROOMS}


def test_modules_are_short(modules: dict[str, str]) -> None:
    lines = {path: text.count('\n') for path, text in modules.items()}
    assert {p: n for p, n in lines.items() if n > MODULE_LINES} == {}
    assert statistics.median(lines.values()) <= MEDIAN_LINES


def test_nodes_are_thin(modules: dict[str, str]) -> None:
    lines = {Path(p).stem: t.count('\n') for p, t in modules.items() if p.endswith('_node.py')}
    assert len(lines) > 10
    assert {n: k for n, k in lines.items() if k > NODE_LINES} == {}


def test_functions_are_short(modules: dict[str, str]) -> None:
    long = [
        f'{path}:{node.lineno} {node.name}: {node.end_lineno - node.lineno + 1} lines'
        for path, text in modules.items()
        if text.count('\n') > FUNCTION_LINES
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]
    assert long == []
