"""The GRM that shapes a run's reward: its model, its cameras and its goals."""

from __future__ import annotations

from functools import lru_cache
from functools import partial

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.models.grm.sizes import LoadedGrm
from structrl_ros.models.grm.sizes import load_any_grm
from structrl_ros.ports import StateBody
from structrl_ros.progress.views import Views
from structrl_ros.progress.views import make_views
from structrl_ros.sim.registry import make_body
from structrl_ros.training.grm_potential import AskedGrm
from structrl_ros.training.grm_potential import GrmPotential
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.run_request import ROS
from structrl_ros.training.run_request import RunRequest
from structrl_ros.training.settings import PpoSettings
from structrl_ros.training.shaped_rewards import ShapedRewards
from structrl_ros.training.source_trajectory import record_states
from structrl_ros.world_types import EpisodeStart
from structrl_ros.world_types import WorldSpec

#: Initial states that are tried for a demonstration whose last frame is the goal.
_GOAL_TRIES = 5


def shaped(source: RewardSource, request: RunRequest, spec: WorldSpec) -> ShapedRewards:
    """Return the reward of a request with the potential of its GRM.

    The goal of a task is the last frame of a demonstration. PPO discounts the potential as it
    discounts rewards; GRPO compares sums of rewards, so its discount is 1.

    Raises:
        CheckpointError: If there is no such GRM.
        ParameterError: If the body has no camera.
        TrainingError: If no demonstration of a task succeeds.
    """
    if not spec.body.roles:
        raise ParameterError(
            f'shaping: {spec.body.name} has no camera; allowed: a body that the GRM can look at'
        )
    load = partial(ask_grm, request.shaping)
    settings = request.settings
    view_px = load('').view_px
    goals = {task: _goal(request, task, view_px) for task in settings.tasks}
    potential = GrmPotential(load, spec.body.roles, goals)
    gamma = settings.gamma if isinstance(settings, PpoSettings) else 1.0
    return ShapedRewards(source, potential, gamma=gamma, roles=potential.roles)


def ask_grm(name_or_folder: str, instruction: str) -> AskedGrm:
    """Return a GRM for an instruction.

    Raises:
        CheckpointError: If there is no such GRM, or it is damaged.
    """
    loaded = _loaded(name_or_folder)
    return AskedGrm(loaded.about(instruction), loaded.layout, loaded.view_px)


@lru_cache(maxsize=1)
def _loaded(name_or_folder: str) -> LoadedGrm:
    """Return the GRM, which instructions share: a large one is not loaded for each."""
    return load_any_grm(name_or_folder)


def _goal(request: RunRequest, task: str, view_px: int) -> Views | None:
    """Return the last frame of a demonstration; running nodes have none to show."""
    if request.body == ROS:
        return None
    size = request.body_options.get('image_size')
    body = make_body(request.body) if size is None else make_body(request.body, image_size=size)
    try:
        assert isinstance(body, StateBody)
        return demonstrated_goal(body, task, request.settings.seed, view_px)
    finally:
        body.close()


def demonstrated_goal(body: StateBody, task: str, seed: int, view_px: int) -> Views:
    """Return what is seen after the first demonstration that succeeds.

    Raises:
        TrainingError: If none of the first initial states gives one.
    """
    for initial_state in range(_GOAL_TRIES):
        try:
            record_states(body, EpisodeStart(task, seed, initial_state), frames=2)
        except TrainingError:
            continue
        return make_views({role: body.render(role) for role in body.spec.roles}, view_px)
    raise TrainingError(f'{task}: no goal, {_GOAL_TRIES} demonstrations failed')
