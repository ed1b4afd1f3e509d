"""docs/equations.md names every numbered equation, and functions and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from module_names import names_in

ROOT = Path(__file__).parents[2]
PAGE = ROOT / 'docs' / 'equations.md'
LINK = re.compile(r'\[`([^`]+)`\]\(([^)]+)\)')
NO_CODE = re.compile(r'not built: part [FGJ]|not built yet|nothing to run: proofs')

#: What must have a row, by the heading of the table.
NUMBERS = {
    'StructRL': [*(f'Eq. {n}' for n in range(1, 6)), 'Algorithm 1', 'Table 7', 'Table 12'],
    'REVER': ['Algorithm 1', 'R_format', 'Sim', 'R_bm', 'R_content', 'A_i', 'J_GRPO'],
    'Robo-Dopamine 2.0': [*(f'Eq. {n}' for n in range(1, 29)), 'VOC'],
    'MART-GRPO': ['Section 2.1', 'Section 3.1', 'Section 3.2', 'Section 3.3', 'D.2', 'F.2'],
}


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each heading, as cells, without the heads of the tables."""
    rows: dict[str, list[list[str]]] = {}
    heading = ''
    for line in PAGE.read_text(encoding='utf-8').splitlines():
        if line.startswith('## '):
            heading = line.removeprefix('## ')
        elif line.startswith('| '):
            cells = [cell.strip() for cell in line.strip('|').split('|')]
            rows.setdefault(heading, []).append(cells)
    return {name: found[1:] for name, found in rows.items()}


def fault_of(name: str, target: str) -> str:
    """Return what is wrong with a link to a function or a test, '' if nothing is."""
    path = (PAGE.parent / target).resolve()
    if not path.is_file():
        return f'{name}: no file {target}'
    if '::' in name:
        file, _, function = name.partition('::')
        is_there = path.name == file and path.is_relative_to(ROOT / 'test')
    else:
        module, _, function = name.partition(':')
        is_there = str(path.relative_to(ROOT)).removeprefix('structrl_ros/') == (
            module.replace('.', '/') + '.py'
        )
    if not is_there:
        return f'{name}: the link leads to {target}'
    return '' if function in names_in(path) else f'{name}: nothing of that name in {target}'


def test_every_function_and_test_of_the_page_exists() -> None:
    links = LINK.findall(PAGE.read_text(encoding='utf-8'))
    assert len(links) > 100
    assert [fault for name, target in links if (fault := fault_of(name, target))] == []


@pytest.mark.parametrize('paper', NUMBERS)
def test_every_number_of_a_paper_has_its_row(paper: str) -> None:
    told = [re.split(r'[,:(] ?', row[0]) for row in tables()[paper]]
    listed = {word.strip() for words in told for word in words}
    assert [number for number in NUMBERS[paper] if number not in listed] == []


def test_every_row_has_a_function_and_a_test_or_says_that_it_is_not_built() -> None:
    for heading, rows in tables().items():
        if heading == 'Twins':
            continue
        for number, says, function, test, departure in rows:
            assert says, number
            assert departure, number
            if NO_CODE.fullmatch(function):
                assert test == function, number
                continue
            homes, proofs = LINK.findall(function), LINK.findall(test)
            assert homes, f'{heading}, {number}: no function'
            assert all(':' in name and '::' not in name for name, _ in homes), number
            assert proofs, f'{heading}, {number}: no test'
            assert all('::' in name for name, _ in proofs), number


def test_every_kind_of_score_has_its_row() -> None:
    golden = {path.stem for path in (ROOT / 'test' / 'golden').glob('*.json')}
    rows = tables()['Kinds of `structrl score`']
    assert {row[0].strip('`') for row in rows} == golden
