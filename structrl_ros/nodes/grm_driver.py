"""Drives a progress model: what the graph says goes in, progress comes out; it thinks in a thread.

Executor and worker both come in here, so everything is behind one lock. Nothing of ROS but the
names of things: grm_node decodes and encodes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field
from threading import RLock

from structrl_ros.errors import StructRLError
from structrl_ros.nodes.grm_models import OpenModel
from structrl_ros.nodes.inference_worker import InferenceWorker
from structrl_ros.params.grm import GrmParameters
from structrl_ros.progress.frames import Due
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.frames import FrameQueue
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.recording.progress_told import LookedAt
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Progress
from structrl_ros.types import UInt8

#: Publishes the progress of a step and what it looked at; called from the worker's thread.
Publish = Callable[[Progress, LookedAt], None]


@dataclass(slots=True)
class _Run:
    """An episode; `progress` is the worker's alone.

    `first_ns` is the end of the first chunk that was heard, 0 before.
    """

    episode: Episode
    instruction: str = ''
    start: Frame = field(default_factory=lambda: Frame(0))
    first_ns: int = 0
    is_start_seen: bool = True
    is_over: bool = False
    progress: EpisodeProgress | None = None


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that waits for the worker."""

    run: _Run
    due: Due
    frame: Frame
    start: Frame


