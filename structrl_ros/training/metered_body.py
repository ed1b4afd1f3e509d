"""A body that counts what it costs, so that a profile tells physics from bookkeeping."""

from __future__ import annotations

import time

from structrl_ros.ports import StateBody
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Proprioception
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo
from structrl_ros.types import UInt8


class MeteredBody:
    """`ports.StateBody` that adds up the CPU seconds of resets, steps, features and pictures."""

    def __init__(self, body: StateBody) -> None:
        """Wrap a body; nothing is counted yet."""
        self._body = body
        self.spec = body.spec
        self.feature_names = body.feature_names
        self.cpu_s = 0.0

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene; counted."""
        began = time.process_time()
        info = self._body.reset(task, seed, initial_state)
        self.cpu_s += time.process_time() - began
        return info

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action; counted."""
        began = time.process_time()
        outcome = self._body.step(action)
        self.cpu_s += time.process_time() - began
        return outcome

    def features(self) -> Float32:
        """Return the state vector; counted."""
        began = time.process_time()
        features = self._body.features()
        self.cpu_s += time.process_time() - began
        return features

    def render(self, role: str) -> UInt8:
        """Return a picture; counted."""
        began = time.process_time()
        image = self._body.render(role)
        self.cpu_s += time.process_time() - began
        return image

    def vertical_fov(self, role: str) -> float | None:
        """Return a role's field of view, rad."""
        return self._body.vertical_fov(role)

    def hold_action(self) -> Float32:
        """Return the action that keeps the arm and the gripper as they are."""
        return self._body.hold_action()

    def proprioception(self, stamp_ns: int) -> Proprioception:
        """Return the arm's own state."""
        return self._body.proprioception(stamp_ns)

    def simulator_state(self) -> Float64:
        """Return the privileged state vector."""
        return self._body.simulator_state()

    def set_simulator_state(self, state: Float64) -> None:
        """Set the world to a state."""
        self._body.set_simulator_state(state)

    def close(self) -> None:
        """Free the world."""
        self._body.close()
