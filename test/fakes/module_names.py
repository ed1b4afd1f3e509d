"""Names that a module defines, read from its source: nothing is imported."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the functions and classes of a module; those of a class as 'Class.name'."""
    found: set[str] = set()

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                visit(node.body, f'{prefix}{node.name}.')

    visit(ast.parse(path.read_text(encoding='utf-8')).body, '')
    return frozenset(found)
