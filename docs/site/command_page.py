"""Site hook: the page of commands, from the help of the `structrl` command itself."""

from __future__ import annotations

import re

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File
from mkdocs.structure.files import Files
from typer.cli import get_docs_for_click

from structrl_ros.cli.main import app

_HEAD = """# Commands

`structrl COMMAND --help` says the same in a terminal. `KEY:=VALUE` are arguments of a graph, as
`ros2 launch` has them.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    files.append(File.generated(config, 'reference/commands.md', content=page()))
    return files


def page() -> str:
    """Return the page as Markdown."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name='structrl')
    _, _, commands = text.partition('\n## ')
    commands = re.sub(r'^\* `--help`.*\n', '', '## ' + commands, flags=re.MULTILINE)
    commands = re.sub(r'\*\*Options\*\*:\n\n(?!\*)', '', commands)
    return f'{_HEAD}\n{_without_markup(commands)}'


def _without_markup(text: str) -> str:
    """Return text with rich's [bold]...[/] as code: what is bold in help is to be typed."""
    return re.sub(r'\[bold\](.*?)\[/\]', r'`\1`', text)
