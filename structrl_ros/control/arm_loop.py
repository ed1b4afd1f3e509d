"""The contract of a real arm: that of any body, and guards that are asked at every tick."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from structrl_ros.control.arm_guards import Guard
from structrl_ros.control.arm_guards import Objection
from structrl_ros.control.arm_target import aligned_rows
from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.types import ActionChunk
from structrl_ros.types import BodySpec
from structrl_ros.types import Float32
from structrl_ros.types import SafetyState


class Stoppable(Protocol):
    """What of a body the loop needs besides stepping it."""

    def hold_action(self) -> Float32:
        """Return the action that keeps the arm and the gripper as they are."""

    def stop(self) -> None:
        """Stop as fast as the limits allow; what is asked afterwards starts from there."""


class ArmLoop(BodyLoop):
    """One real arm under the contract, in real time."""

    def __init__(
        self,
        runner: EpisodeRunner,
        spec: BodySpec,
        body: Stoppable,
        *,
        guards: Sequence[Guard],
        max_chunk_age_s: float,
        blend_steps: int = 3,
    ) -> None:
        """Start without an episode; see `BodyLoop`.

        Args:
            runner: The episode of the arm.
            spec: What the arm is.
            body: What stops at once.
            guards: Asked at every tick and every chunk; the first objection counts.
            max_chunk_age_s: Oldest observation behind a chunk that may move the arm, seconds.
            blend_steps: Rows over which a newer chunk fades in.
        """
        super().__init__(
            runner,
            spec,
            lockstep=False,
            max_chunk_age_s=max_chunk_age_s,
            blend_steps=blend_steps,
        )
        self._body = body
        self._space = spec.action_space
        self._guards = tuple(guards)
        self._objected = False

    def offer(self, chunk: ActionChunk, publishers: Callable[[], Sequence[str]] = tuple) -> str:
        """Take a chunk, or return why not; one with a number that is not finite holds the arm."""
        objection = self.objection()
        if objection is not None:
            return objection.why
        if not np.isfinite(chunk.actions).all():
            reason = 'a number of the chunk is not finite'
            self.distrust(reason)
            return reason
        if self._space == 'ee_pose' and chunk.actions.shape[1:] == (8,):
            rotation = self._body.hold_action()[3:7].astype(np.float64)
            chunk = replace(chunk, actions=aligned_rows(chunk.actions, rotation))
        return super().offer(chunk, publishers)

    def distrust(self, reason: str) -> None:
        """Hold, because something came that is no chunk: who sends that moves no arm."""
        self._drop()
        self._watchdog.hold(f'chunk rejected: {reason}: holding position')

    def advance(self) -> list[ChunkResult]:
        """Let one control period pass, holding where a guard objects."""
        objection = self.objection()
        if objection is not None:
            self._drop()
            self._object(objection)
        elif self._objected and self._watchdog.state is SafetyState.HOLD:
            self._watchdog.hold('nothing objects any more, no chunk yet: holding position')
        self._objected = objection is not None
        return super().advance()

    def emergency(self, why: str) -> list[ChunkResult]:
        """Stop at once and latch; return the chunk that was cut, if one ran."""
        self._body.stop()
        return super().emergency(why)

    def halt(self, why: str) -> list[ChunkResult]:
        """Stop at once and latch, for a reason of the arm's own."""
        self._object(Objection(why, stops=True))
        self._drop()
        return [self._close()] if self._runner.in_chunk else []

    def objection(self) -> Objection | None:
        """Return the first objection of a guard to moving the arm now."""
        return next((o for guard in self._guards if (o := guard()) is not None), None)

    def _object(self, objection: Objection) -> None:
        if not objection.stops:
            self._watchdog.hold(f'{objection.why}: holding position')
        elif not self._watchdog.is_latched:
            self._body.stop()
            self._runner.stand_still()
            self._watchdog.stop(objection.why)
