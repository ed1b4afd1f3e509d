"""`structrl evaluate planner`: a planner and monitor on the test split of a LEAP set (REVER)."""

from __future__ import annotations

import hashlib
import json as json_text
import random
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from structrl_ros.cli.export import export_libraries
from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.nodes.planner_backends import Backends
    from structrl_ros.params.planner import PlannerParameters
    from structrl_ros.training.leap_evaluation import AskedBackend
    from structrl_ros.training.leap_rows import LeapRow

#: Backends that are models: they read words and may look at pictures.
_MODELS = ('openai', 'local')

Assignments = Annotated[
    list[str] | None,
    typer.Argument(metavar='[KEY:=VALUE]...', help='Parameters of planner_node.'),
]
Examples = Annotated[
    list[int] | None,
    typer.Option('--examples', help='Examples in the prompt of a model; repeat to compare.'),
]
Kinds = Annotated[list[str] | None, typer.Option(help='plan, choice or completion; default: all.')]
JsonFile = Annotated[Path | None, typer.Option('--json', help='Also write the numbers here.')]


def planner(
    folder: Annotated[Path, typer.Argument(help='A set of structrl data leap.')],
    assignments: Assignments = None,
    examples: Examples = None,
    pictures: Annotated[
        bool, typer.Option('--pictures/--no-pictures', help='Leave pictures out of questions.')
    ] = True,
    kind: Kinds = None,
    limit: Annotated[
        int, typer.Option(min=0, help='Questions of each kind, drawn by the seed; 0: all.')
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help='Of limits, examples and intervals.')] = 0,
    json: JsonFile = None,
) -> None:
    """Score open plans, four-way choices and completion, with intervals.

    The backend is named as for the graph: planner:=rules, openai or local. Examples go with
    plans: with a second number of them only plans are asked again.

    Examples: [bold]structrl evaluate planner sets/leap planner:=rules[/],
    [bold]structrl evaluate planner sets/leap planner:=openai openai_base_url:=http://127.0.0.1:8000/v1
    openai_model:=NAME --examples 0 --examples 2[/]
    """
    from structrl_ros.cli.evaluate_planner_tables import print_results
    from structrl_ros.nodes.planner_backends import make_backends
    from structrl_ros.training.leap_rows import KINDS

    with export_libraries():
        from structrl_ros.training.leap_set import split_path
    kinds = tuple(kind or KINDS)
    counts = list(dict.fromkeys(examples or [0]))
    _check_questions(kinds, counts)
    rows = read_questions(folder, kinds, limit, seed)
    parameters = read_parameters(assignments or [], rows[0].roles, pictures=pictures)
    if max(counts) and parameters.planner not in _MODELS:
        raise ParameterError(
            f'--examples {max(counts)}: {parameters.planner} reads no examples; allowed: 0'
        )
    backends = make_backends(parameters)
    console = Console(soft_wrap=True)
    try:
        backend = asked_backend(parameters, backends, pictures=pictures)
        results = [
            evaluate_once(backend, folder, asked, count=count, seed=seed, console=console)
            for count, asked in zip(counts, _questions_of(rows, counts), strict=True)
        ]
    finally:
        backends.close()
    document = {
        'set': folder.resolve().name,
        'test_sha256': hashlib.sha256(split_path(folder, 'test').read_bytes()).hexdigest(),
        'backend': backend.name,
        'pictures': backend.sees,
        'seed': seed,
        'limit': limit,
        'results': results,
    }
    print_results(document, console)
    if json is not None:
        _write(document, json, console)


def _check_questions(kinds: tuple[str, ...], counts: list[int]) -> None:
    """Raise ParameterError unless such questions can be asked behind so many examples."""
    from structrl_ros.training.leap_rows import KINDS

    if unknown := [k for k in kinds if k not in KINDS]:
        raise ParameterError(f'--kind {unknown[0]!r}; allowed: {", ".join(KINDS)}')
    if min(counts) < 0:
        raise ParameterError(f'--examples {min(counts)}; allowed: 0 and more')
    if max(counts) and 'plan' not in kinds:
        raise ParameterError('--examples go with plans; allowed: --kind plan, or 0')


