"""`structrl plan`: ask a planner for a plan, without a robot, and print it as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.plan.dialogue import Dialogue
    from structrl_ros.plan.parse import ParsedPlan
    from structrl_ros.ports import Planner
    from structrl_ros.types import Observation
    from structrl_ros.types import PlanRequest


def plan(
    instruction: Annotated[str, typer.Argument(help='What to do, in a sentence.')],
    assignments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar='[KEY:=VALUE]...', help='Parameters of planner_node, such as planner:=local.'
        ),
    ] = None,
    objects: Annotated[
        str, typer.Option(help='Names of what is in the scene: "alphabet soup,basket".')
    ] = '',
    picture: Annotated[
        list[Path] | None, typer.Option(help='Image file of a camera; may come again.')
    ] = None,
) -> None:
    """Ask a planner for a plan, without a robot, and print it as a table.

    Example: [bold]structrl plan "put the soup in the basket" planner:=local model:=DIR
    --objects "alphabet soup,basket" --picture head.png[/]
    """
    from structrl_ros.cli.up import parse_assignments
    from structrl_ros.nodes.planner_backends import executive_settings
    from structrl_ros.nodes.planner_backends import make_backends
    from structrl_ros.params.parameter import parameters_from_values
    from structrl_ros.params.planner import PlannerParameters
    from structrl_ros.plan.dialogue import Dialogue
    from structrl_ros.types import PlanRequest

    seen = observation(picture or [])
    given = parse_assignments(assignments or [])
    values = {'roles': ','.join(seen.images), **given}
    parameters = parameters_from_values(PlannerParameters, values, 'planner')
    names = tuple(name.strip() for name in objects.split(',') if name.strip())
    backends = make_backends(parameters)
    try:
        dialogue = Dialogue(executive_settings(parameters), backends.planner.name)
        request = PlanRequest(instruction, names or None, seen)
        parsed, answers = ask(backends.planner, dialogue, request)
    finally:
        backends.close()
    console = Console(soft_wrap=True)
    console.print(table(parsed, f'{escape(instruction)} ({escape(backends.planner.name)})'))
    if parsed.reasoning:
        console.print(f'reasoning: {parsed.reasoning}', markup=False, highlight=False)
    if answers > 1:
        console.print(f'valid was answer {answers}')


def ask(planner: Planner, dialogue: Dialogue, request: PlanRequest) -> tuple[ParsedPlan, int]:
    """Return the plan and how many answers it took, as a task would get it.

    Raises:
        StructRLError: If the planner gave no plan, or none that is valid.
    """
    from structrl_ros.plan.commands import AskPlanner

    question = dialogue.ask(request)
    while True:
        answer = dialogue.read(planner.propose(question.request))
        if not isinstance(answer, AskPlanner):
            return answer, len(question.request.rejected) + 1
        question = answer


def observation(pictures: Sequence[Path]) -> Observation:
    """Return the pictures as what the cameras see: head, left wrist, right wrist.

    Raises:
        ParameterError: If there are more than cameras, or one is no image.
    """
    import numpy as np
    from PIL import Image

    from structrl_ros.types import ROLES
    from structrl_ros.types import Observation

    if len(pictures) > len(ROLES):
        raise ParameterError(
            f'{len(pictures)} pictures; allowed: {len(ROLES)}, {", ".join(ROLES)}'
        )
    images = {}
    for role, path in zip(ROLES, pictures, strict=False):
        try:
            with Image.open(path) as image:
                images[role] = np.asarray(image.convert('RGB'))
        except OSError as error:
            raise ParameterError(f'{path} is no image: {error}') from None
    return Observation(0, 0, images=images)


def table(parsed: ParsedPlan, title: str) -> Table:
    """Return a plan as a table, one step a row."""
    shown = Table(title=title, title_justify='left')
    for heading in ('stage', 'step', 'skill', 'things'):
        shown.add_column(heading)
    for number, stage in enumerate(parsed.stages, start=1):
        for index in stage:
            step = parsed.steps[index]
            things = escape(', '.join(step.objects))
            shown.add_row(str(number), escape(parsed.phrases[index]), step.action, things)
    return shown
