"""Plays episodes of the closed-loop suite in this process: body, planner, monitor, controller."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.closed_loop import AbstractInstruction
from structrl_ros.evaluation.closed_loop import LoopEvidence
from structrl_ros.evaluation.closed_loop import is_satisfied
from structrl_ros.evaluation.closed_loop import loop_cause
from structrl_ros.evaluation.closed_loop import step_success
from structrl_ros.evaluation.closed_loop_results import LoopRecord
from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.protocol import PlannedStart
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.naming import fold
from structrl_ros.naming import parse_handle
from structrl_ros.ports import Policy
from structrl_ros.ports import StateBody
from structrl_ros.sim.registry import make_body
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.subtasks.grounding import split_predicate
from structrl_ros.training.closed_loop_control import JudgedBody
from structrl_ros.training.closed_loop_planners import Misperception
from structrl_ros.training.closed_loop_planners import WatchedPlanner
from structrl_ros.training.closed_loop_planners import draw_misperception
from structrl_ros.training.closed_loop_play import LoopPlay
from structrl_ros.training.closed_loop_play import TruePredicates
from structrl_ros.training.closed_loop_witness import Witness
from structrl_ros.training.episode_brain import Minds
from structrl_ros.world_types import EpisodeStart

_INITIAL_STATES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What the episodes of a run share.

    Attributes:
        seed: Of the first episode's scene; episode k has seed + k, and initial state (seed + k)
            mod 50.
        misperception: Share of episodes in which one thing is missing or misnamed for the planner.
        time_limit_s: For an episode, seconds of the body; 0: its horizon alone.
    """

    seed: int = 0
    misperception: float = 0.0
    time_limit_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        if self.seed < 0 or not 0.0 <= self.misperception <= 1.0 or self.time_limit_s < 0.0:
            raise ParameterError(f'{self}; allowed: seed >= 0, a share in [0, 1], a time >= 0 s')

    def start(self, instruction: AbstractInstruction, episode: int) -> EpisodeStart:
        """Return where an episode of an instruction begins, the same for every planner."""
        number = self.seed + episode
        return EpisodeStart(instruction.task, number, number % _INITIAL_STATES)


class LoopPlayer:
    """Keeps one body and one controller a world; an episode depends on its arguments alone."""

    def __init__(
        self, make_policy: Callable[[str], Policy], settings: LoopSettings, roles: tuple[str, ...]
    ) -> None:
        """Make nothing yet.

        Args:
            make_policy: Gives the controller of a body, by the body's name.
            settings: Of the run.
            roles: Cameras that planner or monitor look at.
        """
        self._make_policy = make_policy
        self._settings = settings
        self._roles = roles
        self._bodies: dict[str, JudgedBody] = {}
        self._policies: dict[str, Policy] = {}

    def play(
        self, instruction: AbstractInstruction, episode: int, planner: str, minds: Minds | None
    ) -> LoopRecord:
        """Play one episode.

        Args:
            instruction: Of the suite.
            episode: From 0.
            planner: Name of the condition.
            minds: Planner and monitor; None gives the sentence to the controller.

        Raises:
            SimulationError: If the scene does not exist.
            CheckpointError: If the controller cannot be made.
            ParameterError: If the suite's goal or plan is not of this scene.
        """
        body, policy = self._world(instruction.body)
        start = self._settings.start(instruction, episode)
        runner = simulated_episode(body)
        reset = runner.reset(start.task, start.seed, start.initial_state)
        planned = PlannedStart(
            task=instruction.name, seed=start.seed, initial_state=start.initial_state, repetition=0
        )
        account = EpisodeAccount(
            Trial(episode, planner, planned), reset.episode, judged_by='truth', ground=ground_all
        )
        witness = Witness(account)
        play = LoopPlay(instruction, runner, body, policy, witness, self._roles, reset.predicates)
        true_plans = play.true_plans()
        watched: WatchedPlanner | None = None
        if minds is not None:
            key = (instruction.name, self._settings.seed, episode)
            seen = draw_misperception(reset.episode.objects, self._settings.misperception, key)
            watched = WatchedPlanner(minds.planner, seen)
            minds = replace(minds, planner=watched)
        ended = play.run(minds, self._settings.time_limit_s)
        success = is_satisfied(instruction.plans, body.truth)
        record = account.record(
            success=success,
            reason=ended.reason,
            replans=ended.replans,
            mark=success,
            broken=ended.broken,
        )
        return _judged(instruction, planner, play, true_plans, watched, record)

    def close(self) -> None:
        """Free bodies and controllers."""
        bodies, policies = self._bodies, self._policies
        self._bodies, self._policies = {}, {}
        for body in bodies.values():
            body.close()
        for policy in policies.values():
            policy.close()

    def _world(self, name: str) -> tuple[JudgedBody, Policy]:
        if name not in self._bodies:
            body = make_body(name)
            assert isinstance(body, StateBody)
            self._bodies[name] = JudgedBody(body)
        if name not in self._policies:
            self._policies[name] = self._make_policy(name)
        return self._bodies[name], self._policies[name]


def _judged(
    instruction: AbstractInstruction,
    planner: str,
    play: LoopPlay,
    true_plans: TruePredicates,
    watched: WatchedPlanner | None,
    record: EpisodeRecord,
) -> LoopRecord:
    """Return the record of an episode with its plan judged and its cause found."""
    witness, plan = play.witness, play.witness.first_plan
    answer = '' if watched is None else watched.answer
    if answer == 'plan' and plan is None:
        answer = 'unreadable'
    wrong = play.wrong(true_plans) if plan is not None else None
    seen = None if watched is None else watched.seen
    is_blamed = watched is not None and not watched.refuses_truth
    evidence = LoopEvidence(
        success=record.success,
        end=record.end,
        answer=answer,
        wrong=wrong,
        unseen=_handles(seen, play.runner.info.predicate_names) if is_blamed else (),
        lies=witness.lies,
    )
    steps_done, steps = step_success(
        [[name for stage in stages for name in stage] for stages in true_plans],
        witness.seen_true,
    )
    return LoopRecord(
        planner=planner,
        instruction=instruction.name,
        episode=record.number,
        success=record.success,
        steps_done=steps_done,
        steps=steps,
        answer=answer,
        plan=() if plan is None else tuple(step.phrase for step in plan.subtasks),
        plan_is_right=None if watched is None else plan is not None and wrong is None,
        seen='' if seen is None else seen.words,
        lies=witness.lies,
        cause='' if watched is None else loop_cause(evidence),
        record=record,
    )


def _handles(seen: Misperception | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the body's handles of the thing that was seen wrongly."""
    if seen is None:
        return ()
    told = {argument for name in names for argument in split_predicate(name)[1]}
    return tuple(
        sorted(handle for handle in told if parse_handle(handle).noun == fold(seen.thing))
    )
