"""One rollout of the corpus of failure events: what was played, its label, and what is shown."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from structrl_ros.sim.events.watcher import STATE_NAMES
from structrl_ros.training.leap_episode import picture_pixels
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float64
from structrl_ros.types import UInt8

SPLITS = ('train', 'validation', 'test')
#: Of a thousand scenes, those for training and for validation; the rest is for test.
_TRAIN, _VALIDATION = 600, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EventEpisode:
    """One rollout of N chunks.

    Attributes:
        id: Unique in the set.
        split: One of `SPLITS`, of the scene.
        task: Name.
        instruction: Its sentence.
        policy: Who played.
        calibration_offset: Metres that the policy saw the scene displaced by (`perception`).
        seed: Of the scene.
        initial_state: Of the scene.
        steps: Low-level steps of each chunk, length N.
        success: Whether the task succeeded.
        outcome, error_type, recovery, reason: Of the label, as in `EventReview`.
        interval: [l, u] of the label, or empty.
        first_interval: Of the label, or empty.
        evidence: Boundaries of the label.
        states: True state vectors at every boundary, (N + 1, F); see `watcher.STATE_NAMES`.
        simulator_states: To draw pictures from, (N + 1, S).
        potential: Of a progress model at every boundary, length N + 1, or empty.
        negative_branch: Its gate, or empty.
        roles: Cameras of the pictures.
        frame_chunks: The boundary of each frame.
        images: Files of all roles of the first frame, then of the next one.
    """

    id: str
    split: str
    task: str
    instruction: str
    policy: str
    calibration_offset: float
    seed: int
    initial_state: int
    steps: tuple[int, ...]
    success: bool
    outcome: str
    error_type: str
    recovery: str
    reason: str
    interval: tuple[int, ...]
    first_interval: tuple[int, ...]
    evidence: tuple[int, ...]
    states: tuple[tuple[float, ...], ...]
    simulator_states: tuple[tuple[float, ...], ...]
    potential: tuple[float, ...] = ()
    negative_branch: tuple[bool, ...] = ()
    roles: tuple[str, ...] = ()
    frame_chunks: tuple[int, ...] = ()
    images: tuple[bytes, ...] = ()

    @property
    def chunks(self) -> int:
        """N."""
        return len(self.steps)

    @property
    def scene(self) -> tuple[str, int, int]:
        """Identity of the scene: task, seed and initial state."""
        return self.task, self.seed, self.initial_state

    @property
    def label(self) -> EventReview:
        """The simulator's review."""
        return EventReview(
            outcome=self.outcome,
            error_type=self.error_type,
            interval=_pair(self.interval),
            recovery=self.recovery,
            evidence=self.evidence,
            confidence=1.0,
            reason=self.reason,
            first_interval=_pair(self.first_interval),
        )

    def rollout(self) -> FailedRollout:
        """Return what an event model is given.

        Raises:
            ParameterError: If a picture cannot be read.
        """
        states = np.array(self.states, dtype=np.float64)
        return FailedRollout(
            task=self.task,
            instruction=self.instruction,
            chunks=self.chunks,
            views=self._views(),
            frame_chunks=self.frame_chunks,
            proprioception=proprioception(states),
            potential=np.array(self.potential),
            negative_branch=np.array(self.negative_branch, dtype=bool),
            states=states,
            state_names=STATE_NAMES,
            seed=self.seed,
            initial_state=self.initial_state,
        )

    def _views(self) -> Mapping[str, UInt8]:
        count = len(self.roles)
        return {
            role: np.stack([picture_pixels(file) for file in self.images[place::count]])
            for place, role in enumerate(self.roles)
            if self.images
        }


def split_of(task: str, seed: int, initial_state: int) -> str:
    """Return the split of a scene: a function of its identity alone, so none is in two."""
    words = f'{task}/{seed}/{initial_state}'.encode()
    number = int.from_bytes(hashlib.blake2b(words, digest_size=8).digest()) % 1000
    if number < _TRAIN:
        return SPLITS[0]
    return SPLITS[1] if number < _TRAIN + _VALIDATION else SPLITS[2]


def proprioception(states: Float64) -> Float64:
    """Return tool position (m), yaw (rad) and opening of true state vectors, (N + 1, 5)."""
    from structrl_ros.sim.tabletop.features import FAR_M
    from structrl_ros.sim.tabletop.features import MIDDLE

    columns = [STATE_NAMES.index(n) for n in ('tcp_x', 'tcp_y', 'tcp_z', 'yaw', 'opening')]
    told = states[:, columns].copy()
    told[:, :3] = told[:, :3] * FAR_M + MIDDLE
    return told


def label_fields(review: EventReview) -> dict[str, object]:
    """Return the fields of an episode that hold its label."""
    kept = {f.name for f in dataclasses.fields(EventEpisode)}
    told = {n: v for n, v in _as_dict(review).items() if n in kept}
    return {
        **told,
        'interval': review.interval or (),
        'first_interval': review.first_interval or (),
    }


def _as_dict(review: EventReview) -> dict[str, object]:
    return {field.name: getattr(review, field.name) for field in dataclasses.fields(review)}


def _pair(values: tuple[int, ...]) -> tuple[int, int] | None:
    return (values[0], values[1]) if values else None
