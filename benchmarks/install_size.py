"""Disk that each set of requirements takes: its packages and what they need in turn.

Usage: .venv/bin/python benchmarks/install_size.py
Looks at what is installed in this Python. A package that an earlier set has brought already is not
counted again, in the order of `make install`, so that the rows add up; those of `*-no-deps.txt`
come alone, as they are installed.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REQUIREMENTS = Path(__file__).parents[1] / 'requirements'
#: Rows in the order of installation: title, files.
SETS = (
    ('core', ('core',)),
    ('ROS 2', ('ros-jazzy', 'ros-kilted')),
    ('torch (CPU)', ()),
    ('LIBERO and MuJoCo', ('libero', 'libero-no-deps')),
    ('training', ('learning', 'learning-no-deps')),
    ('planner training', ('planner',)),
    ('export', ('export',)),
    ('cameras', ('sensors',)),
    ('console', ('console',)),
    ('Rerun', ('rerun',)),
    ('Franka', ('franka',)),
    ('language model for tests', ('llm-test', 'llm-test-no-deps')),
    ('docs', ('docs',)),
    ('development', ('dev',)),
)


def named(stem: str) -> list[Requirement]:
    """Return what a requirements file names."""
    lines = (REQUIREMENTS / f'{stem}.txt').read_text(encoding='utf-8').splitlines()
    return [Requirement(line) for line in lines if re.match(r'[A-Za-z]', line)]


def closure(
    wanted: list[Requirement], *, alone: bool
) -> dict[str, importlib.metadata.Distribution]:
    """Return the installed distributions that some requirements bring, by name."""
    found: dict[str, importlib.metadata.Distribution] = {}
    open_ends = list(wanted)
    while open_ends:
        requirement = open_ends.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        try:
            found[name] = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        extras = requirement.extras or {''}
        for line in [] if alone else found[name].requires or []:
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({'extra': e}) for e in extras):
                open_ends.append(needed)
    return found


def size_mib(distribution: importlib.metadata.Distribution) -> float:
    """Return the disk that the files of a distribution take."""
    paths = {Path(str(file.locate())) for file in distribution.files or []}
    return sum(path.stat().st_size for path in paths if path.is_file()) / 2**20


def main() -> None:
    """Print the table."""
    counted: set[str] = set()
    total = 0.0
    print('| set | packages | MiB | largest |\n|---|---|---|---|')
    for title, stems in SETS:
        brought: dict[str, importlib.metadata.Distribution] = {}
        for stem in stems:
            brought |= closure(named(stem), alone=stem.endswith('-no-deps'))
        if not stems:
            brought = closure([Requirement('torch')], alone=False)
        sizes = {n: size_mib(d) for n, d in brought.items() if n not in counted}
        counted |= set(brought)
        total += sum(sizes.values())
        top = sorted(sizes, key=lambda name: -sizes[name])[:3]
        largest = ', '.join(f'{name} {sizes[name]:.0f}' for name in top if sizes[name] >= 1)
        print(f'| {title} | {len(sizes)} | {sum(sizes.values()):.0f} | {largest} |')
    print(f'| all | | {total:.0f} | in {sys.prefix} |')


if __name__ == '__main__':
    main()
