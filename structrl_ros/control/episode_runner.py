"""The episode of a simulated body: counts chunks and steps, ORs truth, ends it.

The same object runs behind sim_node and in a trainer's process, so a rollout through topics and
one in the process are the same code. Stamps are those of the body's clock: it starts at 1 s,
advances by a control period a low-level step and by one at a reset, and never goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.arm_clock import ArmClock
from structrl_ros.control.episode_results import ChunkResult
from structrl_ros.control.episode_results import ResetResult
from structrl_ros.control.limits import Limits
from structrl_ros.errors import SimulationError
from structrl_ros.ports import Body
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Observation
from structrl_ros.types import Predicates
from structrl_ros.types import SimulatorState
from structrl_ros.types import TaskInfo

#: The body's clock at the start, nanoseconds: stamp 0 means "no time" in ROS.
START_NS = 1_000_000_000


class EpisodeRunner:
    """Steps a body, one episode at a time.

    An episode is terminated at the first step with success and truncated at its horizon, which
    counts the steps that chunks moved. Steps of holding (real time only) advance the world and
    the clock; what becomes true in them counts for the next chunk, and a success in them ends the
    episode with a chunk of zero steps. A reset in the middle of a chunk closes the part that ran
    as a truncated chunk, so that no executed action is missing in the ledger.
    """

    def __init__(
        self,
        body: Body,
        *,
        limiter: ActionLimiter | None = None,
        clock: ArmClock | None = None,
        place: Callable[[], Float64] | None = None,
    ) -> None:
        """Take a body without a scene; `limiter` stands between every action and the body.

        A simulated body makes its own time; a real one follows `clock`. `place` gives where the
        gripper is commanded to be, which an arm follows late; else the measured place counts at
        the walls of the workspace.
        """
        self._body = body
        self._limiter = limiter
        self._period_ns = round(1e9 / body.spec.control_rate_hz)
        self._clock = clock
        self._place = place
        self._now_ns = START_NS if clock is None else clock.now_ns()
        self._episode: Episode | None = None
        self._info: TaskInfo | None = None
        self._executed: list[Float32] = []
        self._truth: list[bool] = []
        self._success = False
        self._ended = True
        self._chunk = self._step = 0

    @property
    def now_ns(self) -> int:
        """The body's clock, as of its last tick."""
        return self._now_ns

    @property
    def between_ns(self) -> int:
        """The time now, between two ticks: stamps of others are compared with it."""
        return self._now_ns if self._clock is None else max(self._now_ns, self._clock.now_ns())

    @property
    def episode(self) -> Episode | None:
        """Start of the present episode, None before the first reset."""
        return self._episode

    @property
    def info(self) -> TaskInfo:
        """The task of the present episode."""
        if self._info is None:
            raise SimulationError('no episode; allowed: reset(task, seed, initial_state) first')
        return self._info

    @property
    def is_running(self) -> bool:
        """Whether an episode has begun and not ended."""
        return self._episode is not None and not self._ended

    @property
    def is_over(self) -> bool:
        """Whether the last step reached success or the horizon, so the chunk must be closed."""
        return self._success or (self._info is not None and self._is_at_horizon)

    @property
    def in_chunk(self) -> bool:
        """Whether steps of a chunk were made that is not closed yet."""
        return bool(self._executed)

    @property
    def chunk(self) -> int:
        """Number of the last closed chunk, 0 after a reset."""
        return self._chunk

    def reset(self, task: str, seed: int, initial_state: int) -> ResetResult:
        """Begin an episode.

        Raises:
            SimulationError: If the task or initial state is unknown; the present episode goes on.
        """
        info = self._body.reset(task, seed, initial_state)
        open_chunk, end_before = None, None
        if self.is_running:
            open_chunk = self.close_chunk(is_aborted=True) if self.in_chunk else None
            end_before = self._end('reset')
        number = 1 if self._episode is None else self._episode.episode + 1
        if self._episode is not None:
            self._tick()
        self._info = info
        self._clear()
        self._chunk = self._step = 0
        self._ended = False
        if self._limiter is not None:
            self._limiter.reset(float(self._body.hold_action()[-1]))
        self._episode = Episode(
            stamp_ns=self._now_ns,
            episode=number,
            ended=False,
            body=self._body.spec.name,
            task=info.task,
            instruction=info.instruction,
            seed=seed,
            initial_state=initial_state,
            objects=info.objects,
        )
        return ResetResult(self._episode, self._predicates(), open_chunk, end_before)

    def step(self, action: Float32) -> None:
        """Move the body by one row of a chunk, shape (D,); look at `is_over` afterwards.

        Raises:
            SimulationError: If no episode runs, or the chunk must be closed first.
        """
        if not self.is_running or self.is_over:
            raise SimulationError('no episode runs; allowed: reset(task, seed, initial_state)')
        self._executed.append(self._advance(action))
        self._step += 1

    def hold(self) -> None:
        """Let one control period pass with the arm standing still."""
        self._advance(self._body.hold_action(), is_idle=True)

    def stand_still(self) -> None:
        """Forget the motion at once, without braking (emergency stop)."""
        if self._limiter is not None:
            self._limiter.reset(float(self._body.hold_action()[-1]))

    def close_chunk(self, *, is_aborted: bool = False) -> ChunkResult:
        """End the chunk and return what it did, stamped now.

        Args:
            is_aborted: The episode ends here for another reason than success or horizon; the chunk
                is truncated.
        """
        assert self._episode is not None
        self._chunk += 1
        terminated = self._success
        truncated = not terminated and (self._is_at_horizon or is_aborted)
        rows = np.array(self._executed, dtype=np.float32)
        done = ChunkDone(
            stamp_ns=self._now_ns,
            episode=self._episode.episode,
            chunk=self._chunk,
            executed_steps=len(rows),
            terminated=terminated,
            truncated=truncated,
            success=self._success,
            executed=rows.reshape(len(rows), self._body.spec.action_dimension),
        )
        predicates = self._predicates()
        end = None
        if not is_aborted and (terminated or truncated):
            end = self._end('success' if terminated else 'horizon')
        self._clear()
        return ChunkResult(predicates, done, end)

    def run_chunk(self, actions: Float32) -> ChunkResult:
        """Run a chunk of shape (K, D) whole, or until the episode is over (lock-step)."""
        for action in actions:
            self.step(action)
            if self.is_over:
                break
        return self.close_chunk()

    def fail(self, why: str) -> Episode | None:
        """End the episode because the world broke; None if none ran."""
        return self._end(why) if self.is_running else None

    def simulator_state(self) -> SimulatorState:
        """Return the privileged state of the world, now."""
        episode = self._episode
        assert episode is not None
        return SimulatorState(
            stamp_ns=self._now_ns,
            episode=episode.episode,
            chunk=self._chunk,
            step=self._step,
            task=episode.task,
            seed=episode.seed,
            initial_state=episode.initial_state,
            state=self._body.simulator_state(),
        )

    def observe(self, roles: tuple[str, ...] = (), *, privileged: bool = False) -> Observation:
        """Return what a policy in this process sees now, with pictures of the roles asked for."""
        assert self._episode is not None
        return Observation(
            stamp_ns=self._now_ns,
            episode=self._episode.episode,
            proprioception=self._body.proprioception(self._now_ns),
            images={role: self._body.render(role) for role in roles},
            image_stamps_ns=dict.fromkeys(roles, self._now_ns),
            simulator=self.simulator_state() if privileged else None,
        )

    @property
    def _is_at_horizon(self) -> bool:
        return self._step >= self.info.horizon_steps

    def _advance(self, action: Float32, *, is_idle: bool = False) -> Float32:
        limiter = self._limiter
        if limiter is not None:
            place = self._gripper_place() if limiter.limits.has_box else None
            action = limiter.limit(action, place)
        outcome = self._body.step(action)
        self._tick(is_idle=is_idle)
        if not self._ended:
            self._truth = [a or b for a, b in zip(self._truth, outcome.values, strict=True)]
            self._success = self._success or outcome.success
        return action

    def _gripper_place(self) -> Float64:
        if self._place is not None:
            return self._place()
        return self._body.proprioception(self._now_ns).ee_pose[:3]

    def _tick(self, *, is_idle: bool = False) -> None:
        before_ns, clock = self._now_ns, self._clock
        self._now_ns = (
            before_ns + self._period_ns
            if clock is None
            else clock.next_ns(before_ns, is_idle=is_idle)
        )

    def _clear(self) -> None:
        self._executed = []
        self._truth = [False] * len(self.info.predicate_names)
        self._success = False

    def _end(self, reason: str) -> Episode:
        assert self._episode is not None
        self._ended = True
        return replace(
            self._episode,
            stamp_ns=self._now_ns,
            ended=True,
            success=reason == 'success',
            end_reason=reason,
        )

    def _predicates(self) -> Predicates:
        assert self._episode is not None
        return Predicates(
            stamp_ns=self._now_ns,
            episode=self._episode.episode,
            chunk=self._chunk,
            step=self._step,
            names=self.info.predicate_names,
            values=tuple(self._truth),
            success=self._success,
        )


def simulated_episode(body: Body) -> EpisodeRunner:
    """Return the runner of a simulated body, with the limits that every simulation has."""
    limiter = ActionLimiter(Limits(), period_s=1.0 / body.spec.control_rate_hz)
    return EpisodeRunner(body, limiter=limiter)
