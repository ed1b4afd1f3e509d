"""Options that every command has that starts a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Assignments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar='[KEY:=VALUE]...', help='Arguments of the graph (structrl up deploy --show-args).'
    ),
]
RunDirectory = Annotated[
    Path | None, typer.Option('--run-dir', help='Where the run is kept; default runs/<time>.')
]
