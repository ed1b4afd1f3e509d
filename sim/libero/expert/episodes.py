"""Episodes of the scripted expert without ROS: plan by rules, skill after skill, LIBERO's verdict.

A subtask counts as done when the body says that its predicate is true, as the tracker counts it; a
subtask without a predicate when its skill says that it is finished. The order of things is that of
the deployed graph, and `chunk` steps pass between two looks, as there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from structrl_ros.errors import StructRLError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.sim.libero.expert.skills import make_skill
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import PlanRequest

if TYPE_CHECKING:
    from structrl_ros.sim.libero.body import LiberoBody
    from structrl_ros.types import Subtask
    from structrl_ros.types import TaskInfo

#: A skill that is finished while its subtask is open starts anew after this many steps.
PATIENCE = 40


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """Outcome of one episode: `steps` of 0.05 s, CPU seconds without the building of the scene.

    `reached` is the last subtask that was worked on; `reason` is '' for a success.
    """

    task: str
    initial_state: int
    success: bool
    steps: int
    cpu_s: float
    reached: str
    reason: str = ''
    log: tuple[str, ...] = ()


def plan_of(info: TaskInfo) -> tuple[Subtask, ...]:
    """Return the plan of the rule planner for a task.

    Raises:
        PlanSyntaxError: If the rules cannot read the instruction.
    """
    text = RulePlanner().propose(PlanRequest(info.instruction, info.objects, None))
    return to_plan(parse_plan(text))


def run_episode(
    body: LiberoBody, task: str, initial_state: int, *, seed: int = 0, chunk: int = 1
) -> EpisodeResult:
    """Let the expert try a task once, up to the task's horizon.

    Args:
        body: Is reset by this.
        task: Any name that `tasks.find_task` knows.
        initial_state: Row of LIBERO's initial states, 0 to 49.
        seed: Of the fixtures' poses.
        chunk: Steps between two looks at the predicates, at least 1.

    Raises:
        SimulationError: If the task or the initial state does not exist.
    """
    info = body.reset(task, seed, initial_state)
    start = time.process_time()
    run = _Run(body, info, chunk)
    reason = ''
    try:
        plan = plan_of(info)
        names = ground_all(plan, info.predicate_names)
        for subtask in plan:
            if not run.subtask(subtask, names[subtask.id]):
                break
        if not run.success:
            reason = 'horizon' if run.steps >= info.horizon_steps else 'the plan ended'
    except StructRLError as error:
        reason = str(error)
    return EpisodeResult(
        task=info.task,
        initial_state=initial_state,
        success=run.success,
        steps=run.steps,
        cpu_s=round(time.process_time() - start, 2),
        reached=run.reached,
        reason=reason,
        log=tuple(run.log),
    )


class _Run:
    """One episode on the way."""

    def __init__(self, body: LiberoBody, info: TaskInfo, chunk: int) -> None:
        self._body = body
        self._info = info
        self._chunk = chunk
        self.success = False
        self.steps = 0
        self.reached = ''
        self.log: list[str] = []

    def subtask(self, subtask: Subtask, name: str | None) -> bool:
        """Work on one subtask; return whether the episode goes on."""
        self.reached = subtask.id
        skill = make_skill(self._body, subtask)
        index = self._info.predicate_names.index(name) if name else -1
        held, true = 0, False
        while self.steps < self._info.horizon_steps:
            outcome = self._body.step(
                self._body.hold_action() if skill.finished else skill.action(self._body)
            )
            self.steps += 1
            held = held + 1 if skill.finished else 0
            true = true or (index >= 0 and outcome.values[index])
            self.success = self.success or outcome.success
            if self.steps % self._chunk == 0 and self.success:
                break
            if self.steps % self._chunk == 0 and (true if index >= 0 else skill.finished):
                break
            if held >= PATIENCE:
                self._note(subtask, skill)
                skill, held = make_skill(self._body, subtask), 0
        self._note(subtask, skill)
        return not self.success and self.steps < self._info.horizon_steps

    def _note(self, subtask: Subtask, skill: object) -> None:
        """Keep what a skill says of itself."""
        self.log.append(f'{self.steps}: end of {subtask.id} in {getattr(skill, "phase", "")}')
        self.log += [f'    {line}' for line in getattr(skill, 'log', [])]
