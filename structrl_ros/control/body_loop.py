"""The body's side of the contract: admission, schedule, watchdog and episode, without ROS.

sim_node feeds it with chunks and requests and publishes what it returns; it is driven from one
thread.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from structrl_ros.control.admission import AdmissionRules
from structrl_ros.control.admission import ChunkAdmission
from structrl_ros.control.chunk_schedule import ChunkSchedule
from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_results import ResetResult
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.watchdog import Watchdog
from structrl_ros.errors import StructRLError
from structrl_ros.types import SOURCES
from structrl_ros.types import ActionChunk
from structrl_ros.types import BodySpec
from structrl_ros.types import Episode
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState

#: What is to be done after the end of an episode: the service, and the command that calls it.
RESET = 'call reset_episode (structrl reset)'


class BodyLoop:
    """One simulated body under the contract, in lock-step or in real time."""

    def __init__(
        self,
        runner: EpisodeRunner,
        spec: BodySpec,
        *,
        lockstep: bool,
        max_chunk_age_s: float = 3.0,
        blend_steps: int = 3,
    ) -> None:
        """Start without an episode; everything is rejected until the first reset.

        Args:
            runner: The episode of the body.
            spec: What the body is.
            lockstep: Run each chunk whole; the world stands still between chunks.
            max_chunk_age_s: Oldest observation behind a chunk that may move the body, seconds.
            blend_steps: Rows over which a newer chunk fades in (real time).
        """
        period_s = 1.0 / spec.control_rate_hz
        self._runner = runner
        self._period_ns = round(1e9 * period_s)
        self._lockstep = lockstep
        self._schedule = ChunkSchedule(whole=lockstep, blend_steps=blend_steps)
        self._admission = ChunkAdmission(
            AdmissionRules(
                action_space=spec.action_space,
                action_dimension=spec.action_dimension,
                step_period_s=period_s,
                max_age_s=max_chunk_age_s,
                future_tolerance_s=0.5 * period_s,
                allow_empty=not lockstep,
            )
        )
        self._watchdog = Watchdog(control_period_s=period_s, max_observation_age_s=max_chunk_age_s)
        self._running_chunk: int | None = None
        self._subtask = ''

    @property
    def safety(self) -> Safety:
        """The safety state and why, stamped now."""
        dog = self._watchdog
        return Safety(self._runner.now_ns, dog.state, dog.reason)

    @property
    def has_rows(self) -> bool:
        """Whether a chunk waits or runs: in lock-step, whether `advance` has anything to do."""
        return self._schedule.rows_left(self._runner.now_ns) > 0

    def reset(self, task: str, seed: int, initial_state: int) -> ResetResult:
        """Begin an episode, dropping what ran.

        Raises:
            SimulationError: If the task or initial state is unknown; the present episode goes on.
        """
        result = self._runner.reset(task, seed, initial_state)
        self._drop()
        self._subtask = ''
        self._admission.open_episode(result.episode.episode)
        self._watchdog.open_episode()
        return result

    def offer(self, chunk: ActionChunk, publishers: Callable[[], Sequence[str]] = tuple) -> str:
        """Take a chunk, or return why not; see `ChunkAdmission.reject`."""
        now_ns = self._runner.between_ns
        if self._watchdog.is_latched:
            return self._watchdog.reason
        is_idle = not self._lockstep and self._watchdog.state is SafetyState.HOLD
        reason = self._admission.reject(chunk, now_ns, is_idle=is_idle, publishers=publishers)
        if reason:
            self.refuse(reason)
        else:
            self._schedule.accept(chunk)
            if len(chunk.actions):
                self._watchdog.admit(chunk.stamp_ns, self._runner.now_ns)
        return reason

    def refuse(self, reason: str) -> None:
        """Note that something came that is no chunk; an idle body says so on `safety`."""
        if self._runner.is_running and not self.has_rows:
            self._watchdog.hold(f'chunk rejected: {reason}: holding position')

    def advance(self) -> list[ChunkResult]:
        """Let one control period pass; return the chunks that ended before and in it.

        In lock-step call it only while `has_rows`. In real time a period without a row holds; one
        whose row is not due yet is no period without a chunk.

        Raises:
            SimulationError: If the world broke; the episode has then ended.
        """
        closed: list[ChunkResult] = []
        runner = self._runner
        point = self._schedule.next(runner.now_ns)
        if not self._lockstep:
            has_row = point is not None or self.has_rows
            self._watchdog.tick(runner.now_ns, runner.now_ns, has_row=has_row)
        if point is not None and self._watchdog.state is not SafetyState.OK:
            self._drop()
            point = None
        if runner.in_chunk and (point is None or point.chunk != self._running_chunk):
            closed.append(self._close())
        try:
            if point is None:
                runner.hold()
            else:
                self._running_chunk = point.chunk
                runner.step(point.action)
        except StructRLError:
            self._drop()
            raise
        if runner.is_running and (runner.is_over or (runner.in_chunk and not self.has_rows)):
            closed.append(self._close())
        return closed

    def fail(self, why: str) -> Episode | None:
        """End the episode because the world broke; nothing moves until a reset."""
        text = f'{why}: {RESET}'
        self._admission.close_episode(text)
        self._watchdog.hold(text)
        return self._runner.fail(why)

    def pursue(self, subtask: str, stamp_ns: int) -> None:
        """Note what the policy pursues; in real time a change drops chunks made before it.

        A chunk whose observation is not older than two control periods stays: it may be the first
        of the new subtask, which overtook this news.

        Args:
            subtask: Id of the current subtask, '' for nothing: hold.
            stamp_ns: Stamp of the status that says so.
        """
        if subtask == self._subtask:
            return
        self._subtask = subtask
        if not self._lockstep:
            recent_ns = self._runner.now_ns - 2 * self._period_ns
            self._schedule.drop_older(max(stamp_ns, recent_ns))

    def take_over(self, active: bool) -> list[ChunkResult]:
        """Note an operator's takeover (a policy's chunks are dropped and refused) or release.

        Returns:
            The chunk that was cut, if one ran.
        """
        self._admission.allow_sources(('teleop',) if active else SOURCES)
        self._drop()
        return [self._close()] if self._runner.in_chunk else []

    def emergency(self, why: str) -> list[ChunkResult]:
        """Stop at once and latch; return the chunk that was cut, if one ran."""
        self._watchdog.emergency(why)
        self._drop()
        self._runner.stand_still()
        return [self._close()] if self._runner.in_chunk else []

    def operator_reset(self) -> None:
        """End a latched stop; the body holds until the next good chunk."""
        self._watchdog.operator_reset()

    def _close(self) -> ChunkResult:
        result = self._runner.close_chunk()
        self._running_chunk = None
        if result.end is not None:
            number, reason = result.end.episode, result.end.end_reason
            self._drop()
            text = f'episode {number} has ended ({reason}): {RESET}'
            self._admission.close_episode(text)
            self._watchdog.hold(text)
        return result

    def _drop(self) -> None:
        self._schedule.drop()
