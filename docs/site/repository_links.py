"""Site hook: a link from a page to a file of the repository leads to a page that shows the file.

On a code host `[the settings](../structrl_ros/training/grm_settings.py)` opens the file; the site
lies in a folder of its own and works without a network, so the file comes along as a page below
`source/`. A link to a file that does not exist is left as it is: a strict build fails at it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File
from mkdocs.structure.files import Files
from mkdocs.structure.files import InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
#: `](../target#L12)` and `](../target "title")`: the target of an inline link that goes up.
_LINK = re.compile(r'(?<=\]\()(?P<target>\.\./[^\s)#]+)(?P<mark>#[^\s)]*)?')
_FENCE = re.compile(r'^(```|~~~).*?^\1', re.MULTILINE | re.DOTALL)
_LANGUAGES = {
    '.py': 'python',
    '.yaml': 'yaml',
    '.yml': 'yaml',
    '.json': 'json',
    '.sh': 'sh',
    '.toml': 'toml',
    '.xml': 'xml',
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file of the repository that a page links to."""
    wanted: set[str] = set()
    for file in list(files.documentation_pages()):
        wanted |= {path for path, _ in _links(file.content_string, file.src_uri)}
    for path in sorted(wanted):
        page = File.generated(
            config,
            page_of(path),
            content=_show(ROOT / path, path),
            inclusion=InclusionLevel.NOT_IN_NAV,
        )
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files of the repository into links to their pages."""
    here = posixpath.dirname(page.file.src_uri)

    def turn(match: re.Match[str]) -> str:
        path = _repository_path(match['target'], page.file.src_uri)
        if path is None:
            return match[0]
        line = re.fullmatch(r'#L(\d+)(-L?\d+)?', match['mark'] or '')
        mark = f'#__codelineno-0-{line[1]}' if line else ''
        return posixpath.relpath(page_of(path), here or '.') + mark

    return _LINK.sub(turn, markdown)


def page_of(path: str) -> str:
    """Return the page that shows a file or folder of the repository."""
    return f'source/{path}.md'


def _links(markdown: str, page: str) -> list[tuple[str, str]]:
    """Return the repository paths that a page links to, with the targets as written."""
    text = _FENCE.sub('', markdown)
    found = [(_repository_path(m['target'], page), m['target']) for m in _LINK.finditer(text)]
    return [(path, target) for path, target in found if path is not None]


def _repository_path(target: str, page: str) -> str | None:
    """Return what a link means in the repository, None where it stays in docs or is nothing."""
    full = posixpath.normpath(posixpath.join('docs', posixpath.dirname(page), target))
    if full.startswith(('docs/', '../')) or not (ROOT / full).exists():
        return None
    return full


def _show(path: Path, name: str) -> str:
    """Return a page that shows a text file, or lists a folder."""
    head = f'---\nsearch: {{exclude: true}}\n---\n\n# `{name}`\n\n'
    if path.is_dir():
        names = sorted(p.name + '/' * p.is_dir() for p in path.iterdir() if p.name[0] not in '._')
        return head + '\n'.join(f'- `{entry}`' for entry in names) + '\n'
    text = path.read_text(encoding='utf-8', errors='replace')
    fence = '`' * max(3, 1 + max(map(len, re.findall('`+', text)), default=0))
    return f'{head}{fence}{_LANGUAGES.get(path.suffix, "text")}\n{text.rstrip()}\n{fence}\n'
