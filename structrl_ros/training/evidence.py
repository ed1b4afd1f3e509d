"""What demonstrations, replays and idle rollouts of a body say of a task's predicates.

Everything runs through `control.episode_runner`, one low-level step a time, with the scripted
expert following the rule planner's plan as in the deployed graph (StructRL Section 4.1 and
Appendix B.2: T_d is measured by replaying demonstrations). Demonstrations are clean: no noise is
added, since it would make T_d too long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import ParameterError
from structrl_ros.ports import Body
from structrl_ros.ports import Policy
from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.filters import Evidence
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Float32
from structrl_ros.types import Subtask
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

#: Low-level steps of a rollout without purpose, and for how many of them a random motion lasts.
IDLE_STEPS = 100
IDLE_MOTION_STEPS = 8


@dataclass(frozen=True, slots=True)
class Attempt:
    """An episode of the expert: its truth, whether it succeeded, and what was sent, (T, D)."""

    start: EpisodeStart
    truth: Demonstration
    success: bool
    actions: Float32


def demonstrate(
    body: Body, expert: Policy, plan: Sequence[Subtask], start: EpisodeStart
) -> Attempt:
    """Let an expert carry out a plan once.

    The expert pursues the first subtask whose predicate has not come true yet, and is asked again
    after each chunk of its own, as policy_node does in lock-step.

    Args:
        body: Is reset by this.
        expert: Policy that may be privileged.
        plan: Steps in order; one without a predicate is passed over.
        start: Which episode.

    Raises:
        SimulationError: If the episode does not exist.
        ParameterError: If no step of the plan has a predicate.
    """
    watch = _Watch(body, start)
    names = ground_all(plan, watch.info.predicate_names)
    steps = [(subtask, names[subtask.id]) for subtask in plan if names[subtask.id] is not None]
    if not steps:
        raise ParameterError(
            f'{start.task}: no step of the plan has a predicate; the expert has nothing to follow'
        )
    expert.reset(watch.episode)
    while watch.is_running:
        waiting = [s for s, name in steps if name and watch.first_true[name] is None]
        subtask = waiting[0] if waiting else steps[-1][0]
        observation = watch.runner.observe(expert.spec.roles, privileged=expert.spec.privileged)
        watch.run(expert.act(observation, subtask, watch.info.instruction))
    return watch.attempt()


def replay(body: Body, attempt: Attempt) -> Attempt:
    """Send the actions of an attempt once more, from the same start."""
    watch = _Watch(body, attempt.start)
    watch.run(attempt.actions)
    return watch.attempt()


def idle_rollout(body: Body, start: EpisodeStart, *, moves: bool, seed: int) -> Attempt:
    """Play without purpose for `IDLE_STEPS`: stand still, or move and grip at random."""
    watch = _Watch(body, start)
    random = np.random.default_rng([seed, start.seed, start.initial_state])
    size = body.spec.action_dimension
    for _ in range(0, IDLE_STEPS, IDLE_MOTION_STEPS):
        motion = random.uniform(-1.0, 1.0, size).astype(np.float32)
        row = motion if moves else body.hold_action()
        watch.run(np.repeat(row[None], IDLE_MOTION_STEPS, axis=0))
    return watch.attempt()


class _Watch:
    """One episode, of which the first true step of each name is noted."""

    def __init__(self, body: Body, start: EpisodeStart) -> None:
        self.runner = simulated_episode(body)
        self.episode = self.runner.reset(start.task, start.seed, start.initial_state).episode
        self.info: TaskInfo = self.runner.info
        self.first_true: dict[str, int | None] = dict.fromkeys(self.info.predicate_names)
        self._start = start
        self._size = body.spec.action_dimension
        self._rows: list[Float32] = []
        self._success = False

    @property
    def is_running(self) -> bool:
        return self.runner.is_running

    def run(self, actions: Float32) -> None:
        """Send rows until the end of them or of the episode."""
        for row in actions:
            if not self.runner.is_running:
                return
            result = self.runner.run_chunk(row[None])
            for name in result.predicates.truth:
                if self.first_true[name] is None:
                    self.first_true[name] = len(self._rows)
            self._rows.extend(result.done.executed)
            self._success = result.done.success

    def attempt(self) -> Attempt:
        """Return what happened so far."""
        start = self._start
        truth = Demonstration(
            start.seed, start.initial_state, len(self._rows), dict(self.first_true)
        )
        actions = np.array(self._rows, dtype=np.float32).reshape(-1, self._size)
        return Attempt(start, truth, self._success, actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much is looked at: initial states, rollouts without purpose, demonstrations."""

    resets: int = 10
    idle: int = 4
    demonstrations: int = 0


def gather(
    body: Body,
    make_expert: Callable[[], Policy],
    plan: Sequence[Subtask],
    starts: Sequence[EpisodeStart],
    counts: Counts,
    also_known: Sequence[str] = (),
) -> tuple[Evidence, int]:
    """Play what the filters ask for, and return it with the number of attempts.

    Half of the idle rollouts stand still. Attempts that do not succeed are no demonstrations.

    Args:
        body: Without or with a scene.
        make_expert: Is called if demonstrations are wanted.
        plan: What the expert follows.
        starts: Episodes to take from the front, at least as many as any of the counts.
        counts: How many.
        also_known: Names that the body has and never publishes, because they are true at reset.

    Raises:
        SimulationError: If an episode does not exist.
    """
    at_reset = [_at_reset(body, start) for start in starts[: counts.resets]]
    idle = [
        idle_rollout(body, start, moves=index % 2 == 1, seed=0)
        for index, start in enumerate(starts[: counts.idle])
    ]
    attempts: list[Attempt] = []
    if counts.demonstrations:
        expert = make_expert()
        try:
            chosen = starts[: counts.demonstrations]
            attempts = [demonstrate(body, expert, plan, start) for start in chosen]
        finally:
            expert.close()
    good = [attempt for attempt in attempts if attempt.success]
    replays = [replay(body, attempt) for attempt in good]
    known = tuple(dict.fromkeys([*also_known, *(n for names in at_reset for n in names)]))
    truths = [_of_all(attempt.truth, known) for attempt in (*good, *replays)]
    evidence = Evidence(
        known=known,
        resets=len(at_reset),
        true_at_reset={n: sum(names.get(n, True) for names in at_reset) for n in known},
        idle=len(idle),
        fired_idle={
            n: sum(attempt.truth.first_true.get(n) is not None for attempt in idle) for n in known
        },
        demonstrations=tuple(truths[: len(good)]),
        replays=tuple(truths[len(good) :]),
    )
    return evidence, len(attempts)


def _at_reset(body: Body, start: EpisodeStart) -> dict[str, bool]:
    """Return which published names are true at once; what is not published is true at reset.

    A checkpoint of the density ladder may be published and true. The arm stands still for a step,
    since a body tells truth after steps alone.
    """
    names = body.reset(start.task, start.seed, start.initial_state).predicate_names
    return dict(zip(names, body.step(body.hold_action()).values, strict=True))


def _of_all(truth: Demonstration, known: Sequence[str]) -> Demonstration:
    """Return the truth of all known names; one that was not published never became true."""
    return dataclasses.replace(truth, first_true={n: truth.first_true.get(n) for n in known})
