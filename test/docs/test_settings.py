"""docs/settings.md: every node's and trainer's settings with the defaults of the code."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import structrl_ros.params

PAGE = (Path(__file__).parents[2] / 'docs/settings.md').read_text(encoding='utf-8')
SECTIONS = {
    part.split('\n', 1)[0]: part.partition('\n## ')[0] for part in PAGE.split('\n### ')[1:]
}
TRAINERS = {
    'RunSettings': 'settings',
    'PracticeSettings': 'settings',
    'PpoSettings': 'settings',
    'GrpoSettings': 'settings',
    'SftSettings': 'settings',
    'CurriculumSettings': 'grm_settings',
    'GrmSettings': 'grm_settings',
    'EventSettings': 'event_settings',
}


def node_parameters() -> dict[str, dict[str, Any]]:
    """Return node to name and default of its parameters; a required one is MISSING."""
    found = {}
    for module in pkgutil.iter_modules(structrl_ros.params.__path__):
        place = importlib.import_module(f'structrl_ros.params.{module.name}')
        kind = getattr(place, f'{module.name.capitalize()}Parameters', None)
        if dataclasses.is_dataclass(kind):
            fields = dataclasses.fields(kind)
            found[f'{module.name}_node'] = {field.name: field.default for field in fields}
    return found


def trainer_settings(name: str) -> dict[str, Any]:
    place = importlib.import_module(f'structrl_ros.training.{TRAINERS[name]}')
    kind = getattr(place, name)
    return {n: f.default for n, f in kind.model_fields.items() if n in kind.__annotations__}


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ', '.join(map(str, value))
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def check(section: str, defaults: dict[str, Any]) -> None:
    rows = re.findall(r'^\| `(\w+)` \| (.*?) \| (.+?) \|$', section, re.MULTILINE)
    told = {name: default for name, default, source in rows if source.strip()}
    lists = dict(re.findall(r'^(Must be given|Empty unless given).*?: (`.*)\.$', section, re.M))
    must = re.findall(r'`(\w+)`', lists.get('Must be given', ''))
    empty = re.findall(r'`(\w+)`', lists.get('Empty unless given', ''))
    assert must == [n for n, value in defaults.items() if value is dataclasses.MISSING]
    assert empty == [n for n, value in defaults.items() if value in ('', ())]
    known = {n: shown(value) for n, value in defaults.items() if n not in {*must, *empty}}
    assert told == known


@pytest.mark.parametrize('node', node_parameters())
def test_every_parameter_of_a_node_stands_with_its_default_and_a_source(node: str) -> None:
    check(SECTIONS[node], node_parameters()[node])


@pytest.mark.parametrize('name', TRAINERS)
def test_every_setting_of_a_trainer_stands_with_its_default_and_a_source(name: str) -> None:
    pytest.importorskip('torch')
    check(SECTIONS[name], trainer_settings(name))


def test_no_section_is_of_a_node_or_trainer_that_is_gone() -> None:
    assert set(SECTIONS) == {*node_parameters(), *TRAINERS}
