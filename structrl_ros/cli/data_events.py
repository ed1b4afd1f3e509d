"""`structrl data events`: tabletop rollouts with true failure events (MART-GRPO, Section E.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.export import export_libraries
from structrl_ros.errors import ParameterError

Policy = Annotated[
    str, typer.Option(help='Folder of a checkpoint or run; default: the shipped one.')
]
Tasks = Annotated[
    list[str] | None, typer.Option(help='Tabletop task; repeat it. Default: pack_lunch.')
]
Offsets = Annotated[
    list[float] | None,
    typer.Option(help='Calibration offset, m; repeat it. Default: 0, 0.015 and 0.03.'),
]
Pictures = Annotated[
    int, typer.Option(min=0, max=200, help='Frames of a camera and rollout; 0: none.')
]
Roles = Annotated[list[str] | None, typer.Option(help='Camera; repeat it. Default: head.')]
Grm = Annotated[
    str, typer.Option(help='Progress model to ask of failures outside train; its name or folder.')
]


def events(
    out: Annotated[Path, typer.Argument(help='Folder of the set; the same one takes more.')],
    policy: Policy = '',
    name: Annotated[str, typer.Option(help='What the set calls the policy.')] = 'shipped',
    task: Tasks = None,
    scenes: Annotated[int, typer.Option(min=1, max=10_000, help='Scenes of each task.')] = 150,
    offset: Offsets = None,
    explore: Annotated[bool, typer.Option(help='With the noise of practice.')] = True,
    seed: Annotated[int, typer.Option(min=0, help='Of scenes and noise.')] = 0,
    pictures: Pictures = 0,
    role: Roles = None,
    size: Annotated[int, typer.Option(min=32, max=512, help='Side of a picture, px.')] = 96,
    grm: Grm = '',
) -> None:
    """Play policies on watched bodies and keep every rollout with the simulator's label.

    The label is the last error that later states did not make good. Scenes go to train, validation
    or test by their identity. A run that was stopped goes on; another policy adds to the set.

    Example: [bold]structrl data events sets/events --pictures 8[/]
    """
    with export_libraries():
        from structrl_ros.training.event_card import write_event_card
        from structrl_ros.training.event_run import EventRequest
        from structrl_ros.training.event_run import make_events
    from structrl_ros.training.learned_policy import shipped_checkpoint

    if policy and name == 'shipped':
        raise ParameterError('--policy needs a --name that says which it is; got none')
    request = EventRequest(
        out=out,
        policy=policy or str(shipped_checkpoint('tabletop')),
        name=name,
        tasks=tuple(task or ('pack_lunch',)),
        scenes=scenes,
        offsets=tuple(offset or (0.0, 0.015, 0.03)),
        explore=explore,
        seed=seed,
        roles=tuple(role or ('head',)),
        frames=pictures,
        size_px=size,
        grm=grm,
    )
    console = Console(soft_wrap=True)
    with console.status('playing'):
        found = make_events(
            request, lambda part, count: console.print(f'{part}: {count} rollouts', markup=False)
        )
    write_event_card(out, found)
    console.print(_table(out))


def _table(out: Path) -> Table:
    """Return what the splits hold."""
    from structrl_ros.training.event_card import count_episodes
    from structrl_ros.training.event_set import read_split

    table = Table('split', 'task', title=str(out))
    for column in ('failed', 'of which eligible', 'successful'):
        table.add_column(column, justify='right')
    for split in ('train', 'validation', 'test'):
        if (out / 'data' / f'{split}.parquet').is_file():
            for (_, task), entry in sorted(count_episodes(read_split(out, split)).items()):
                numbers = (entry[key] for key in ('failed', 'eligible', 'success'))
                table.add_row(split, task, *map(str, numbers))
    return table
