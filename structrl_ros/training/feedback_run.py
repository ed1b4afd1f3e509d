"""The failure feedback that a run of GRPO asks for: its rule, event model and what that sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.learning.failure_feedback import FeedbackTally
from structrl_ros.learning.failure_feedback import tally_of_document
from structrl_ros.models.events.progress import ProgressEvents
from structrl_ros.models.events.vlm import ServerEvents
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.ports import EventModel
from structrl_ros.ports import VectorWorld
from structrl_ros.sim.events.reviewer import SimulatorEvents
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.event_desk import EventDesk
from structrl_ros.training.failed_rollouts import RolloutViews
from structrl_ros.training.failed_rollouts import StateReplay
from structrl_ros.training.feedback import EventRule
from structrl_ros.training.feedback import FailureFeedback
from structrl_ros.training.feedback import RandomPrefixRule
from structrl_ros.training.feedback import Rule
from structrl_ros.training.feedback import ScaleRule
from structrl_ros.training.feedback import full_rule
from structrl_ros.training.grpo import FEEDBACK
from structrl_ros.training.progress_stand_in import TrueProgress
from structrl_ros.training.run_directory import CHECKPOINT
from structrl_ros.training.run_directory import TRAINER
from structrl_ros.training.run_request import RunRequest
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.shipped_rewards import shipped_decompositions

#: Options of a body that displace what its policy perceives, not what is so.
_PERCEPTION = ('calibration_offset', 'offsets_apart')
#: Bodies whose true states the simulator's event model reads.
_TOLD = ('twin', 'tabletop')
#: Noise of the stand-in for a progress model, as that of rewards.
_NOISE = 0.1
_LANES = 64
#: Reviews of a server that are asked for at once.
_ASKED_AT_ONCE = 8


def make_feedback(request: RunRequest, settings: GrpoSettings) -> FailureFeedback:
    """Return the failure feedback of a run.

    Raises:
        ParameterError: If the event model does not go with the body, or the run that a control
            copies kept no account.
        CheckpointError: If that run is missing or cut.
    """
    return FailureFeedback(_rule(request, settings))


def read_tally(run: str) -> FeedbackTally:
    """Return the pooled account of a run of GRPO.

    Raises:
        CheckpointError: If there is no such run, or it is cut.
        ParameterError: If it kept no account.
    """
    from structrl_ros.models.checkpoint import load_tensors

    folder = Path(run).expanduser() / CHECKPOINT
    if not folder.is_dir():
        raise CheckpointError(f'feedback_from {run}: no run with a checkpoint')
    document = load_tensors(folder / TRAINER)[1].get(FEEDBACK)
    if document is None:
        raise ParameterError(
            f'feedback_from {run}: kept no account of feedback; allowed: a run of GRPO with '
            'failure_feedback truncated'
        )
    return tally_of_document(document)


def _rule(request: RunRequest, settings: GrpoSettings) -> Rule:
    kind = settings.failure_feedback
    if kind == 'uniform':
        scale = settings.feedback_scale
        return ScaleRule(read_tally(settings.feedback_from).retained if scale is None else scale)
    if kind == 'random_prefix':
        tally = read_tally(settings.feedback_from)
        if not tally.boundaries:
            raise ParameterError(
                f'feedback_from {settings.feedback_from}: saw no failure; allowed: a run with some'
            )
        return RandomPrefixRule(tally, settings.seed)
    if kind in ('truncated', 'prefix_rule'):
        model, views = _event_model(request, settings)
        workers = _ASKED_AT_ONCE if settings.events == 'openai' else 1
        desk = EventDesk(model, limit_s=settings.review_limit_s, workers=workers)
        return EventRule(
            desk,
            views,
            first=kind == 'prefix_rule',
            least_confidence=settings.least_confidence,
        )
    return full_rule


def _event_model(request: RunRequest, settings: GrpoSettings) -> tuple[EventModel, RolloutViews]:
    if settings.events == 'openai':
        asked = ChatSettings(base_url=settings.events_url, model=settings.events_model)
        return ServerEvents(asked), RolloutViews()
    if settings.events == 'progress':
        found = shipped_decompositions(request.body, settings.tasks)
        progress = TrueProgress(found, noise=_NOISE, seed=settings.seed)
        return ProgressEvents(), RolloutViews(progress=progress)
    if request.body not in _TOLD:
        raise ParameterError(
            f'events simulator: body {request.body!r} tells no failure events; allowed: '
            f'{", ".join(_TOLD)}, or events progress or openai'
        )
    true: dict[str, Any] = {
        name: value for name, value in request.body_options.items() if name not in _PERCEPTION
    }
    maker = world_maker(request.body, environments=_LANES, options=true)

    def make() -> VectorWorld:
        world = maker()
        assert isinstance(world, VectorWorld)
        return world

    return SimulatorEvents(), RolloutViews(replay=StateReplay(make))
