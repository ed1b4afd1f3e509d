"""What privileged policies share: spec of an expert, check of the body, the state they need."""

from __future__ import annotations

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import SimulatorState

#: Most rows of a chunk.
_MOST_ROWS = 200


def expert_spec(name: str, chunk_length: int, *, control_rate_hz: float = 20.0) -> PolicySpec:
    """Return the spec of an expert that looks at the simulator's state alone.

    Raises:
        SimulationError: If the chunk length is outside 1 to 200.
    """
    if not 1 <= chunk_length <= _MOST_ROWS:
        raise SimulationError(f'chunk length {chunk_length}; allowed: 1 to {_MOST_ROWS}')
    return PolicySpec(
        name=name,
        action_space='ee_delta_pose',
        action_dimension=7,
        chunk_length=chunk_length,
        roles=(),
        max_age_s={},
        privileged=True,
        continues=True,
        control_rate_hz=control_rate_hz,
    )


def check_body(episode: Episode, body: str) -> None:
    """Refuse the episode of another body than the one that an expert can act on.

    Raises:
        SimulationError: If it is one.
    """
    if episode.body != body:
        raise SimulationError(
            f'the scripted expert cannot act on body {episode.body!r}; allowed: {body}'
        )


def needed_state(observation: Observation) -> SimulatorState:
    """Return the simulator's state.

    Raises:
        StaleDataError: If the observation has none.
    """
    if observation.simulator is None:
        raise StaleDataError(
            'this policy needs the simulator state (topic privileged/state), got none'
        )
    return observation.simulator