class GrmDriver:
    """One episode at a time; in real time the latest frame wins, in lock-step none is lost."""

    def __init__(self, opened: OpenModel, parameters: GrmParameters, publish: Publish) -> None:
        """Start the thread; nothing is asked before an episode begins."""
        p = parameters
        self.lock = RLock()
        self._opened, self._parameters, self._publish = opened, p, publish
        self._frames = FrameQueue(
            p.roles,
            lockstep=p.lockstep,
            period_ns=round(1e9 / p.rate_hz) if p.rate_hz else 0,
            max_age_s=p.max_age_s,
            wait_s=p.wait_s,
        )
        self._worker = InferenceWorker()
        self._run: _Run | None = None
        self._plan: Plan | None = None
        self._early: list[ChunkDone] = []
        self._steps: deque[_Step] = deque()
        self._is_active = True
        self._times: deque[float] = deque(maxlen=100)
        self._last: Progress | None = None
        self._problem = ''
        self._asked = self._failed = self._dropped = 0

    def activate(self, active: bool) -> None:
        """Begin or stop; what happens while it is stopped is not asked about."""
        with self.lock:
            self._is_active = active
            self._steps.clear()

    def see_plan(self, plan: Plan) -> None:
        """Take the sentence that is being carried out."""
        with self.lock:
            if plan.instruction:
                self._plan = plan

    def see_episode(self, episode: Episode) -> None:
        """Take the start or end of an episode; a start forgets the episode before."""
        with self.lock:
            if episode.ended:
                self._frames.end()
                if self._run is not None:
                    self._run.is_over = True
                return
            if self._run is not None and self._run.episode == episode:
                return  # the latched message came twice
            self._run = _Run(episode)
            self._steps.clear()
            self._frames.begin(episode.stamp_ns)
            early, self._early = self._early, []
            for done in early:
                self._take_done(done)
        self.consider()

    def see_done(self, done: ChunkDone) -> None:
        """Take the end of a chunk."""
        with self.lock:
            self._take_done(done)
        self.consider()

    def take_image(self, role: str, stamp_ns: int, image: UInt8) -> None:
        """Take a picture."""
        with self.lock:
            self._frames.take(role, stamp_ns, image)
        self.consider()

    def consider(self) -> None:
        """Give the worker what is due; call it also a few times a second."""
        with self.lock:
            for due, frame in self._frames.ready():
                self._take_frame(due, frame)
            if not self._steps or not self._is_active or self._worker.is_busy:
                return
            step = self._steps.popleft()
            self._worker.submit(lambda: self._think(step), self.consider)

    def health(self) -> tuple[str, dict[str, object]]:
        """Return what is wrong ('' is well) and numbers for `/diagnostics`."""
        with self.lock:
            recent = [t for t in self._times if t > time.monotonic() - 5.0]
            span_s = recent[-1] - recent[0] if len(recent) > 1 else 0.0
            last, ran_with = self._last, self._opened.ran_with
            is_over = self._run is not None and self._run.is_over
            problem = '' if is_over else self._problem
            if not is_over and not problem and self._frames.absent:
                problem = f'no picture of {", ".join(self._frames.absent)}'
            return problem, {
                'latency_s': f'{last.latency if last else 0.0:.4f}',
                'rate_hz': f'{(len(recent) - 1) / span_s if span_s else 0.0:.2f}',
                'potential': f'{last.potential if last else 0.0:.3f}',
                'asked': self._asked,
                'failed': self._failed,
                'dropped': self._dropped + self._frames.replaced,
                'waiting': len(self._steps),
                'start': _start_text(self._run),
                'model': f'{ran_with.model} {ran_with.model_digest}',
                'goal': ran_with.goal or 'none: the backward term is left out',
                'instruction': self._run.instruction if self._run else '',
            }

    def close(self) -> None:
        """End the thread."""
        self.activate(False)
        self._worker.stop()

    def _take_done(self, done: ChunkDone) -> None:
        """Ask for the frame of a step: of every chunk, or at a rate of the last one alone."""
        run = self._run
        number = 0 if run is None else run.episode.episode
        if done.episode > number:  # it overtook the start of its episode
            self._early = [d for d in self._early if d.episode == done.episode] + [done]
        if run is None or done.episode != number:
            return
        if not run.first_ns:
            run.first_ns = done.stamp_ns
            run.is_start_seen = done.chunk == 1 and run.start.newest_ns < done.stamp_ns
        is_last = done.terminated or done.truncated
        if self._parameters.lockstep or not self._parameters.rate_hz or is_last:
            self._frames.ask(done.stamp_ns, terminated=done.terminated)

    def _take_frame(self, due: Due, frame: Frame) -> None:
        run = self._run
        if run is None:
            return
        if due.is_start:
            run.start = frame
            run.is_start_seen &= not run.first_ns or frame.newest_ns < run.first_ns
            return
        run.instruction = run.instruction or self._sentence(run.episode)
        if not self._parameters.lockstep and self._steps:
            self._steps.popleft()
            self._dropped += 1
        start = run.start if run.is_start_seen else Frame(0)
        self._steps.append(_Step(run, due, frame, start))

    def _sentence(self, episode: Episode) -> str:
        """Return the instruction of an episode that is asked about for the first time."""
        plan = self._plan
        is_of_it = plan is not None and plan.stamp_ns >= episode.stamp_ns
        said = plan.instruction if plan is not None and is_of_it else episode.instruction
        return self._parameters.instruction or said

    def _think(self, step: _Step) -> None:
        """Runs in the worker: ask the model, publish its answer if it is still wanted."""
        try:
            self._ask(step)
        except Exception as error:  # whatever fails: the node goes on, and says so
            text = str(error) if isinstance(error, StructRLError) else repr(error)
            with self.lock:
                self._failed += 1
                self._problem = f'no progress: {text}'

    def _ask(self, step: _Step) -> None:
        run, started = step.run, step.start
        if run.progress is None:
            number = run.episode.episode
            run.progress = EpisodeProgress(
                number, self._opened.online, run.instruction, shaping_term
            )
            run.progress.see_start(started)
        if not started.images:
            run.progress.lose_start()
        said = run.progress.step(step.frame, terminated=step.due.terminated)
        looked_at = LookedAt(
            episode=said.episode,
            step=said.step,
            stamp_ns=said.stamp_ns,
            instruction=run.instruction,
            start=dict(started.stamps_ns),
            pictures=dict(step.frame.stamps_ns),
            terminated=step.due.terminated,
        )
        with self.lock:
            if run is not self._run or not self._is_active:
                return
            self._last, self._problem = said, run.progress.problem
            self._asked += 1
            self._failed += not said.valid
            self._times.append(time.monotonic())
            self._publish(said, looked_at)


def _start_text(run: _Run | None) -> str:
    """Return whether the start frame of the episode was seen."""
    if run is None:
        return 'no episode'
    if not run.is_start_seen:
        return 'missed'
    return 'seen' if run.start.images else 'not seen yet'
