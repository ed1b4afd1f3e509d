"""A replay buffer that stores each observation once and never gives a wrong next one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float32
from structrl_ros.types import Float64

Frame = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Batch:
    """B sampled transitions; observations by name, shape (B, ...), in the dtype they came in.

    `executed` is what the robot really did and what a learner trains on; `requested` is what the
    policy asked for. Shapes (B, A). The others have shape (B,).
    """

    observation: dict[str, NDArray[Any]]
    next_observation: dict[str, NDArray[Any]]
    requested: Float32
    executed: Float32
    reward: Float64
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    intervened: NDArray[np.bool_]


class ReplayBuffer:
    """A ring of observations. An episode of T steps takes T + 1 places, the last one included.

    The observation after step t is the place after that of step t, also at a truncation and
    across the end of the ring; a transition whose next observation was overwritten is gone. One
    lock guards every call, so that threads may add and sample at once.
    """

    def __init__(
        self,
        capacity: int,
        observation: Mapping[str, tuple[tuple[int, ...], DTypeLike]],
        action_dimension: int,
    ) -> None:
        """Reserve the memory.

        Args:
            capacity: Places, >= 2.
            observation: Shape and dtype of each part of an observation, by name.
            action_dimension: A.

        Raises:
            ParameterError: If the capacity is below 2.
        """
        if capacity < 2:
            raise ParameterError(f'capacity: must be >= 2, got {capacity}')
        self._frames = {n: np.zeros((capacity, *s), d) for n, (s, d) in observation.items()}
        self._requested = np.zeros((capacity, action_dimension), dtype=np.float32)
        self._executed = np.zeros_like(self._requested)
        self._reward = np.zeros(capacity)
        self._flags = np.zeros((capacity, 3), dtype=bool)
        self._usable = np.zeros(capacity, dtype=bool)
        self._newest = -1
        self._is_open = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of transitions that can be sampled."""
        return int(np.count_nonzero(self._usable))

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""
        parts = (*self._frames.values(), self._requested, self._executed, self._reward)
        return sum(part.nbytes for part in (*parts, self._flags, self._usable))

    def start(self, observation: Frame) -> None:
        """Begin an episode with its first observation; an open one simply ends where it is."""
        with self._lock:
            self._place(observation)
            self._is_open = True

    def append(
        self,
        *,
        requested: Float32,
        executed: Float32,
        reward: float,
        next_observation: Frame,
        terminated: bool = False,
        truncated: bool = False,
        intervened: bool = False,
    ) -> None:
        """Add one transition of the open episode.

        Args:
            requested: Action that was asked for, shape (A,).
            executed: Action that was carried out after limits or takeover, shape (A,).
            reward: Reward of the step.
            next_observation: The true next observation, the final one at an end.
            terminated: Whether the step ended in a terminal state.
            truncated: Whether the episode was cut after the step.
            intervened: Whether an operator gave the action.

        Raises:
            ParameterError: If no episode is open.
        """
        with self._lock:
            if not self._is_open:
                raise ParameterError('append: no episode is open; call start first')
            place = self._newest
            self._requested[place], self._executed[place] = requested, executed
            self._reward[place] = reward
            self._flags[place] = terminated, truncated, intervened
            self._place(next_observation)
            self._usable[place] = True
            self._is_open = not (terminated or truncated)

    def sample(self, size: int, random: np.random.Generator) -> Batch:
        """Return `size` transitions, drawn with replacement, each equally likely.

        Raises:
            ParameterError: If the buffer holds no transition.
        """
        with self._lock:
            usable = np.flatnonzero(self._usable)
            if not len(usable):
                raise ParameterError('sample: the buffer holds no transition')
            places = random.choice(usable, size)
            after = (places + 1) % len(self._usable)
            terminated, truncated, intervened = self._flags[places].T
            return Batch(
                observation={name: part[places] for name, part in self._frames.items()},
                next_observation={name: part[after] for name, part in self._frames.items()},
                requested=self._requested[places],
                executed=self._executed[places],
                reward=self._reward[places],
                terminated=terminated,
                truncated=truncated,
                intervened=intervened,
            )

    def _place(self, observation: Frame) -> None:
        if observation.keys() != self._frames.keys():
            raise ParameterError(
                f'observation: parts must be {sorted(self._frames)}, got {sorted(observation)}'
            )
        place = (self._newest + 1) % len(self._usable)
        for name, part in self._frames.items():
            part[place] = observation[name]
        self._usable[[place - 1, place]] = False
        self._newest = place
