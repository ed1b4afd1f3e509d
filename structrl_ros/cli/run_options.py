"""Options that every command has that trains a model into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path | None, typer.Option(help='Where the run is kept; default runs/<time>.')]
Base = Annotated[
    str, typer.Option(help='Folder of a vision-language model, or its id on the hub.')
]
Seed = Annotated[int | None, typer.Option(min=0, help='Seed of everything drawn.')]
Resume = Annotated[
    bool, typer.Option('--resume', help='Go on with the run in --out, to the same numbers.')
]
