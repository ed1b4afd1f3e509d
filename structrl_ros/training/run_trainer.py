"""Carries out what a `RunRequest` asks for: `prepare_run`, then `carry_out`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.training.body_worlds import make_demonstrator
from structrl_ros.training.collector import Collector
from structrl_ros.training.collector import KeptWorld
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.evaluate import Evaluation
from structrl_ros.training.evaluate import evaluate_policy
from structrl_ros.training.feedback_run import make_feedback
from structrl_ros.training.grpo import train_grpo
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.ppo import train_ppo
from structrl_ros.training.practice import Practice
from structrl_ros.training.practice import Report
from structrl_ros.training.progress_stand_in import TrueProgress
from structrl_ros.training.reward_configurations import find_reward
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.reward_source import match_beta_r
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.run_request import ROS
from structrl_ros.training.run_request import RunRequest
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings import PpoSettings
from structrl_ros.training.settings import SftSettings
from structrl_ros.training.sft import Imitation
from structrl_ros.training.sft import train_sft
from structrl_ros.training.shaping_run import shaped
from structrl_ros.training.shipped_rewards import checkpoints
from structrl_ros.training.shipped_rewards import make_reward
from structrl_ros.training.shipped_rewards import shipped_decompositions
from structrl_ros.training.start_policy import fresh_policy
from structrl_ros.training.start_policy import load_start
from structrl_ros.training.start_policy import move
from structrl_ros.training.starts import practice_starts
from structrl_ros.world_types import WorldSpec

#: Makes the worlds of a request; the options of the body are in it.
Worlds = Callable[[RunRequest], MakeWorld]

#: Noise of the stand-in for a progress model, as in `make_reward`.
_NOISE = 0.1
_REFERENCE = 2**30 + 2
_REFERENCE_EPISODES = 64


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """All that a run needs.

    Attributes:
        request: With what was found out, so that a run that goes on need not find it again.
        policy: The start.
        make_world: Makes the worlds.
        reward_source: What chunks earn; None for 'sft'.
    """

    request: RunRequest
    policy: ChunkPolicy
    make_world: KeptWorld
    reward_source: RewardSource | None


def prepare_run(
    request: RunRequest, worlds: Worlds, policy: ChunkPolicy | None = None
) -> PreparedRun:
    """Make worlds, start and reward of a request.

    Args:
        request: What is asked for.
        worlds: Makes worlds of it.
        policy: That of the checkpoint of a run that goes on.

    Raises:
        ParameterError: If an option is unknown, or 'ppo' or 'grpo' has no start.
        CheckpointError: If the start is missing or cut.
    """
    if request.trainer != 'sft' and not request.start:
        raise ParameterError(
            f'start: {request.trainer} needs a policy that can do something already; '
            'structrl train sft makes one'
        )
    if policy is None and request.start:
        policy = load_start(request.start, request.policy_options)
    if policy is not None:
        request = replace(request, feature_names=policy.config.feature_names)
    elif 'feature_names' in request.policy_options:
        names = request.policy_options['feature_names']
        request = replace(request, feature_names=tuple(names))
    if request.trainer == 'sft':
        made = KeptWorld(worlds(request))
        if policy is None:
            policy = fresh_policy(request.policy_options, made.spec, request.settings.seed)
        return PreparedRun(request, move(policy, request.settings.device), made, None)
    assert policy is not None
    policy = move(policy, request.settings.device)
    wanted = _checkpoint_names(request)
    if wanted:
        request = replace(request, body_options={**request.body_options, 'checkpoints': wanted})
    made = KeptWorld(worlds(request))
    try:
        if find_reward(request.reward).kind == 'robometer' and request.beta_r is None:
            request = replace(request, beta_r=_scale(request, policy, made))
        source = _reward_source(request, made.spec)
    except BaseException:
        made.close()
        raise
    return PreparedRun(request, policy, made, source)


def carry_out(
    prepared: PreparedRun,
    *,
    run: RunDirectory | None = None,
    report: Report | None = None,
    traces: bool = False,
) -> tuple[Metrics, ...]:
    """Train, and return the numbers of each line of the log.

    Args:
        prepared: All that it needs.
        run: Where it is kept, None: nowhere.
        report: Is called after each line.
        traces: Whether the run keeps what each chunk of practice earned.

    Raises:
        StructRLError: As the trainers say.
    """
    request, settings = prepared.request, prepared.request.settings
    try:
        if isinstance(settings, SftSettings):
            return _imitate(prepared, settings, run, report)
        assert prepared.reward_source is not None
        practice = Practice(
            make_world=prepared.make_world,
            reward_source=prepared.reward_source,
            run=run,
            report=report,
            title=request.title,
            traces=traces,
        )
        if isinstance(settings, PpoSettings):
            return train_ppo(prepared.policy, settings, practice).metrics
        assert isinstance(settings, GrpoSettings)
        feedback = make_feedback(request, settings)
        return train_grpo(prepared.policy, settings, practice, feedback).metrics
    finally:
        prepared.make_world.close()


def _imitate(
    prepared: PreparedRun, settings: SftSettings, run: RunDirectory | None, report: Report | None
) -> tuple[Metrics, ...]:
    request, policy = prepared.request, prepared.policy

    def evaluate(trained: ChunkPolicy) -> Evaluation:
        return evaluate_policy(
            trained,
            prepared.make_world,
            settings.tasks,
            episodes=settings.evaluation_episodes,
            seed=settings.seed,
            initial_states=settings.initial_states,
            batch=settings.inference_batch,
        )

    demonstrator = make_demonstrator(
        prepared.make_world.spec.body.name,
        settings.tasks,
        initial_states=settings.initial_states,
        roles=policy.config.roles,
        options=request.body_options,
        feature_names=request.feature_names,
    )
    imitation = Imitation(
        demonstrator=demonstrator,
        run=run,
        report=report,
        evaluate=evaluate if settings.evaluation_episodes else None,
        title=request.title,
    )
    try:
        return train_sft(policy, settings, imitation)[1]
    finally:
        demonstrator.close()


def _checkpoint_names(request: RunRequest) -> list[str]:
    """Return the fine checkpoints that the worlds must publish for the reward to pay them."""
    variant = find_reward(request.reward).variant
    if not variant or request.body == ROS:
        return []
    tasks = request.settings.tasks
    return list(checkpoints(make_reward(request.reward, request.body, tasks), tasks))


def _reward_source(request: RunRequest, spec: WorldSpec) -> RewardSource:
    settings = request.settings
    source = make_reward(
        request.reward,
        spec.body.name,
        settings.tasks,
        beta_r=request.beta_r,
        noise=_NOISE,
        seed=settings.seed,
    )
    return shaped(source, request, spec) if request.shaping else source


def _scale(request: RunRequest, policy: ChunkPolicy, worlds: KeptWorld) -> float:
    """Return beta_r matched on rollouts of the start (StructRL, Appendix F)."""
    settings, body = request.settings, worlds.spec.body.name
    starts = practice_starts(
        settings.tasks,
        _REFERENCE_EPISODES,
        seed=settings.seed,
        iteration=_REFERENCE,
        initial_states=settings.initial_states,
    )
    collector = Collector(worlds, policy, batch=settings.inference_batch)
    try:
        reference = collector.collect(
            starts, seed=settings.seed, iteration=_REFERENCE, explore=True
        )
    finally:
        collector.close()
    structured = make_reward('structured', body, settings.tasks)
    found = shipped_decompositions(body, settings.tasks)
    progress = TrueProgress(found, noise=_NOISE, seed=settings.seed)
    return match_beta_r(reference, structured, progress)
