"""One episode of the suite from its first observation to its end, with or without a planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.evaluation.closed_loop import AbstractInstruction
from structrl_ros.evaluation.closed_loop import is_satisfied
from structrl_ros.evaluation.closed_loop import wrong_about
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.ports import Policy
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.training.closed_loop_control import JudgedBody
from structrl_ros.training.closed_loop_control import sentence_as_subtask
from structrl_ros.training.closed_loop_witness import Witness
from structrl_ros.training.episode_brain import EpisodeBrain
from structrl_ros.training.episode_brain import Minds
from structrl_ros.training.episode_player import RunnerClock
from structrl_ros.training.episode_player import ask_policy
from structrl_ros.types import Float32
from structrl_ros.types import Predicates
from structrl_ros.types import Subtask

#: Predicates of the steps of each stage of each true plan.
TruePredicates = Sequence[Sequence[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How an episode ended: in words, with how many replans, and whether something broke it."""

    reason: str
    replans: int = 0
    broken: str = ''


@dataclass(frozen=True, slots=True)
class LoopPlay:
    """What takes part in an episode; its body is reset, and the witness has heard the start."""

    instruction: AbstractInstruction
    runner: EpisodeRunner
    body: JudgedBody
    policy: Policy
    witness: Witness
    roles: tuple[str, ...]
    first_truth: Predicates

    def true_plans(self) -> list[list[list[str]]]:
        """Return the predicates of the true plans in this scene.

        Raises:
            ParameterError: If a step or a goal is of another scene.
        """
        names = self.runner.info.predicate_names
        is_satisfied(self.instruction.plans, dict.fromkeys(names, False))
        found = []
        for plan in self.instruction.plans:
            steps = to_plan(parse_plan('\n'.join(plan.phrases)))
            grounded = ground_all(steps, names)
            told = [grounded[step.id] for step in steps]
            if None in told:
                phrase = steps[told.index(None)].phrase
                raise ParameterError(
                    f'{self.instruction.name}: no predicate tells of {phrase!r}; published: '
                    f'{", ".join(names)}'
                )
            each = iter([name for name in told if name is not None])
            found.append([[next(each) for _ in stage] for stage in plan.stages])
        return found

    def wrong(self, true_plans: TruePredicates) -> frozenset[str] | None:
        """Return what the first plan is wrong about, None if it is right."""
        plan = self.witness.first_plan
        assert plan is not None
        steps = [step for step in plan.subtasks if step.verb != 'grasp']
        grounded = ground_all(steps, self.runner.info.predicate_names)
        return wrong_about([grounded[step.id] for step in steps], true_plans)

    def run(self, minds: Minds | None, time_limit_s: float) -> Ended:
        """Act until the episode or the task is over."""
        brain: EpisodeBrain | None = None
        try:
            episode = self.runner.episode
            assert episode is not None
            self.policy.reset(episode)
            if minds is None:
                return self._act_on_the_sentence()
            brain = EpisodeBrain(
                RunnerClock(self.runner),
                self.body.spec.name,
                self.policy.spec.chunk_length,
                self.witness,
                minds,
            )
            self._act_on_plans(brain, time_limit_s)
        except (PolicyError, StaleDataError) as error:
            return Ended(str(error), _replans(brain), 'policy_error')
        except SimulationError as error:
            return Ended(str(error), _replans(brain), 'body_error')
        reason = brain.outcome[1] if brain.outcome else 'the task did not end'
        return Ended(reason, brain.replans)

    def _act_on_plans(self, brain: EpisodeBrain, time_limit_s: float) -> None:
        """Follow the planner to the end of the task, or of the episode."""
        runner, episode = self.runner, self.runner.episode
        assert episode is not None
        brain.hear(episode)
        self._show(brain)
        brain.hear(self.first_truth)
        brain.begin(self.instruction.instruction, episode, time_limit_s)
        while runner.is_running and brain.outcome is None and brain.pursued is not None:
            result = runner.run_chunk(self._chunk(*brain.pursued))
            self._show(brain)
            for heard in (result.predicates, result.done, result.end):
                if heard is not None:
                    brain.hear(heard)

    def _act_on_the_sentence(self) -> Ended:
        """Give the sentence to the controller until it is satisfied, or time is up."""
        sentence, runner = self.instruction.instruction, self.runner
        subtask = sentence_as_subtask(sentence)
        while runner.is_running:
            result = runner.run_chunk(self._chunk(subtask, sentence))
            for heard in (result.predicates, result.done, result.end):
                if heard is not None:
                    self.witness.take(heard)
            if is_satisfied(self.instruction.plans, self.body.truth):
                return Ended('the sentence is satisfied')
        return Ended('its time was up')

    def _chunk(self, subtask: Subtask, sentence: str) -> Float32:
        """Return the controller's next chunk; one that knows no such skill is a policy error."""
        try:
            return ask_policy(self.runner, self.policy, subtask, sentence)
        except SimulationError as error:
            raise PolicyError(str(error)) from None

    def _show(self, brain: EpisodeBrain) -> None:
        if self.roles:
            images = {role: self.body.render(role) for role in self.roles}
            brain.look(images, self.runner.now_ns)


def _replans(brain: EpisodeBrain | None) -> int:
    return 0 if brain is None else brain.replans
