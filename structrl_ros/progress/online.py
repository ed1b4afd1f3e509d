"""Progress of one episode as it happens: three queries a step, fused and shaped; numpy alone.

Robo-Dopamine 2.0, Eq. 12 to 18. grm_node and the check of a recording run this same class, so both
give the same numbers to the last bit (same model, same processor).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from structrl_ros.ports import ProgressModel
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.fusion import Fusion
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import make_views
from structrl_ros.types import Float64
from structrl_ros.types import Progress
from structrl_ros.types import UInt8

#: Why a step is not valid.
NO_START = 'the start of the episode was not seen'
NO_PICTURE = 'no picture'
NO_NEW_PICTURE = 'no new picture'
NO_NUMBER = 'the model gave no number'

_NO_HOPS = (math.nan, math.nan, math.nan)


class ShapingTerm(Protocol):
    """gamma * Phi(s') - Phi(s): `rewards.shaping.shaping_term`."""

    def __call__(
        self, potential: float, next_potential: float, *, gamma: float, terminated: bool
    ) -> Float64:
        """Return the term; Phi(s') is 0 where the episode terminated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineModel:
    """A progress model, and how it is asked online.

    Attributes:
        make: Returns the model for an instruction.
        layout: Panels of its queries.
        view_px: Side of its views, pixels.
        goal: RGB image of each role that the goal is known of, (H, W, 3); None leaves the backward
            term out.
        gamma: Discount of the shaping term, in (0, 1].
    """

    make: Callable[[str], ProgressModel]
    layout: Layout
    view_px: int
    goal: Mapping[str, UInt8] | None = None
    gamma: float = 0.99


class EpisodeProgress:
    """The potential of one episode, which starts at 0; a new episode takes a new one.

    A step that has no valid answer repeats potential and gate, and the next one asks for the hop
    since the last valid step, so that nothing is lost.
    """

    def __init__(
        self,
        episode: int,
        online: OnlineModel,
        instruction: str,
        shape: ShapingTerm,
        *,
        wall: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Begin at the start of an episode.

        Args:
            episode: Its number.
            online: What is asked, and how.
            instruction: What the episode is about.
            shape: Of the room `rewards`.
            wall: A steady clock, seconds, for the latency.

        Raises:
            ParameterError: If the goal is no RGB image.
        """
        goal = None if online.goal is None else make_views(online.goal, online.view_px)
        self._episode, self._online, self._shape, self._wall = episode, online, shape, wall
        self._model = online.make(instruction)
        self._rollout = Rollout(online.layout, goal)
        self._fusion = Fusion(has_goal=goal is not None)
        self._step, self._since = 0, 0
        self._newest_ns = -1
        self.problem = ''

    def see_start(self, frame: Frame) -> None:
        """Take the start frame X_0; without one no step of the episode is valid."""
        if frame.images:
            self._observe(frame)

    def lose_start(self) -> None:
        """Note that what was taken for the start was none; no step is valid from here on."""
        self._rollout = Rollout(self._online.layout, self._rollout.goal)

    def step(self, frame: Frame, *, terminated: bool = False) -> Progress:
        """Take the frame after a step and return what is known now.

        Args:
            frame: What is seen; without images the step is not valid.
            terminated: The episode ended here in a terminal state, whose potential is 0 (Eq. 18);
                a truncation keeps its potential.
        """
        began = self._wall()
        self._step += 1
        before = float(self._fusion.potential)
        hops = self._ask(frame)
        is_valid = bool(self._fusion.step(*hops))
        after = float(self._fusion.potential)
        if is_valid:
            self._since = len(self._rollout) - 1
        elif not self.problem:
            self.problem = NO_NUMBER
        shown = hops if is_valid else (0.0, 0.0, 0.0)
        return Progress(
            stamp_ns=frame.stamp_ns,
            episode=self._episode,
            step=self._step,
            hop_forward=shown[0],
            hop_backward=shown[1],
            hop_incremental=shown[2],
            negative_branch=bool(self._fusion.negative_branch),
            potential=after,
            shaping=float(
                self._shape(before, after, gamma=self._online.gamma, terminated=terminated)
            ),
            latency=max(0.0, self._wall() - began),
            valid=is_valid,
        )

    def _ask(self, frame: Frame) -> tuple[float, float, float]:
        """Return the hops forward, backward and incremental; NaN where there is none."""
        self.problem = ''
        if not len(self._rollout):
            self.problem = NO_START
        elif not frame.images:
            self.problem = NO_PICTURE
        elif frame.newest_ns <= self._newest_ns:
            self.problem = NO_NEW_PICTURE
        if self.problem:
            return _NO_HOPS
        try:
            self._observe(frame)
            return self._answers()
        except Exception as error:  # whatever a model raises: the step is not valid, no more
            self.problem = f'the model failed: {error or type(error).__name__}'
            return _NO_HOPS

    def _observe(self, frame: Frame) -> None:
        self._rollout.observe(frame.newest_ns, make_views(frame.images, self._online.view_px))
        self._newest_ns = frame.newest_ns

    def _answers(self) -> tuple[float, float, float]:
        rollout = self._rollout
        queries: list[Query] = [rollout.forward(), rollout.incremental(self._since)]
        if rollout.goal is not None:
            queries.append(rollout.backward())
        answers = np.asarray(self._model.hops(queries), dtype=np.float64)
        if answers.shape != (len(queries),):
            self.problem = f'the model gave hops of shape {answers.shape} to {len(queries)}'
            return _NO_HOPS
        if np.isinf(answers).any():
            return _NO_HOPS
        forward, incremental, *backward = (float(h) for h in np.clip(answers, -1.0, 1.0))
        return forward, backward[0] if backward else math.nan, incremental
