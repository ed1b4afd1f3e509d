"""`structrl events`: where failure feedback on a recorded episode would stop, and why."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.ports import EventModel
    from structrl_ros.recording.failed_rollout import RecordedRollout
    from structrl_ros.types import EventReview

BACKENDS = ('progress', 'progress_stall', 'simulator', 'vlm')

Backend = Annotated[str, typer.Option(help='progress, progress_stall, simulator or vlm.')]
Bag = Annotated[Path, typer.Argument(help='Folder of a bag, or of a run with one.')]
Grm = Annotated[
    str,
    typer.Option(help='Progress model to ask; default: what the bag tells, else grm_tabletop.'),
]
Goal = Annotated[str, typer.Option(help='Its goal: a picture, or a bag whose last ones count.')]
Roles = Annotated[list[str] | None, typer.Option(help='Camera; repeat it.')]


def events(
    bag: Bag,
    backend: Backend = 'progress',
    episode: Annotated[int | None, typer.Option(min=1, help='Default: the main one.')] = None,
    grm: Grm = '',
    goal: Goal = '',
    role: Roles = None,
    model: Annotated[str, typer.Option(help='Of vlm: a local model, folder or id.')] = '',
    adapter: Annotated[str, typer.Option(help='Folder of a LoRA adapter of it.')] = '',
    server: Annotated[str, typer.Option(help='Of vlm: http(s)://HOST[:PORT]/v1.')] = '',
    server_model: Annotated[str, typer.Option(help='Name of the model there.')] = '',
) -> None:
    """Review a recorded failure: its last error that was not made good, and the boundary.

    Example: [bold]structrl events runs/TIME/bag[/], [bold]structrl events runs/TIME --backend vlm
    --server http://127.0.0.1:8000/v1 --server-model NAME[/]
    """
    from structrl_ros.cli.event_backends import VlmChoice
    from structrl_ros.cli.replay import bag_folder
    from structrl_ros.models.events.progress import ProgressEvents
    from structrl_ros.models.events.stall import StallEvents
    from structrl_ros.recording.failed_rollout import read_failed_rollout
    from structrl_ros.sim.events.reviewer import SimulatorEvents

    if backend not in BACKENDS:
        raise ParameterError(f'--backend {backend!r}; allowed: {", ".join(BACKENDS)}')
    roles = tuple(role or (('head',) if backend == 'vlm' else ('head', 'left_wrist')))
    choice = VlmChoice(
        model=model, adapter=adapter, server=server, server_model=server_model, roles=roles
    )
    if backend == 'vlm' and not (model or server):
        raise ParameterError('--backend vlm needs --model, or --server and --server-model')
    recorded = read_failed_rollout(bag_folder(bag), roles, episode)
    if backend == 'vlm':
        asked: EventModel = choice.open()[0]
    elif backend == 'simulator':
        recorded, asked = _with_states(recorded, bag_folder(bag)), SimulatorEvents()
    else:
        recorded = _with_potential(recorded, grm, goal, roles)
        asked = ProgressEvents() if backend == 'progress' else StallEvents()
    _print(recorded, asked.name, asked.review(recorded.rollout), Console(soft_wrap=True))


def _with_potential(
    recorded: RecordedRollout, grm: str, goal: str, roles: tuple[str, ...]
) -> RecordedRollout:
    """Return the rollout with its recorded potential, else with that of a model that is asked."""
    if len(recorded.rollout.potential) and not (grm or goal):
        return recorded
    from structrl_ros.nodes.grm_models import open_model
    from structrl_ros.params.grm import GrmParameters
    from structrl_ros.recording.failed_rollout import with_asked_potential

    if not recorded.rollout.views:
        raise ParameterError(
            f'the bag tells no potential and holds no pictures of {", ".join(roles)}; '
            'allowed: one recorded with progress:=grm, or with pictures'
        )
    parameters = GrmParameters(model=grm or 'grm_tabletop', goal=goal, roles=roles)
    return with_asked_potential(recorded, open_model(parameters).online)


def _with_states(recorded: RecordedRollout, bag: Path) -> RecordedRollout:
    """Return the rollout with the true states of every control period.

    A twin of the body is set to the recorded state before each chunk, and carries out its actions.
    """
    import numpy as np

    from structrl_ros.recording.failed_rollout import recorded_states
    from structrl_ros.sim.state_twin import StateTwin
    from structrl_ros.types import Observation

    states = recorded_states(bag, recorded)
    twin = StateTwin(recorded.episode.body)
    try:
        vectors, chunks = [twin.features(states[0])], [0]
        for number, (state, rows) in enumerate(zip(states, recorded.executed, strict=False), 1):
            for row in range(len(rows)):
                seen = Observation(state.stamp_ns, state.episode, simulator=state)
                done = dataclasses.replace(seen, committed=rows[: row + 1])
                vectors.append(twin.observe(done))
                chunks.append(number)
        names = twin.feature_names
    finally:
        twin.close()
    rollout = dataclasses.replace(
        recorded.rollout,
        states=np.array(vectors, dtype=np.float64),
        state_names=names,
        state_chunks=tuple(chunks),
    )
    return dataclasses.replace(recorded, rollout=rollout)


def _print(recorded: RecordedRollout, name: str, review: EventReview, console: Console) -> None:
    from structrl_ros.learning.eligibility import select_feedback

    episode, chunks = recorded.episode, recorded.rollout.chunks
    console.print(
        f'episode {episode.episode}, {episode.task}: {recorded.end_reason or "it failed"} after '
        f'{chunks} chunks; reviewed by {name}',
        markup=False,
        highlight=False,
    )
    feedback = select_feedback(review, chunks)
    said = f'{review.outcome}, {review.error_type}, recovery {review.recovery}: {review.reason}'
    console.print(said, markup=False, highlight=False)
    if feedback.boundary is None:
        console.print(f'full feedback: {feedback.fallback}', markup=False, highlight=False)
    else:
        assert review.interval is not None
        first, last = review.interval
        where = f' {last}' if first == last else f's {first} to {last}'
        console.print(
            f'the error began in chunk{where}; feedback is kept up to chunk '
            f'{feedback.boundary} of {chunks} ({feedback.boundary / chunks:.0%})',
            markup=False,
            highlight=False,
        )
    if review.evidence:
        console.print(_evidence(recorded, review))


def _evidence(recorded: RecordedRollout, review: EventReview) -> Table:
    """Return the frames that show the error; without pictures the ends of chunks."""
    rollout = recorded.rollout
    table = Table('frame', 'after chunk', 'time, s', 'potential', title='evidence')
    start_ns = recorded.stamps_ns[0]
    for number in review.evidence:
        chunk = rollout.frame_chunks[number] if rollout.frame_chunks else number
        potential = f'{rollout.potential[chunk]:.3f}' if len(rollout.potential) else ''
        seconds = (recorded.stamps_ns[chunk] - start_ns) / 1e9
        frame = str(number) if rollout.frame_chunks else ''
        table.add_row(frame, str(chunk), f'{seconds:.2f}', potential)
    return table
