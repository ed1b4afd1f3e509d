"""`structrl evaluate closed-loop`: abstract instructions with and without a planner (REVER)."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.evaluation.closed_loop import AbstractInstruction
    from structrl_ros.evaluation.closed_loop_results import LoopRecord
    from structrl_ros.ports import Policy
    from structrl_ros.training.closed_loop_run import MakeMinds
    from structrl_ros.training.episode_brain import Minds

_NONE, _REFERENCE, _RULES = 'none', 'reference', 'rules'
_MODELS = ('openai', 'local')
PLANNERS = (_NONE, _RULES, _REFERENCE, *_MODELS)

Assignments = Annotated[
    list[str] | None,
    typer.Argument(metavar='[KEY:=VALUE]...', help='Parameters of planner_node.'),
]
Planners = Annotated[
    list[str] | None,
    typer.Option('--planner', help=f'{", ".join(PLANNERS)}; repeat it. Default: first three.'),
]
Misperception = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help='Share of episodes with a thing missing or misnamed.'),
]
Only = Annotated[
    list[str] | None, typer.Option('--only', help='Name of an instruction; repeat it.')
]
Pictures = Annotated[
    bool, typer.Option('--pictures/--no-pictures', help='Show a model the cameras.')
]
Bodies = Annotated[list[str] | None, typer.Option('--body', help='tabletop or libero alone.')]


def closed_loop(
    out: Annotated[Path, typer.Option(help='Folder; the same one goes on.')],
    assignments: Assignments = None,
    planners: Planners = None,
    policy: Annotated[
        str, typer.Option(help='Controller: expert, flow, ws://HOST:PORT, or a checkpoint.')
    ] = 'expert',
    noise: Annotated[
        float, typer.Option(min=0.0, help='Deviation of the noise on its actions (1: 5 cm).')
    ] = 0.0,
    misperception: Misperception = 0.0,
    episodes: Annotated[int, typer.Option(min=1, help='Of each instruction.')] = 5,
    seed: Annotated[int, typer.Option(min=0, help='Of the first scene.')] = 0,
    only: Only = None,
    body: Bodies = None,
    pictures: Pictures = False,
) -> None:
    """Play ten abstract instructions in a closed loop, and say why episodes failed.

    none gives the sentence to the controller as its only subtask; reference is the true plan, the
    upper bound. The monitor is the body's truth unless monitor:= names a model (with --pictures).

    Examples: [bold]structrl evaluate closed-loop --out runs/loop[/],
    [bold]structrl evaluate closed-loop --planner openai --out runs/vlm
    openai_base_url:=http://127.0.0.1:8000/v1 openai_model:=NAME[/]
    """
    from structrl_ros.training.closed_loop_player import LoopPlayer
    from structrl_ros.training.closed_loop_player import LoopSettings
    from structrl_ros.training.closed_loop_run import LoopFolder
    from structrl_ros.training.closed_loop_run import run_suite
    from structrl_ros.training.closed_loop_suite import read_suite

    names = _known(planners or [_NONE, _RULES, _REFERENCE])
    console = Console(soft_wrap=True)
    suite = read_suite()
    instructions = suite.select(only or [], body or [])
    settings = LoopSettings(seed=seed, misperception=misperception)
    folder = LoopFolder(
        out,
        {
            'suite_sha256': suite.sha256,
            'policy': policy,
            'noise': noise,
            'misperception': misperception,
            'seed': seed,
            'pictures': pictures,
            'parameters': sorted(assignments or []),
        },
    )
    make_minds, roles, close = _minds(names, assignments or [], pictures)
    player = LoopPlayer(_controllers(policy, noise), settings, roles)
    try:
        run_suite(folder, player, instructions, make_minds, episodes, partial(_tell, console))
    finally:
        player.close()
        close()
        folder.save([i.name for i in suite.instructions])
        folder.close()
    console.print((out / 'results.md').read_text(encoding='utf-8'), markup=False, highlight=False)


def _known(planners: Sequence[str]) -> list[str]:
    """Return the conditions, each once.

    Raises:
        ParameterError: If one is unknown.
    """
    if unknown := [name for name in planners if name not in PLANNERS]:
        raise ParameterError(f'--planner {unknown[0]!r}; allowed: {", ".join(PLANNERS)}')
    return list(dict.fromkeys(planners))


def _tell(console: Console, record: LoopRecord) -> None:
    """Print one line of an episode."""
    how = 'success' if record.success else record.cause or record.record.end
    done = f'{record.steps_done} of {record.steps} steps'
    line = f'{record.instruction} {record.episode} {record.planner}: {how}, {done}'
    console.print(escape(line), highlight=False)


def _controllers(policy: str, noise: float) -> Callable[[str], Policy]:
    """Return what makes the controller of a body."""
    from structrl_ros.training.closed_loop_control import NoisyPolicy
    from structrl_ros.training.evaluated_policy import make_evaluated
    from structrl_ros.training.evaluated_policy import policy_of_word

    choice = policy_of_word(f'controller={policy}', {})

    def make(body: str) -> Policy:
        made = make_evaluated(choice, body, {})
        return NoisyPolicy(made, noise) if noise else made

    return make


def _minds(
    names: list[str], assignments: list[str], pictures: bool
) -> tuple[dict[str, MakeMinds], tuple[str, ...], Callable[[], None]]:
    """Return what makes planner and monitor for each condition, the cameras, and what frees them.

    Raises:
        StructRLError: If a parameter is wrong, or a backend cannot be had.
    """
    from structrl_ros.training.closed_loop_planners import ReferencePlanner

    closing: list[Callable[[], None]] = []
    roles: tuple[str, ...] = ()
    made: dict[str, MakeMinds] = {}
    for name in names:
        if name == _NONE:
            made[name] = lambda instruction: None
            continue
        backend = name if name in _MODELS else _RULES
        minds, close = _backend(backend, assignments, pictures)
        closing.append(close)
        roles = roles or minds.roles
        made[name] = lambda instruction, minds=minds: minds  # type: ignore[misc]
        if name == _REFERENCE:

            def told(instruction: AbstractInstruction, minds: Minds = minds) -> Minds:
                return replace(minds, planner=ReferencePlanner(instruction))

            made[name] = told

    def free() -> None:
        for close in closing:
            close()

    return made, roles, free


def _backend(
    planner: str, assignments: list[str], pictures: bool
) -> tuple[Minds, Callable[[], None]]:
    """Return one backend of planner_node for episodes in this process."""
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.nodes.planner_backends import executive_settings
    from structrl_ros.nodes.planner_backends import make_backends
    from structrl_ros.nodes.planner_backends import session_settings
    from structrl_ros.params.parameter import parameters_from_values
    from structrl_ros.params.planner import PlannerParameters
    from structrl_ros.training.episode_brain import Minds

    given: dict[str, Any] = {**parse_assignments(assignments), 'planner': planner}
    if not pictures:
        given['roles'] = ()
    parameters = parameters_from_values(PlannerParameters, given, 'planner')
    if parameters.monitor == 'grm' or (parameters.monitor in _MODELS and not pictures):
        raise ParameterError(
            f'monitor {parameters.monitor!r}; allowed here: predicates, or a model with --pictures'
        )
    backends = make_backends(parameters)
    session = session_settings(parameters)
    minds = Minds(
        planner=backends.planner,
        monitor=backends.monitor,
        follow=backends.follow,
        settings=executive_settings(parameters),
        roles=parameters.roles if pictures else (),
        monitor_roles=session.monitor_roles,
        needs_predicates=session.needs_predicates,
    )
    return minds, backends.close
