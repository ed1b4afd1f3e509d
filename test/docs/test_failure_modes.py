"""Claims of docs/failure-modes.md: every row is whole and names a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / 'docs' / 'failure-modes.md'
NAMED = re.compile(r'`([\w/]+\.py)::(test_\w+)`')
COLUMNS = 5


def rows() -> list[tuple[str, ...]]:
    """Return the cells of each row of the tables, without heads and rules."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith('|')]
    faults = [line for line in lines if not line.startswith(('|---', '| fault |'))]
    return [tuple(cell.strip() for cell in line.strip('|').split('|')) for line in faults]


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names of the functions of a file of tests."""
    tree = ast.parse(path.read_text())
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


def test_at_least_sixty_faults_are_listed_each_once() -> None:
    faults = [row[0] for row in rows()]
    assert len(faults) >= 60
    assert len(set(faults)) == len(faults)


def test_every_row_states_its_outcome_and_names_a_test() -> None:
    for row in rows():
        assert len(row) == COLUMNS, row
        assert all(row), row
        assert NAMED.findall(row[-1]), row


def test_every_named_test_exists() -> None:
    missing = []
    for row in rows():
        for file, name in NAMED.findall(' '.join(row)):
            path = TESTS / file
            if not path.is_file() or name not in names_in(path):
                missing.append(f'{file}::{name}')
    assert missing == []


def test_every_test_of_a_fault_is_listed() -> None:
    listed = {named for row in rows() for named in NAMED.findall(row[-1])}
    for path in sorted((TESTS / 'faults').glob('test_*.py')):
        for name in names_in(path):
            if name.startswith('test_'):
                assert (f'faults/{path.name}', name) in listed
