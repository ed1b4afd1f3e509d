"""Drives the executive: planner and monitor in threads, the 5 Hz, a guard on the wall clock.

No ROS: a node feeds it with what comes over the topics and takes what is to be published. In real
time a tick takes the newest observation. In lock-step the ticks of a chunk run when everything
about its end has come, the last of them at its end, so that nothing depends on the order of
messages. Nothing is seen within a chunk, so its ticks all look at its end; a step is judged once.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager

from structrl_ros.plan.body_time import BodyTime
from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import AskPlanner
from structrl_ros.plan.commands import Command
from structrl_ros.plan.commands import Finish
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.commands import PublishPlan
from structrl_ros.plan.commands import PublishVerdict
from structrl_ros.plan.commands import State
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.latest import LatestObservation
from structrl_ros.plan.look import Look
from structrl_ros.plan.monitor_clock import MonitorClock
from structrl_ros.plan.session_ports import Answer
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.plan.session_ports import call_monitor
from structrl_ros.plan.session_ports import call_planner
from structrl_ros.plan.session_ports import spawn_thread
from structrl_ros.plan.session_ports import take_answer
from structrl_ros.ports import Clock
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode

#: Wall seconds after the end of an episode in which its last messages may still come.
_LAST_WORDS_S = 0.25
#: In lock-step the end comes with the last chunk; without one it counts after this.
_LATE_END_S = 2.0


class TaskSession:
    """One task at a time on one body; every method may be called from any thread."""

    def __init__(
        self,
        executive: Executive,
        planner: Planner,
        monitor: Monitor,
        outputs: Outputs,
        settings: SessionSettings,
        clock: Clock,
        *,
        wall: Callable[[], float] = time.monotonic,
        spawn: Callable[[Callable[[], None]], None] = spawn_thread,
    ) -> None:
        """Begin idle; `wall` and `spawn` are replaced in tests."""
        self.executive = executive
        self.ticks = MonitorClock(settings.period_ns)
        self._planner, self._monitor = planner, monitor
        self._outputs, self._settings = outputs, settings
        self._wall, self._spawn = wall, spawn
        self._lock = threading.RLock()
        self._latest = LatestObservation()
        self._time = BodyTime(clock, self._latest, settings, wall)
        self._episode: Episode | None = None
        self._task = 0
        self._chunk: ChunkDone | None = None
        self._looks = False
        self._ticked_ns = 0
        self._end: tuple[Episode, float] | None = None

    @property
    def episode(self) -> Episode | None:
        """The episode that the body is in, None before the first."""
        with self._lock:
            return self._episode

    def has_images(self, roles: tuple[str, ...]) -> bool:
        """Tell whether an image of each role has come."""
        with self._lock:
            return self._latest.has_images(roles)

    @property
    def truth_ns(self) -> int:
        """Stamp of the newest predicates, 0 before any."""
        with self._lock:
            predicates = self._latest.predicates
            return 0 if predicates is None else predicates.stamp_ns

    def start(self, goal: Goal) -> None:
        """Begin a task on what is seen now.

        Raises:
            ParameterError: If a task is running, or the goal's time limit is negative.
        """
        with self._lock:
            commands = self.executive.start(goal, self._latest.snapshot(), self._now())
            self._task += 1
            self.ticks.reset()
            self._chunk = self._end = None
            self._looks = False
            self._note_news()
            self._do(commands)

    def cancel(self) -> None:
        """End the task because its owner wants so."""
        with self._lock:
            self._do(self.executive.cancel(self._now()))

    def abort(self, reason: str) -> None:
        """End the task because the node has to stop."""
        with self._lock:
            self._do(self.executive.abort(reason, self._now()))

    def update(self, take: Callable[[LatestObservation], None]) -> None:
        """Take something observed, then do what is due."""
        with self._lock:
            before_ns = self._latest.stamp_ns
            take(self._latest)
            self._note_news()
            if (back_ns := before_ns - self._latest.stamp_ns) > 0:
                self.abort(f'the time of the observations went back by {back_ns / 1e9:.1f} s')
            if self._settings.lockstep:
                self._begin_chunk()
            else:
                self._tick()

    def see_episode(self, episode: Episode) -> None:
        """Take the start or end of an episode."""
        with self._lock:
            before, self._episode = self._episode, episode
            is_other = before is None or before.episode != episode.episode
            if is_other:
                self._latest.clear(episode.episode)
                self._chunk = None
            self._latest.take_word(episode.stamp_ns)
            if is_other and before is not None:
                self._end_episode(False, f'the body was reset, episode {episode.episode} began')
            elif episode.ended and self.executive.state.is_running:
                late_s = _LATE_END_S if self._settings.lockstep else _LAST_WORDS_S
                self._end = (episode, self._wall() + late_s)

    def see_chunk(self, done: ChunkDone) -> None:
        """Take the end of a chunk; in lock-step this is when the monitor works."""
        with self._lock:
            if self._episode is not None and done.episode == self._episode.episode:
                self._chunk = done
                self.update(lambda latest: latest.take_stamp(done.stamp_ns))

    def poll(self) -> None:
        """Look at the time limits and at the wall clock; call it a few times a second."""
        with self._lock:
            self._note_news()
            if not self._settings.lockstep:
                self._tick()
            elif self.executive.current is None:
                self._do(self.executive.tick(self._latest.snapshot(), self._now(), may_ask=False))
            self._end_late()
            limit_s = self._settings.stall_limit_s
            if self.executive.state is State.EXECUTING and self._time.still_s > limit_s:
                self.abort(f'the body stands still: no news and no clock for {limit_s:g} s')

    def _now(self) -> int:
        return self._time.now_ns()

    def _note_news(self) -> None:
        """Restart the wall clock's guard if the body's time has moved, or a call runs."""
        is_busy = self.ticks.is_busy or self._looks
        self._time.note_news(is_excused=is_busy or self.executive.current is None)

    def _tick(self) -> None:
        """Real time: ask the monitor if a tick is due; time limits are looked at in any case."""
        if not self.executive.state.is_running or self._looks:
            return
        now, is_executing = self._now(), self.executive.current is not None
        if not is_executing:
            self.ticks.pause()
        due = is_executing and self.ticks.is_due(now)
        self._do(self.executive.tick(self._latest.snapshot(), now, may_ask=due))

    def _do(self, commands: Sequence[Command]) -> None:
        """Carry out commands, in order."""
        for command in commands:
            if isinstance(command, PublishPlan):
                self._outputs.follow(command.plan.subtasks)
                self._outputs.plan(command.plan)
                self._ticked_ns = max(self._ticked_ns, command.plan.stamp_ns)
            elif isinstance(command, PublishVerdict):
                self._outputs.verdict(command.verdict)
            elif isinstance(command, Finish):
                self._outputs.finish(command.success, command.reason)
            elif isinstance(command, AskPlanner):
                self._spawn_planner(command)
            else:
                self.ticks.begin(self._now())
                self._spawn_monitor(command)

    @contextmanager
    def _held(self, task: int) -> Iterator[bool]:
        """Hold the lock; tell whether this task is still the one under way."""
        with self._lock:
            yield task == self._task

    def _spawn_planner(self, command: AskPlanner) -> None:
        task = self._task

        def work() -> None:
            answer = call_planner(self._planner, command.request)
            with self._held(task) as is_wanted:
                if not is_wanted:
                    return
                if isinstance(answer, str):
                    self._do(self.executive.plan_text(command.number, answer, self._now()))
                else:
                    self._do(self.executive.plan_failed(command.number, answer, self._now()))

        self._spawn(work)

    def _ask_monitor(self, command: AskMonitor) -> tuple[Answer, float]:
        return call_monitor(self._monitor, command, self._wall)

    def _spawn_monitor(self, command: AskMonitor) -> None:
        task = self._task

        def work() -> None:
            answer, latency_s = self._ask_monitor(command)
            with self._held(task) as is_wanted:
                if is_wanted:
                    self.ticks.end(latency_s)
                    now_ns = self._now()
                    self._do(take_answer(self.executive, command, answer, latency_s, now_ns))
                    self._tick()  # a tick that came due meanwhile starts at once

        self._spawn(work)

    def _begin_chunk(self) -> None:
        """Lock-step: run the ticks of a chunk once everything about its end is here."""
        done = self._chunk
        if done is None or self._looks or not self._settings.has_end(self._latest, done):
            return
        self._chunk = None
        if self.executive.current is None:
            self._end_chunk(done)
            return
        stamps = self.ticks.lockstep_ticks(self._ticked_ns, done.stamp_ns)
        self._spawn_look(stamps, lambda: self._end_chunk(done))

    def _end_chunk(self, done: ChunkDone) -> None:
        """End the task with the episode, if this was its last chunk."""
        self._ticked_ns = done.stamp_ns
        if done.terminated or done.truncated:
            self._end = None
            self._end_episode(done.success, 'success' if done.success else 'its time was up')

    def _end_late(self) -> None:
        """End the task with the episode, after a last look at what has come."""
        if self._end is None or self._wall() < self._end[1] or self._looks or self.ticks.is_busy:
            return
        episode, self._end = self._end[0], None
        steps = len(self.executive.plan.subtasks) if self.executive.plan is not None else 0
        self._spawn_look(
            (self._latest.stamp_ns,) * steps,
            lambda: self._end_episode(episode.success, episode.end_reason),
        )

    def _end_episode(self, success: bool, reason: str) -> None:
        self._do(self.executive.episode_ended(success, reason, self._now()))

    def _spawn_look(self, stamps: Sequence[int], then: Callable[[], None]) -> None:
        """Judge what is seen now at these times, in a thread; `then` ends it under the lock."""
        self._looks = True
        held = functools.partial(self._held, self._task)
        look = Look(self.executive, self.ticks, self._ask_monitor, self._do, held)
        seen = self._latest.snapshot()

        def work() -> None:
            look.run(seen, stamps)
            with held() as is_wanted:
                if is_wanted:
                    self._looks = False
                    self._do(look.owed())
                    then()
                    self._begin_chunk()

        self._spawn(work)
