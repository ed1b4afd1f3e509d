"""Successful trajectories as recorded states, and which phase each of their frames is in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import TrainingError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.ports import StateBody
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.sim.counterfactual.stage import CounterfactualStage
from structrl_ros.sim.counterfactual.stage import Take
from structrl_ros.sim.registry import make_expert
from structrl_ros.training.evidence import demonstrate
from structrl_ros.types import Float64
from structrl_ros.types import PlanRequest
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

#: Share of the frames that an expert's episode goes on after its success, so that there is a
#: release to edit.
_AFTERMATH = 0.12
_PREDICATE = re.compile(r'([a-z_ ]+)\(([^,)]+)')
_OF_FIXTURES = {
    'open': Primitive.OPEN,
    'close': Primitive.CLOSE,
    'turnon': Primitive.TOGGLE_ON,
    'turn_on': Primitive.TOGGLE_ON,
    'turned_on': Primitive.TOGGLE_ON,
    'pressed': Primitive.TOGGLE_ON,
    'turnoff': Primitive.TOGGLE_OFF,
}


@dataclass(frozen=True, slots=True)
class Phase:
    """What a frame is about.

    Attributes:
        primitive: The primitive that is active.
        target: Name of the thing acted on.
        is_release: Whether the target has been let go after it was held.
    """

    primitive: Primitive
    target: str
    is_release: bool


@dataclass(frozen=True, slots=True)
class SourceTrajectory:
    """A successful episode as frames of the simulator.

    Attributes:
        body: `BodySpec.name`.
        start: Which episode.
        instruction: Its sentence.
        takes: State, truth and what is held, frame by frame.
        phases: Of each frame, from the events of the trajectory.
    """

    body: str
    start: EpisodeStart
    instruction: str
    takes: tuple[Take, ...]
    phases: tuple[Phase, ...]


def record_states(
    body: StateBody, start: EpisodeStart, frames: int
) -> tuple[TaskInfo, list[Float64]]:
    """Return about `frames` states of an expert's episode, evenly spread, with its aftermath.

    Raises:
        TrainingError: If the expert fails.
    """
    info = body.reset(start.task, start.seed, start.initial_state)
    plan = to_plan(parse_plan(RulePlanner().propose(_request(info))))
    expert = make_expert(body.spec.name)
    try:
        attempt = demonstrate(body, expert, plan, start)
    finally:
        expert.close()
    if not attempt.success:
        raise TrainingError(
            f'{start.task}, initial state {start.initial_state}: the expert failed'
        )
    body.reset(start.task, start.seed, start.initial_state)
    states = [body.simulator_state()]
    for action in attempt.actions:
        body.step(action)
        states.append(body.simulator_state())
    for _ in range(round(_AFTERMATH * len(states))):
        body.step(body.hold_action())
        states.append(body.simulator_state())
    return info, spread_frames(states, frames)


def spread_frames(states: Sequence[Float64], frames: int) -> list[Float64]:
    """Return about `frames` of the states, evenly spread, the first and the last among them."""
    picks = [round(i * (len(states) - 1) / (frames - 1)) for i in range(frames)]
    return [states[i] for i in dict.fromkeys(picks)]


def _request(info: TaskInfo) -> PlanRequest:
    return PlanRequest(info.instruction, info.objects, None)


def read_source(
    stage: CounterfactualStage,
    body: str,
    start: EpisodeStart,
    info: TaskInfo,
    states: list[Float64],
) -> SourceTrajectory:
    """Look at recorded states, and find the phases.

    Raises:
        TrainingError: If no predicate of the task comes true in them.
    """
    takes = tuple(stage.look(state) for state in states)
    return SourceTrajectory(body, start, info.instruction, takes, find_phases(takes, start.task))


def find_phases(takes: Sequence[Take], task: str) -> tuple[Phase, ...]:
    """Return the phase of each frame, from what comes true and what is held.

    A subgoal lasts until its predicate is true for the first time; the last one lasts to the end.
    Placing something begins with its grasp and, after it was let go, keeps a third of the frames
    up to the next contact, which are its release.

    Raises:
        TrainingError: If no predicate comes true.
    """
    firsts: dict[str, int] = {}
    for i, take in enumerate(takes):
        for name, is_true in take.truth.items():
            if is_true and not takes[0].truth.get(name):
                firsts.setdefault(name, i)
    goals = [(i, *_verb(name)) for name, i in sorted(firsts.items(), key=lambda item: item[1])]
    goals = [(i, verb, thing) for i, verb, thing in goals if verb != 'grasp'] or goals
    if not goals:
        raise TrainingError(f'{task}: no predicate comes true in {len(takes)} frames')
    phases: list[Phase] = []
    for number, (end, verb, thing) in enumerate(goals):
        is_last = number == len(goals) - 1
        stop = len(takes) if is_last else _stop(takes, end, goals[number + 1][0])
        phases += [_phase(takes, i, verb, thing) for i in range(len(phases), stop)]
    return tuple(phases)


def _verb(name: str) -> tuple[str, str]:
    match = _PREDICATE.match(name)
    return (match[1], match[2].strip()) if match else (name, '')


def _stop(takes: Sequence[Take], end: int, following: int) -> int:
    """Return where a subgoal that is true at `end` gives way to the next one."""
    contact = next((i for i in range(end + 1, following) if takes[i].held), following)
    return end + 1 + max(0, contact - end - 1) // 3


def _phase(takes: Sequence[Take], i: int, verb: str, thing: str) -> Phase:
    if verb in _OF_FIXTURES:
        return Phase(_OF_FIXTURES[verb], thing, False)
    before = [take.held == thing for take in takes[: i + 1]]
    was_held = any(before)
    if verb == 'grasp' or not was_held:
        return Phase(Primitive.GRASP_LIFT, thing, False)
    return Phase(Primitive.PLACE_TRANSFER, thing, not before[-1])
