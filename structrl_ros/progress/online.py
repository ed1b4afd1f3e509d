"""Progress of one episode as it happens: three queries a step, fused and shaped; numpy alone.

Robo-Dopamine 2.0, Eq. 12 to 18. grm_node and the check of a recording run this same class, so both
give the same numbers to the last bit (same model, same processor).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from structrl_ros.errors import ParameterError
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.estimate import Estimate
from structrl_ros.progress.estimate import Hops
from structrl_ros.progress.frames import Frame
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
    """What is known of one episode after each frame; a new episode takes a new one.

    A frame without pictures, and a model that fails, cost their step alone; see `Estimate`.
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
        self._estimate = Estimate(online.layout, goal)
        self._step = 0
        self._newest_ns = -1
        self.problem = ''

    def see_start(self, frame: Frame) -> None:
        """Take the start frame X_0; without one no step of the episode is valid."""
        if frame.images:
            self._observe(frame)

    def lose_start(self) -> None:
        """Note that what was taken for the start was none; no step is valid from here on."""
        self._estimate.forget_start()

    def step(self, frame: Frame, *, terminated: bool = False) -> Progress:
        """Take the frame after a step and return what is known now.

        Args:
            frame: What is seen; without images the step is not valid.
            terminated: The episode ended here in a terminal state, whose potential is 0 (Eq. 18);
                a truncation keeps its potential.
        """
        began = self._wall()
        self._step += 1
        before = self._estimate.potential
        hops, is_valid = self._ask(frame)
        after = self._estimate.potential
        if not is_valid and not self.problem:
            self.problem = NO_NUMBER
        shown = hops if is_valid else Hops(0.0, 0.0, 0.0)
        return Progress(
            stamp_ns=frame.stamp_ns,
            episode=self._episode,
            step=self._step,
            hop_forward=shown.forward,
            hop_backward=shown.backward,
            hop_incremental=shown.incremental,
            negative_branch=self._estimate.negative_branch,
            potential=after,
            shaping=float(
                self._shape(before, after, gamma=self._online.gamma, terminated=terminated)
            ),
            latency=max(0.0, self._wall() - began),
            valid=is_valid,
        )

    def _ask(self, frame: Frame) -> tuple[Hops, bool]:
        """Return the hops of the step, and whether it is valid."""
        self.problem = ''
        if not self._estimate.has_start:
            self.problem = NO_START
        elif not frame.images:
            self.problem = NO_PICTURE
        elif frame.newest_ns <= self._newest_ns:
            self.problem = NO_NEW_PICTURE
        if self.problem:
            return Hops(), False
        try:
            self._observe(frame)
            answers = self._model.hops(self._estimate.queries())
        except Exception as error:  # whatever a model raises: the step is not valid, no more
            self.problem = f'the model failed: {error or type(error).__name__}'
            return Hops(), False
        try:
            return self._estimate.take(answers)
        except ParameterError as error:
            self.problem = str(error)
            return Hops(), False

    def _observe(self, frame: Frame) -> None:
        self._estimate.observe(frame.newest_ns, make_views(frame.images, self._online.view_px))
        self._newest_ns = frame.newest_ns
