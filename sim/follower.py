"""A body that follows another one by its privileged state."""

from __future__ import annotations

from structrl_ros.ports import Body
from structrl_ros.types import SimulatorState


class Follower:
    """Sets a body to what another body of its kind is in; builds a scene only when it changes."""

    def __init__(self, body: Body) -> None:
        """Take a body, which is the follower's to close."""
        self._body = body
        self._scene: tuple[str, int, int] | None = None

    def place(self, task: str, seed: int, initial_state: int) -> None:
        """Build a scene, unless it is the present one.

        Raises:
            SimulationError: If it does not exist.
        """
        scene = (task, seed, initial_state)
        if self._scene != scene:
            self._body.reset(*scene)
            self._scene = scene

    def follow(self, state: SimulatorState) -> None:
        """Be in a state.

        Raises:
            SimulationError: If its scene does not exist.
        """
        self.place(state.task, state.seed, state.initial_state)
        self._body.set_simulator_state(state.state)

    def close(self) -> None:
        """Free the body; a second call does nothing."""
        self._body.close()
        self._scene = None
