"""Print the table of docs/licences.md from the metadata of what is installed.

Usage: .venv/bin/python docs/licence_table.py > table.md
Only packages that a file of requirements/ names are listed: what those need in turn comes with
them and keeps its own terms.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution
from importlib.metadata import PackageNotFoundError
from importlib.metadata import distribution
from pathlib import Path
from xml.etree import ElementTree

REQUIREMENTS = Path(__file__).parents[1] / 'requirements'
PURPOSES = {
    'core': 'run',
    'ros-jazzy': 'run (ROS 2)',
    'libero': 'simulator, optional',
    'libero-no-deps': 'simulator, optional',
    'export': 'export and import of data sets, optional',
    'rerun': 'export for a viewer, optional',
    'sensors': 'cameras, optional',
    'console': 'the console, optional',
    'learning': 'training, optional',
    'learning-no-deps': 'training, optional',
    'planner': 'training, optional',
    'dev': 'development',
    'docs': 'site of the docs',
}

TEXTS = {
    'Permission is hereby granted, free of charge': 'MIT',
    'Apache License': 'Apache-2.0',
    'Redistribution and use in source and binary forms': 'BSD',
}


def licence(name: str) -> tuple[str, str]:
    """Return version and licence of an installed package, as its metadata tells them."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return '', 'not installed here'
    fields = package.metadata
    classifiers = fields.get_all('Classifier') or []
    classes = [c.rsplit(' :: ', 1)[-1] for c in classifiers if c.startswith('License ::')]
    first = (fields.get('License') or '').strip().splitlines()[:1]
    told = [
        fields.get('License-Expression'),
        ', '.join(dict.fromkeys(c for c in classes if not c.endswith('pproved'))),
        first[0] if first and first[0] != 'UNKNOWN' else '',
        ros_licence(name),
        file_licence(package),
        'not told by the package',
    ]
    return package.version, next(text for text in told if text)


def ros_licence(name: str) -> str:
    """Return the licence in the package.xml that a ROS 2 wheel installs, '' for others."""
    if not name.startswith('ros-'):
        return ''
    stem = name.split('-', 2)[2].replace('-', '_')
    path = Path(sys.prefix, 'share', stem, 'package.xml')
    if not path.is_file():
        # A wheel that only gathers others: common-interfaces.
        path = Path(sys.prefix, 'share', 'std_msgs', 'package.xml')
    return ElementTree.parse(path).getroot().findtext('license') or ''


def file_licence(package: Distribution) -> str:
    """Return the licence that the text of a package's own licence file is known for."""
    for file in package.files or []:
        if '.dist-info/' in str(file) and re.match(r'(?i)licen[sc]e|copying', file.name):
            text = file.locate().read_text(encoding='utf-8', errors='replace')
            for mark, name in TEXTS.items():
                if mark in text:
                    return f'{name} (by its licence file)'
    return ''


def rows() -> list[tuple[str, str, str, str]]:
    """Return package, version, licence and purpose of each named package, in order."""
    found: dict[str, tuple[str, str, str, str]] = {}
    for stem, purpose in PURPOSES.items():
        for line in (REQUIREMENTS / f'{stem}.txt').read_text().splitlines():
            name = re.split(r'[=<>\[]', line.strip())[0]
            if name and name not in found:
                found[name] = (name, *licence(name), purpose)
    torch = licence('torch')
    found['torch'] = ('torch', torch[0].split('+')[0], torch[1], 'learned policies, optional')
    return sorted(found.values(), key=lambda row: row[0].lower())


def main() -> None:
    """Write the table."""
    lines = ['| package | version | licence | for |', '|---|---|---|---|']
    lines += ['| ' + ' | '.join(row) + ' |' for row in rows()]
    sys.stdout.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
