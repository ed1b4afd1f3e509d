"""The walks of docs/architecture.md name files and functions that exist, and stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from module_names import names_in

ROOT = Path(__file__).parents[2]
PAGE = ROOT / 'docs' / 'architecture.md'
NAMED = re.compile(r'`([\w/]+\.py)(?::([\w.]+))?`')
MOST_LINES = 25


def walks() -> dict[str, str]:
    """Return the text of each walk by its title."""
    section = PAGE.read_text(encoding='utf-8').split('\n## Three walks\n')[1].split('\n## ')[0]
    titles = re.split(r'^### (.*)$', section, flags=re.MULTILINE)
    return dict(zip(titles[1::2], titles[2::2], strict=True))


def fault_of(file: str, function: str) -> str:
    """Return what is wrong with a step, '' if nothing is."""
    paths = [ROOT / file, ROOT / 'structrl_ros' / file]
    found = [path for path in paths if path.is_file()]
    if not found:
        return f'{file}: no such file'
    is_there = not function or function in names_in(found[0])
    return '' if is_there else f'{file}: no {function}'


def test_there_are_three_walks() -> None:
    assert len(walks()) == 3


@pytest.mark.parametrize('title', walks())
def test_every_step_of_a_walk_exists(title: str) -> None:
    steps = NAMED.findall(walks()[title])
    assert len(steps) >= 15
    assert [fault for step in steps if (fault := fault_of(*step))] == []


@pytest.mark.parametrize('title', walks())
def test_a_walk_is_short(title: str) -> None:
    lines = [line for line in walks()[title].splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES
