"""Scripted episodes of the tabletop and of LIBERO as skills; only key frames are rendered."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import cast

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.training.evidence import demonstrate
from structrl_ros.training.leap_episode import KeyFrame
from structrl_ros.training.leap_episode import SkillEpisode
from structrl_ros.training.leap_episode import find_moments
from structrl_ros.training.leap_episode import pick_middles
from structrl_ros.training.leap_episode import picture_file
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import PlanRequest
from structrl_ros.types import StepOutcome
from structrl_ros.types import Subtask
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

#: Bodies whose experts are scripted, and the licence of what they show.
LICENCES = {
    'tabletop': 'Apache-2.0 (structrl_ros, no meshes of others)',
    'libero': 'MIT (LIBERO and its assets; cite Liu et al., NeurIPS 2023)',
}

#: LIBERO tasks that the expert does in none of 20 episodes (docs/expert_table_short.json).
HOPELESS = frozenset({'goal/5'})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSettings:
    """How key frames are taken: cameras, side in pixels, form of the files, seed of middles."""

    roles: tuple[str, ...] = ('head',)
    size_px: int = 224
    picture: str = 'jpeg'
    seed: int = 0


class SkillRecorder:
    """Plays episodes of one body; scenes are built anew only where the task changes."""

    def __init__(self, body_name: str, settings: FrameSettings) -> None:
        """Make the body.

        Raises:
            ParameterError: If no expert of it is scripted, or it has no such camera.
        """
        if body_name not in LICENCES:
            raise ParameterError(f'body {body_name!r}; allowed: {", ".join(LICENCES)}')
        self._body = make_body(body_name, image_size=settings.size_px)
        unknown = sorted(set(settings.roles) - set(self._body.spec.roles))
        if unknown or not settings.roles:
            self._body.close()
            known = ', '.join(self._body.spec.roles)
            raise ParameterError(f'camera {", ".join(unknown) or "none"}; {body_name} has {known}')
        self._settings = settings
        self._kept = _KeepingBody(self._body)
        self._play = _play_libero if body_name == 'libero' else _Demonstrated(body_name)

    def record(self, start: EpisodeStart) -> SkillEpisode:
        """Play an episode, cut it at its events and render its key frames.

        Raises:
            TrainingError: If the expert fails, or the events do not cut it into its skills.
            SimulationError: If the task or the initial state is unknown.
        """
        name, settings = self._body.spec.name, self._settings
        info, plan = self._play(self._kept, start)
        names = ground_all(plan, info.predicate_names)
        moments = find_moments(plan, names, self._kept.first_true())
        episode = episode_name(name, start)
        middles = pick_middles(moments, settings.seed, episode)
        return SkillEpisode(
            name=episode,
            source=name,
            body=name,
            task=start.task,
            seed=start.seed,
            initial_state=start.initial_state,
            instruction=info.instruction,
            objects=info.objects,
            phrases=tuple(subtask.phrase for subtask in plan),
            roles=settings.roles,
            moments=moments,
            boundaries=tuple(self._frame(at) for at in moments),
            middles=middles,
            middle_frames=tuple(self._frame(at) if at >= 0 else () for at in middles),
            licence=LICENCES[name],
        )

    def close(self) -> None:
        """Free body and expert."""
        if isinstance(self._play, _Demonstrated):
            self._play.close()
        self._body.close()

    def _frame(self, moment: int) -> KeyFrame:
        self._body.set_simulator_state(self._kept.states[moment])
        return tuple(
            picture_file(self._body.render(role), self._settings.picture)
            for role in self._settings.roles
        )


Played = tuple[TaskInfo, tuple[Subtask, ...]]


class _KeepingBody:
    """A body that keeps its state and truth after every step; experts see through it."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self.states: list[Float64] = []
        self.truth: list[tuple[bool, ...]] = []
        self.info: TaskInfo | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene, and forget the episode before."""
        info: TaskInfo = self._body.reset(task, seed, initial_state)
        self.states, self.truth = [self._body.simulator_state()], []
        self.info = info
        return info

    def step(self, action: Float32) -> StepOutcome:
        """Apply an action, and keep what it led to."""
        outcome: StepOutcome = self._body.step(action)
        self.states.append(self._body.simulator_state())
        self.truth.append(outcome.values)
        return outcome

    def first_true(self) -> dict[str, int | None]:
        """Return the first step, from 0, in which each name was true."""
        names = () if self.info is None else self.info.predicate_names
        return {
            name: next((i for i, values in enumerate(self.truth) if values[column]), None)
            for column, name in enumerate(names)
        }


class _Demonstrated:
    """Lets the expert of a body follow the rule planner's plan, as in the deployed graph."""

    def __init__(self, body_name: str) -> None:
        self._expert = make_expert(body_name)

    def __call__(self, body: _KeepingBody, start: EpisodeStart) -> Played:
        info = body.reset(start.task, start.seed, start.initial_state)
        plan = _plan(info)
        if not demonstrate(cast(Any, body), self._expert, plan, start).success:
            raise TrainingError('the expert failed')
        return info, plan

    def close(self) -> None:
        self._expert.close()


def _play_libero(body: _KeepingBody, start: EpisodeStart) -> Played:
    """Let the skills of LIBERO act on the body itself: no twin has to be stepped along."""
    from structrl_ros.sim.libero.expert.episodes import run_episode

    state, seed = start.initial_state, start.seed
    result = run_episode(cast(Any, body), start.task, state, seed=seed)
    if not result.success:
        raise TrainingError(f'the expert failed in {result.reached}: {result.reason}')
    assert body.info is not None
    return body.info, _plan(body.info)


def _plan(info: TaskInfo) -> tuple[Subtask, ...]:
    parsed = parse_plan(RulePlanner().propose(PlanRequest(info.instruction, info.objects, None)))
    return to_plan(parsed)


def episode_name(body_name: str, start: EpisodeStart) -> str:
    """Return the name of an episode, which is also that of its file."""
    task = start.task.replace('/', '_')
    return f'{body_name}-{task}-{start.seed}-{start.initial_state}'


def tasks_of(body_name: str) -> tuple[str, ...]:
    """Return the names of the tasks of a body that its expert can do.

    Raises:
        ParameterError: If no expert of it is scripted.
    """
    known: dict[str, Callable[[], Sequence[str]]] = {
        'tabletop': _tabletop_tasks,
        'libero': _libero_tasks,
    }
    if body_name not in known:
        raise ParameterError(f'body {body_name!r}; allowed: {", ".join(known)}')
    return tuple(known[body_name]())


def _tabletop_tasks() -> Sequence[str]:
    from structrl_ros.sim.tabletop.task_files import tasks

    return list(tasks())


def _libero_tasks() -> Sequence[str]:
    from structrl_ros.sim.libero.tasks import TASKS

    return [task.id for task in TASKS if task.id not in HOPELESS]
