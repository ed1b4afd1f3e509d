"""Where the episodes of a trainer are played: here, in a pool, through topics, or on Ray."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.ports import Body
    from structrl_ros.training.collector import MakeWorld
    from structrl_ros.training.collector import World
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import Worlds
    from structrl_ros.types import Subtask
    from structrl_ros.types import TaskInfo


def worlds_of(workers: int, ray: str, *, tracker: bool = False) -> Worlds:
    """Return what makes the worlds of a request.

    Args:
        workers: Processes (actors on Ray); 0: as many as there are cores.
        ray: Address of a Ray cluster, '' for none.
        tracker: Whether a tracker_node beside the sim_nodes pays what the trainer pays.
    """

    def make(request: RunRequest) -> MakeWorld:
        from structrl_ros.training.body_worlds import world_maker
        from structrl_ros.training.run_request import ROS

        if request.body == ROS:
            if ray:
                raise ParameterError('--ray: sim_nodes are driven from here; leave it out')
            return _through_topics(request, tracker)
        if tracker:
            raise ParameterError(f'--tracker: body {request.body!r} has no graph; allowed: ros')
        environments = request.settings.environments
        if ray:
            environments = -(-environments // max(1, workers))
        maker = world_maker(
            request.body,
            environments=environments,
            workers=1 if ray else workers,
            options=request.body_options,
            feature_names=request.feature_names,
        )
        return partial(_on_ray, maker, ray, workers) if ray else maker

    return make


def _on_ray(make_world: MakeWorld, address: str, actors: int) -> World:
    from structrl_ros.training.ray_rollouts import RayWorkers

    return RayWorkers(make_world, address=address, actors=actors)


def _through_topics(request: RunRequest, tracker: bool) -> MakeWorld:
    """Drive sim_nodes that run already: `structrl up sim body:=twin lockstep:=true`.

    `body.namespaces` names them; the other options are those of the bodies that state vectors are
    read off with, here.

    Raises:
        ParameterError: If no tracker can pay the reward.
    """
    options = dict(request.body_options)
    names = [n.strip() for n in str(options.pop('namespaces', '')).split(',')]
    twins = _Twins(options, request.reward)

    def make() -> World:
        from structrl_ros.nodes.ros_world import RosWorld
        from structrl_ros.training.selected_features import select_features

        plan = twins.plan if tracker else None
        world = RosWorld(names, make_twin=twins.make, plan=plan)
        return cast('World', select_features(world, request.feature_names))

    if tracker:
        twins.check_reward()
    return make


class _Twins:
    """Makes the twins of the bodies behind topics, and the plans by which they are paid."""

    def __init__(self, options: Mapping[str, Any], reward: str) -> None:
        self._options = options
        self._reward = reward
        self._body = ''

    def make(self, name: str) -> Body:
        """Return a body, with the options of the request."""
        from structrl_ros.sim.registry import make_body

        self._body = name
        return make_body(name, **self._options)

    def check_reward(self) -> None:
        """Check that a tracker_node can pay it.

        Raises:
            ParameterError: If it cannot.
        """
        from structrl_ros.training.reward_configurations import find_reward

        if find_reward(self._reward).kind != 'structured':
            raise ParameterError(
                f'--tracker: {self._reward!r} pays for no step of a plan; allowed: structured'
            )

    def plan(self, info: TaskInfo) -> tuple[Subtask, ...]:
        """Return the steps that a task is paid by."""
        from structrl_ros.sim.decompositions import shipped_decomposition
        from structrl_ros.subtasks.paid_plan import paid_subtasks
        from structrl_ros.training.reward_configurations import find_reward

        variant = find_reward(self._reward).variant
        own = shipped_decomposition(self._body, info.task, variant)
        return paid_subtasks(own.stages, info.predicate_names)
