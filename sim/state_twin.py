"""`StateTwin`: the state vector of a body that is known by its privileged state alone.

policy_node and a trainer that works through topics hear `privileged/state`; a twin of the body,
set to that state, tells the features that the body itself would tell, to the last bit.
"""

from __future__ import annotations

from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.ports import StateBody
from structrl_ros.sim.follower import Follower
from structrl_ros.sim.privileged_policy import needed_state
from structrl_ros.sim.registry import make_body
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import SimulatorState


class StateTwin:
    """Reads state vectors off simulator states; builds a scene only when it changes."""

    def __init__(self, body_name: str, **options: Any) -> None:
        """Make the twin, without a scene.

        Args:
            body_name: `BodySpec.name` of the body, also `Episode.body`.
            **options: Passed to its constructor.

        Raises:
            ParameterError: If the body is unknown or tells no state vector.
        """
        body = make_body(body_name, **options)
        if not isinstance(body, StateBody):
            body.close()
            raise ParameterError(
                f'body {body_name!r} tells no state vector; a policy for it needs cameras'
            )
        self._body: StateBody = body
        self._follower = Follower(body)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the entries of the state vector."""
        return self._body.feature_names

    def features(self, state: SimulatorState) -> Float32:
        """Return the state vector of a simulator state, shape (F,)."""
        self._follower.follow(state)
        return self._body.features()

    def observe(self, observation: Observation) -> Float32:
        """Return the state vector of an observation, shape (F,).

        Actions that are on their way (`Observation.committed`) are played in the twin first, so
        that what is decided on the vector follows them.

        Raises:
            StaleDataError: If the observation has no simulator state.
        """
        vector = self.features(needed_state(observation))
        if observation.committed is None or not len(observation.committed):
            return vector
        for action in observation.committed:
            self._body.step(action)
        return self._body.features()

    def place(self, task: str, seed: int, initial_state: int) -> None:
        """Build a scene, unless it is the present one."""
        self._follower.place(task, seed, initial_state)

    def close(self) -> None:
        """Free the twin; a second call does nothing."""
        self._follower.close()
