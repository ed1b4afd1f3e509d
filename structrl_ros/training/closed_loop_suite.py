"""Reads the suite of abstract instructions and refuses what is wrong in it with one line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic import ValidationError

from structrl_ros import sim
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.closed_loop import AbstractInstruction

#: The suite that is shipped.
SUITE = Path(sim.__path__[0]) / 'abstract_instructions.yaml'
VERSION = 1

_ADAPTER: TypeAdapter[tuple[AbstractInstruction, ...]] = TypeAdapter(
    tuple[AbstractInstruction, ...]
)


@dataclass(frozen=True, slots=True)
class Suite:
    """Instructions in order, and the SHA-256 of their file."""

    instructions: tuple[AbstractInstruction, ...]
    sha256: str

    def select(
        self, names: Sequence[str], bodies: Sequence[str]
    ) -> tuple[AbstractInstruction, ...]:
        """Return those of the names and bodies; none given means all.

        Raises:
            ParameterError: If a name is unknown, or nothing is left.
        """
        known = [i.name for i in self.instructions]
        if unknown := [n for n in names if n not in known]:
            raise ParameterError(f'instruction {unknown[0]!r}; known: {", ".join(known)}')
        found = tuple(
            i
            for i in self.instructions
            if (not names or i.name in names) and (not bodies or i.body in bodies)
        )
        if not found:
            told = ', '.join(sorted({i.body for i in self.instructions}))
            raise ParameterError(f'no instruction for body {", ".join(bodies)}; bodies: {told}')
        return found


def read_suite(path: Path = SUITE) -> Suite:
    """Read a suite.

    Raises:
        ParameterError: Naming the file, the field, what was got and what is allowed.
    """
    try:
        data = path.read_bytes()
        document: Any = yaml.safe_load(data)
    except (OSError, yaml.YAMLError) as error:
        raise ParameterError(f'{path}: {" ".join(str(error).split())}') from None
    is_one = isinstance(document, dict) and set(document) == {'version', 'instructions'}
    if not is_one or document['version'] != VERSION:
        raise ParameterError(f'{path}: allowed: version: {VERSION}, instructions: [...]')
    try:
        found = _ADAPTER.validate_python(document['instructions'])
    except ValidationError as error:
        first = error.errors()[0]
        where = '.'.join(str(part) for part in first['loc'])
        raise ParameterError(f'{path}: instructions.{where}: {first["msg"]}') from None
    names = [i.name for i in found]
    for instruction in found:
        if names.count(instruction.name) > 1:
            raise ParameterError(f'{path}: {instruction.name!r} stands there twice')
        if not instruction.plans or not all(p.stages and p.goal for p in instruction.plans):
            raise ParameterError(f'{path}: {instruction.name}: needs plans with stages and a goal')
    return Suite(found, hashlib.sha256(data).hexdigest())
