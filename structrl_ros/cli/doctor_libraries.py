"""`structrl doctor`: the Python packages that `requirements/` names, and their versions."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.errors import ParameterError
from structrl_ros.naming import counted
from structrl_ros.params.share import share_path

_LINE = re.compile(r'(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?==(?P<version>[^\s;]+)')


def libraries(
    subject: str, files: Sequence[str], *, needed: bool = False, without: str = ''
) -> Finding:
    """Compare what requirements files name with what is installed.

    Args:
        subject: Of the finding.
        files: Names in `requirements/`, without `.txt`.
        needed: Whether nothing works without them.
        without: What does not work without them.
    """
    absent, other, count = [], [], 0
    for line in _requirements(files):
        count += 1
        found = version(line['name'])
        if found is None:
            absent.append(line['name'])
        elif found.split('+')[0] != line['version']:
            other.append(f'{line["name"]} is {found}, tested with {line["version"]}')
    remedy = f'`.venv/bin/pip install {" ".join(f"-r requirements/{f}.txt" for f in files)}`'
    if absent:
        state = State.MISSING if needed else State.OPTIONAL
        detail = f'not installed: {", ".join(absent)}{f"; without: {without}" if without else ""}'
        return Finding(subject, state, detail, remedy)
    if other:
        return Finding(subject, State.DOUBTFUL, '; '.join(other), remedy)
    return Finding(subject, State.GOOD, f'{counted(count, "package")}, as tested')


def _requirements(files: Sequence[str]) -> list[re.Match[str]]:
    """Return the pinned lines of requirements files; none where they are not here (colcon)."""
    try:
        folder = share_path('requirements')
    except ParameterError:
        return []
    texts = [(folder / f'{name}.txt').read_text('utf-8').splitlines() for name in files]
    return [found for lines in texts for line in lines if (found := _LINE.match(line))]


def core_libraries() -> Finding:
    """Look at what nothing works without."""
    return libraries('Core libraries', ['core'], needed=True)


def training_libraries() -> Finding:
    """Look at what trains and exports."""
    files = ['learning', 'planner', 'export', 'learning-no-deps']
    return libraries('Training libraries', files, without='structrl train, export, planner:=local')


def camera_libraries() -> Finding:
    """Look at what opens cameras and finds boards."""
    return libraries('Camera libraries', ['sensors'], without='RealSense, structrl calibrate')


def console_libraries() -> Finding:
    """Look at what serves the console."""
    return libraries('Console libraries', ['console'], without='structrl console')


def version(distribution: str) -> str | None:
    """Return the version of an installed distribution, None if it is not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
