"""Where the episodes of a trainer are played: here, in a pool, through topics, or on Ray."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from typing import cast

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.training.collector import MakeWorld
    from structrl_ros.training.collector import World
    from structrl_ros.training.run_request import RunRequest
    from structrl_ros.training.run_trainer import Worlds

#: The body behind running sim_nodes.
ROS = 'ros'


def worlds_of(workers: int, ray: str) -> Worlds:
    """Return what makes the worlds of a request.

    Args:
        workers: Processes (actors on Ray); 0: as many as there are cores.
        ray: Address of a Ray cluster, '' for none.
    """

    def make(request: RunRequest) -> MakeWorld:
        from structrl_ros.training.body_worlds import world_maker

        if request.body == ROS:
            if ray:
                raise ParameterError('--ray: sim_nodes are driven from here; leave it out')
            return _through_topics(request)
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


def _through_topics(request: RunRequest) -> MakeWorld:
    """Drive sim_nodes that run already: `structrl up sim body:=twin lockstep:=true`.

    `body.namespaces` names them; the other options are those of the bodies that state vectors are
    read off with, here.
    """
    options = dict(request.body_options)
    names = [n.strip() for n in str(options.pop('namespaces', '')).split(',')]

    def make() -> World:
        from structrl_ros.nodes.ros_world import RosWorld
        from structrl_ros.sim.registry import make_body
        from structrl_ros.training.selected_features import select_features

        world = RosWorld(names, make_twin=partial(make_body, **options))
        return cast('World', select_features(world, request.feature_names))

    return make
