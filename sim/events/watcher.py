"""`WatchedTabletop`: a tabletop body that keeps the true states of every episode it plays."""

from __future__ import annotations

from typing import Any

import numpy as np

from structrl_ros.sim.events.track import tilt_name
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.tabletop.features import features
from structrl_ros.sim.tabletop.task_data import OBJECT_SLOTS
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import StepOutcome
from structrl_ros.types import TaskInfo

#: Entries of a kept state: the features without any calibration offset, then tilts.
STATE_NAMES: tuple[str, ...] = (*FEATURE_NAMES, *(tilt_name(i) for i in range(OBJECT_SLOTS)))


#: A thing that was turned, and is as high as before up to this, does not lean, m.
SAME_HEIGHT_M = 0.01


class WatchedTabletop(TabletopBody):
    """A tabletop body; what the policy perceives may be displaced, what is kept is true.

    Attributes:
        kept: Of each episode since the last `clear`: state vectors at the start and after every
            step, (T, F), and simulator states of the same moments, (T, S).
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of `TabletopBody`."""
        super().__init__(**options)
        self.kept: list[tuple[list[Float32], list[Float64]]] = []

    def reset(self, task: str, seed: int, initial_state: int) -> TaskInfo:
        """Set the scene and begin to keep an episode."""
        info = super().reset(task, seed, initial_state)
        self.kept.append(([], []))
        self._keep()
        return info

    def step(self, action: Float32) -> StepOutcome:
        """Apply one action and keep the state after it."""
        outcome = super().step(action)
        self._keep()
        return outcome

    def clear(self) -> None:
        """Forget all episodes."""
        self.kept = []

    def _keep(self) -> None:
        vectors, states = self.kept[-1]
        vectors.append(true_state(self))
        states.append(self.simulator_state())


def true_state(body: TabletopBody) -> Float32:
    """Return the true state vector of a body's scene, shape (F,); see `STATE_NAMES`."""
    tilts = np.zeros(OBJECT_SLOTS, dtype=np.float32)
    for slot, thing in enumerate(body.task.objects):
        vertical = body.data.body(thing.name).xmat[6:9]
        height = float(np.abs(vertical) @ thing.size)
        if thing.shape != 'sphere' and abs(height - thing.size[2]) > SAME_HEIGHT_M:
            tilts[slot] = np.arccos(np.clip(float(vertical[2]), -1.0, 1.0))
    return np.concatenate([features(body.view, body.task)[0], tilts])