def _write(document: dict[str, Any], path: Path, console: Console) -> None:
    from structrl_ros.models.whole_files import whole_file

    with whole_file(path) as new:
        new.write_text(json_text.dumps(document, indent=1) + '\n', encoding='utf-8')
    console.print(f'numbers: {escape(str(path))}', highlight=False)


def _questions_of(rows: list[LeapRow], counts: list[int]) -> list[list[LeapRow]]:
    """Return what is asked with each number of examples: all at first, then plans alone."""
    plans = [row for row in rows if row.kind == 'plan']
    return [rows, *([plans] * (len(counts) - 1))]


def read_questions(folder: Path, kinds: tuple[str, ...], limit: int, seed: int) -> list[LeapRow]:
    """Return questions of the test split, plans before the choices that ask them again.

    A limit takes so many of each kind, drawn by the seed.

    Raises:
        DatasetError: If there is no test split, or it is cut.
        ParameterError: If it holds no question of these kinds.
    """
    from structrl_ros.training.leap_rows import KINDS
    from structrl_ros.training.leap_set import read_split

    found = read_split(folder, 'test', kinds)
    rows: list[LeapRow] = []
    for kind in sorted(kinds, key=['plan', 'choice', 'completion'].index):
        asked = [row for row in found if row.kind == kind]
        if limit and limit < len(asked):
            asked = random.Random(seed).sample(asked, limit)
        rows += asked
    if not rows:
        raise ParameterError(
            f'{folder}: the test split has no {" or ".join(kinds)}; kinds: {", ".join(KINDS)}'
        )
    return rows


def read_parameters(
    assignments: list[str], roles: tuple[str, ...], *, pictures: bool
) -> PlannerParameters:
    """Return the parameters of planner_node for a set with these cameras.

    A model that plans also judges completion, unless a monitor is named. Without pictures the
    planner gets no cameras, and nobody judges.

    Raises:
        ParameterError: If one is unknown or wrong.
    """
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.params.parameter import parameters_from_values
    from structrl_ros.params.planner import PlannerParameters

    given: dict[str, Any] = {'roles': roles, **parse_assignments(assignments)}
    planner_name = given.get('planner', 'rules')
    if not pictures:
        given |= {'roles': (), 'monitor': 'predicates'}
    elif planner_name in _MODELS:
        given.setdefault('monitor', planner_name)
    return parameters_from_values(PlannerParameters, given, 'planner')


def asked_backend(
    parameters: PlannerParameters, backends: Backends, *, pictures: bool
) -> AskedBackend:
    """Return what of a backend can be asked: rules choose nothing, predicates see no picture."""
    from structrl_ros.models.vlm.choosers import LocalChooser
    from structrl_ros.models.vlm.choosers import OpenAIChooser
    from structrl_ros.nodes.planner_backends import chat_settings
    from structrl_ros.training.leap_evaluation import AskedBackend
    from structrl_ros.training.leap_evaluation import Chooser

    chooser: Chooser | None = None
    if parameters.planner == 'openai':
        settings = chat_settings(parameters, parameters.openai_timeout_s)
        chooser = OpenAIChooser(settings, parameters.roles, image_format=parameters.image_format)
    elif parameters.planner == 'local':
        vlm = getattr(backends.planner, 'vlm')  # noqa: B009 - a port has none
        chooser = LocalChooser(vlm, parameters.roles)
    return AskedBackend(
        name=backends.planner.name,
        planner=backends.planner,
        chooser=chooser,
        monitor=backends.monitor if parameters.monitor in _MODELS else None,
        sees=pictures and parameters.planner in _MODELS,
    )


def evaluate_once(
    backend: AskedBackend,
    folder: Path,
    rows: list[LeapRow],
    *,
    count: int,
    seed: int,
    console: Console,
) -> dict[str, Any]:
    """Ask everything once, behind `count` examples, and return the numbers."""
    from structrl_ros.training.leap_evaluation import ask_all
    from structrl_ros.training.leap_evaluation import pick_examples
    from structrl_ros.training.leap_results import result_document
    from structrl_ros.training.leap_set import read_split

    shown = pick_examples(read_split(folder, 'train', ('plan',)), count, seed) if count else []
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task(f'{backend.name}, {count} examples', total=len(rows))
        answers = ask_all(backend, rows, shown, lambda row: progress.advance(bar))
    return {
        'examples': count,
        'example_ids': [row.id for row in shown],
        **result_document(answers, seed),
    }
