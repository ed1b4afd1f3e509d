"""Who steers a demonstration: the expert, pushed now and then, or a policy in turns with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from structrl_ros.ports import Body
from structrl_ros.ports import Policy
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import Subtask

#: Steps of a push, first and last, and steps between two looks at whether one begins.
PUSH_STEPS = (4, 12)
PUSH_EVERY = 20
#: Largest push, in parts of the largest action: along an axis, and about one.
PUSH, TURN = 0.8, 0.1
#: Chunks of the policy, and of the expert, in a turn (first and last).
POLICY_CHUNKS = (1, 5)
EXPERT_CHUNKS = (1, 3)


class Wheel(Protocol):
    """Decides what is really done."""

    def steer(self, row: int, label: Float32, subtask: Subtask) -> tuple[Float32, bool]:
        """Return what is done in a step, shape (7,), and whether the expert does it.

        Args:
            row: Of the chunk that is played.
            label: What the expert would do.
            subtask: What is pursued.
        """


class Pushes:
    """Pushes of some steps each, in a random direction; in a grasp the fingers may close, too."""

    def __init__(self, random: np.random.Generator, *, is_on: bool) -> None:
        self._random, self._is_on = random, is_on
        self._left = self._step = 0
        self._push = np.zeros(6)
        self._closes = False

    def steer(self, row: int, label: Float32, subtask: Subtask) -> tuple[Float32, bool]:
        """Return the label, or the label pushed off; it counts as the expert's."""
        self._step += 1
        random = self._random
        is_due = self._left == 0 and self._is_on and self._step % PUSH_EVERY == 0
        if is_due and random.random() < 0.5:
            self._left = int(random.integers(*PUSH_STEPS))
            self._push = random.uniform(-1, 1, 6) * ([PUSH] * 3 + [TURN] * 3)
            self._closes = bool(random.random() < 0.25)
        if self._left == 0:
            return label, True
        self._left -= 1
        done = label.copy()
        done[:6] += self._push.astype(np.float32)
        if self._closes and subtask.verb == 'grasp':
            done[6] = 1.0
        return np.clip(done, -1.0, 1.0), True


class Turns:
    """A policy and the expert take turns of some chunks each (DAgger)."""

    def __init__(
        self, random: np.random.Generator, policy: Policy, body: Body, roles: Sequence[str]
    ) -> None:
        self._random, self._policy, self._body = random, policy, body
        self._roles = tuple(roles)
        self._is_expert, self._left = True, 0

    def steer(self, row: int, label: Float32, subtask: Subtask) -> tuple[Float32, bool]:
        """Return the label, or the row of the policy's chunk."""
        if row == 0:
            self._begin(subtask)
        return (label, True) if self._is_expert else (self._chunk[row], False)

    def _begin(self, subtask: Subtask) -> None:
        if self._left == 0:
            self._is_expert = not self._is_expert
            longest = EXPERT_CHUNKS if self._is_expert else POLICY_CHUNKS
            self._left = int(self._random.integers(*longest, endpoint=True))
        self._left -= 1
        if not self._is_expert:
            images = {role: self._body.render(role) for role in self._roles}
            seen = Observation(0, 1, self._body.proprioception(0), images)
            self._chunk = self._policy.act(seen, subtask, '')
