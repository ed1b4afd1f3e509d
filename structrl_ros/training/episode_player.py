"""Plays the episodes of a protocol in this process: a body, the brain, a policy."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import PolicyError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.ports import Body
from structrl_ros.ports import Policy
from structrl_ros.sim.registry import make_body
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.training.episode_brain import EpisodeBrain
from structrl_ros.training.evaluated_policy import make_evaluated
from structrl_ros.types import Float32
from structrl_ros.types import Subtask


@dataclass(frozen=True, slots=True)
class RunnerClock:
    """The clock of a body in this process."""

    runner: EpisodeRunner

    def now_ns(self) -> int:
        """Return the body's time."""
        return self.runner.now_ns


class EpisodePlayer:
    """Plays trials one after another; an episode is a function of its trial and policy alone."""

    def __init__(self, protocol: Protocol, policies: dict[str, PolicyChoice]) -> None:
        """Make the body; policies are made when they are first asked for.

        Args:
            protocol: What is played.
            policies: Code to policy.

        Raises:
            ParameterError: If the body is unknown, or an option of it.
        """
        self._protocol = protocol
        self._choices = policies
        self._body: Body = make_body(protocol.body, **protocol.body_options)
        self._policies: dict[str, Policy] = {}

    def play(self, trial: Trial) -> EpisodeRecord:
        """Play an episode and return its record.

        Raises:
            SimulationError: If the task or initial state does not exist.
            CheckpointError: If the policy cannot be made.
        """
        policy = self._policy(trial.code)
        runner = simulated_episode(self._body)
        start = trial.start
        reset = runner.reset(start.task, start.seed, start.initial_state)
        account = EpisodeAccount(
            trial, reset.episode, judged_by=self._protocol.success, ground=ground_all
        )
        rows = policy.spec.chunk_length
        brain = EpisodeBrain(RunnerClock(runner), self._protocol.body, rows, account)
        for told in (reset.episode, reset.predicates):
            brain.hear(told)
        broken, why = '', ''
        try:
            policy.reset(reset.episode)
            brain.begin(start.instruction, reset.episode, self._protocol.time_limit_s)
            _act_to_the_end(runner, brain, policy)
        except (PolicyError, StaleDataError) as error:
            broken, why = 'policy_error', str(error)
        except SimulationError as error:
            broken, why = 'body_error', str(error)
        success, reason = brain.outcome or (False, 'the task did not end')
        return account.record(
            success=success, reason=why or reason, replans=brain.replans, broken=broken
        )

    def close(self) -> None:
        """Free body and policies; a second call does nothing."""
        policies, self._policies = self._policies, {}
        for policy in policies.values():
            policy.close()
        self._body.close()

    def _policy(self, code: str) -> Policy:
        if code not in self._policies:
            protocol = self._protocol
            self._policies[code] = make_evaluated(
                self._choices[code], protocol.body, protocol.body_options
            )
        return self._policies[code]


def _act_to_the_end(runner: EpisodeRunner, brain: EpisodeBrain, policy: Policy) -> None:
    """Ask and run chunk after chunk, until the episode has ended or there is nothing to do."""
    while runner.is_running and brain.outcome is None:
        pursued = brain.pursued
        if pursued is None:
            return
        result = runner.run_chunk(ask_policy(runner, policy, *pursued))
        for told in (result.predicates, result.done, result.end):
            if told is not None:
                brain.hear(told)


def ask_policy(
    runner: EpisodeRunner, policy: Policy, subtask: Subtask, instruction: str
) -> Float32:
    """Return the policy's next chunk, as policy_node would send it in lock-step.

    Raises:
        PolicyError: If it has a wrong shape, or a number in it is not finite.
    """
    spec = policy.spec
    seen = runner.observe(spec.roles, privileged=spec.privileged)
    if spec.continues:
        none = np.zeros((0, spec.action_dimension), dtype=np.float32)
        seen = replace(seen, committed=none)
    rows = np.asarray(policy.act(seen, subtask, instruction), dtype=np.float32)
    if rows.shape != (spec.chunk_length, spec.action_dimension):
        raise PolicyError(f'the policy gave actions of shape {rows.shape}')
    if not np.isfinite(rows).all():
        raise PolicyError('the policy gave a number that is not finite')
    return rows
