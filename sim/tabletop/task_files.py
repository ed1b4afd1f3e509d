"""Reads the tasks of `tasks/*.yaml` and refuses a file that is wrong, with one clear line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic import ValidationError

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.task_data import FIXTURE_SLOTS
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.sim.tabletop.task_data import PREDICATE_SLOTS
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import Task

FOLDER = Path(__file__).parent / 'tasks'
#: Scenes for instructions that are not the body's own; found by name, in no list of tasks.
SCENES = Path(__file__).parent / 'scenes'

#: Parts that each kind of fixture must have.
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'lidded_box': ('region', 'joint', 'handle'),
        'drawer': ('region', 'joint', 'handle'),
        'button': ('joint', 'handle'),
        'knob': ('joint', 'handle'),
        'bowl': ('region',),
        'basket': ('region',),
        'peg': ('region',),
    }
)

#: Kinds of predicates that can be said of each kind of fixture.
SAID_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'lidded_box': ('open', 'close', 'in'),
        'drawer': ('open', 'close', 'in'),
        'button': ('press',),
        'knob': ('turnon',),
        'bowl': ('in',),
        'basket': ('in',),
        'peg': ('on',),
    }
)

_ADAPTER: TypeAdapter[Task] = TypeAdapter(Task)


@cache
def tasks() -> Mapping[str, Task]:
    """Return the shipped tasks by name, in the order of their index.

    Raises:
        ParameterError: If a file is wrong, or two tasks share a name or an index.
    """
    found: dict[str, Task] = {}
    for path in sorted(FOLDER.glob('*.yaml')):
        task = load_task(path)
        if task.name != path.stem:
            raise ParameterError(f'{path}: name: got {task.name!r}; allowed: {path.stem!r}')
        twin = next((t for t in found.values() if t.index == task.index), None)
        if twin is not None:
            raise ParameterError(
                f'{path}: index: got {task.index}; allowed: one that {twin.name!r} has not'
            )
        found[task.name] = task
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: item[1].index)))


@cache
def scenes() -> Mapping[str, Task]:
    """Return the scenes of `scenes/*.yaml` by name.

    Raises:
        ParameterError: If a file is wrong.
    """
    return MappingProxyType({p.stem: load_task(p) for p in sorted(SCENES.glob('*.yaml'))})


def find_task(name: str) -> Task:
    """Return a shipped task, or a scene.

    Raises:
        SimulationError: If there is none of this name.
    """
    found = tasks().get(name) or scenes().get(name)
    if found is None:
        raise SimulationError(f'unknown task {name!r}; known: {", ".join(tasks())}')
    return found


def load_task(path: Path) -> Task:
    """Read and check one file.

    Raises:
        ParameterError: Naming the file, the field, what was got and what is allowed.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f'{path}: cannot be read: {error}') from None
    except yaml.YAMLError as error:
        raise ParameterError(f'{path}: no YAML: {" ".join(str(error).split())}') from None
    return read_task(document, str(path))


def read_task(document: Any, source: str) -> Task:
    """Check a document and return its task; `source` names it in errors.

    Raises:
        ParameterError: Naming the source, the field, what was got and what is allowed.
    """
    try:
        task = _ADAPTER.validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = '.'.join(str(part) for part in first['loc']) or 'document'
        is_missing = first['type'] in ('missing', 'missing_argument')
        given = 'nothing' if is_missing else repr(first['input'])
        raise ParameterError(f'{source}: {where}: got {given}; {_allowed(first)}') from None
    for field, got, allowed in _faults(task):
        raise ParameterError(f'{source}: {field}: got {got!r}; allowed: {allowed}')
    return task


def _allowed(error: Mapping[str, Any]) -> str:
    """Return what pydantic would have accepted, in words."""
    if error['type'] == 'unexpected_keyword_argument':
        return 'allowed: no such field'
    if error['type'] in ('missing', 'missing_argument'):
        return 'allowed: this field must be given'
    return f'allowed: {error["msg"].removeprefix("Input should be ")}'


def _faults(task: Task) -> list[tuple[str, object, str]]:
    """Return field, value and what is allowed for what types alone do not catch."""
    faults: list[tuple[str, object, str]] = []
    for listed, things, most in (
        ('fixtures', task.fixtures, FIXTURE_SLOTS),
        ('objects', task.objects, OBJECT_SLOTS),
    ):
        if len(things) > most:
            faults.append((listed, f'{len(things)} of them', f'up to {most}'))
    names = [*(o.name for o in task.objects), *(f.name for f in task.fixtures)]
    faults += [('name', n, 'each name once') for n in names if names.count(n) > 1]
    for i, fixture in enumerate(task.fixtures):
        faults += _fixture_faults(f'fixtures.{i}', fixture)
    for i, thing in enumerate(task.objects):
        faults += _range_faults(f'objects.{i}.pose', thing.pose)
        if thing.shape == 'ring' and not 0.0 < thing.hole < min(thing.size[:2]):
            faults.append((f'objects.{i}.hole', thing.hole, 'above 0, below the size of a ring'))
    faults += _range_faults('start', task.start)
    return faults or _predicate_faults(task)


def _fixture_faults(field: str, fixture: Fixture) -> list[tuple[str, object, str]]:
    missing = [n for n in NEEDS[fixture.kind] if getattr(fixture, n) is None]
    faults: list[tuple[str, object, str]] = [
        (f'{field}.{n}', None, f'a {fixture.kind} needs it') for n in missing
    ]
    joint = fixture.joint
    if joint is not None and not 0.0 <= joint.closed < joint.done <= joint.limit:
        order = (joint.closed, joint.done, joint.limit)
        faults.append((f'{field}.joint', order, 'closed < done <= limit'))
    if fixture.kind == 'lidded_box' and joint is not None and joint.hinge is None:
        faults.append((f'{field}.joint.hinge', None, 'a lidded_box needs it'))
    return faults + _range_faults(f'{field}.pose', fixture.pose)


def _range_faults(field: str, ranges: object) -> list[tuple[str, object, str]]:
    faults: list[tuple[str, object, str]] = []
    for name in ('x', 'y', 'z', 'yaw'):
        value = getattr(ranges, name)
        if isinstance(value, tuple) and value[0] > value[1]:
            faults.append((f'{field}.{name}', value, 'a range from low to high'))
    return faults


def _predicate_faults(task: Task) -> list[tuple[str, object, str]]:
    known = sorted({*(o.name for o in task.objects), *(f.name for f in task.fixtures)})
    known += [f.region.name for f in task.fixtures if f.region]
    listed = [(f'stages.{i}', n) for i, stage in enumerate(task.stages) for n in stage]
    faults: list[tuple[str, object, str]] = []
    for field, name in [*listed, *(('goal', n) for n in task.goal)]:
        try:
            predicate = task.bind(name)
        except KeyError:
            faults.append((field, name, f'kind(thing, ...) of {", ".join(known)}'))
            continue
        if predicate.fixture >= 0:
            said = SAID_OF[task.fixtures[predicate.fixture].kind]
            if predicate.kind not in said:
                faults.append((field, name, f'{" or ".join(said)} of that thing'))
    staged = [n for _, n in listed]
    faults += [('stages', n, 'each predicate once') for n in staged if staged.count(n) > 1]
    faults += [('goal', n, 'a predicate of a stage') for n in task.goal if n not in staged]
    if not task.goal:
        faults.append(('goal', task.goal, 'one predicate or more'))
    if not faults and len(task.predicates) > PREDICATE_SLOTS:
        faults.append(('goal', f'{len(task.predicates)} to publish', f'up to {PREDICATE_SLOTS}'))
    return faults
