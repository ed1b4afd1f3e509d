"""Site hook: fills the page of messages from the files of structrl_msgs.

Comments before the first field describe the type, a comment behind a field describes the field.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

MESSAGES = Path(__file__).parents[2] / 'structrl_msgs'
_PARTS = {
    'msg': ('Messages', ('',)),
    'srv': ('Services', ('Request', 'Response')),
    'action': ('Actions', ('Goal', 'Result', 'Feedback')),
}
PAGE = 'reference/messages.md'


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Append every type to the page."""
    return f'{markdown}\n{describe_messages()}' if page.file.src_uri == PAGE else markdown


def describe_messages() -> str:
    """Return every message, service and action, as Markdown."""
    parts: list[str] = []
    for kind, (title, sections) in _PARTS.items():
        parts.append(f'## {title}\n')
        parts += [
            describe(path.stem, path.read_text(encoding='utf-8'), sections)
            for path in sorted((MESSAGES / kind).glob(f'*.{kind}'))
        ]
    return '\n'.join(parts)


def describe(name: str, text: str, sections: tuple[str, ...]) -> str:
    """Return one type: its comment, and a table of fields for each section."""
    words, rest = _introduction(text.splitlines())
    told = [f'### {name}\n', ' '.join(words) + '\n' if words else '']
    for title, body in zip(sections, '\n'.join(rest).split('\n---'), strict=True):
        if title:
            told.append(f'**{title}**\n')
        rows = [_row(line) for line in body.splitlines() if line.strip().strip('-')]
        told.append(_table([row for row in rows if row[1]]))
    return '\n'.join(told)


def _introduction(lines: list[str]) -> tuple[list[str], list[str]]:
    """Split the comment that a file begins with from the fields."""
    count = next((i for i, line in enumerate(lines) if not line.startswith('#')), len(lines))
    return [line.lstrip('# ').strip() for line in lines[:count]], lines[count:]


def _row(line: str) -> tuple[str, str, str]:
    """Return type, name and comment of a field or constant."""
    field, _, comment = line.partition('#')
    kind, _, name = ' '.join(field.split()).partition(' ')
    return kind, name, comment.strip()


def _table(rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return 'No fields.\n'
    lines = ['| field | type | |', '|---|---|---|']
    lines += [f'| `{name}` | `{kind}` | {comment} |' for kind, name, comment in rows]
    return '\n'.join(lines) + '\n'
