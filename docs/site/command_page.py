"""Site hook: fills the page of commands from the help of the `structrl` command itself."""

from __future__ import annotations

import re

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from typer.cli import get_docs_for_click

from structrl_ros.cli.main import app

PAGE = 'reference/commands.md'


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Append every command to the page."""
    return f'{markdown}\n{describe_commands()}' if page.file.src_uri == PAGE else markdown


def describe_commands() -> str:
    """Return every command with its arguments and options, as Markdown."""
    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name='structrl')
    _, _, commands = text.partition('\n## ')
    commands = re.sub(r'^\* `--help`.*\n', '', '## ' + commands, flags=re.MULTILINE)
    commands = re.sub(r'\*\*Options\*\*:\n\n(?!\*)', '', commands)
    # What is bold in help is to be typed.
    commands = re.sub(r'\[bold\](.*?)\[/\]', r'`\1`', commands, flags=re.DOTALL)
    return '\n'.join(_without_tags(line) for line in commands.splitlines())


def _without_tags(line: str) -> str:
    """Return a line in which `runs/<time>` outside of code is no HTML."""
    parts = line.split('`')
    parts[::2] = [part.replace('<', '&lt;') for part in parts[::2]]
    return '`'.join(parts)
