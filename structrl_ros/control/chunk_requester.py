"""When a policy is asked for its next chunk, and which answers are still wanted.

A request belongs to a generation: a reset, another subtask, a new plan revision, a takeover or a
stop of the node begins the next one, and an answer to a request of an earlier generation is
dropped, however long it took to compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from structrl_ros.control.continuation import Continuation
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import MessageError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Intervention
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import PolicySpec
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

#: What of the graph decides when the policy is asked, and for what.
News = Episode | Plan | SubtaskStatus | ChunkDone | Safety | Intervention


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """One question to the policy."""

    generation: int
    number: int
    observation: Observation
    subtask: Subtask
    instruction: str


class ChunkRequester:
    """Follows episode, plan, subtask and body; decides when the policy is asked.

    In real time the next chunk is asked for while the last one runs: `replan_steps` periods after
    the observation that the last one came from (of a policy that continues: when
    `chunk_length - replan_steps` rows are left). In lock-step it is asked for once for each chunk
    k, when the subtask after chunk k and the observation stamped t_k are there. The policy's chunk
    numbers go on from `chunk_done` and the latched `subtask`.
    """

    def __init__(self, spec: PolicySpec, *, lockstep: bool, replan_steps: int) -> None:
        """Start without an episode.

        Args:
            spec: Of the policy.
            lockstep: Whether the body waits for each chunk.
            replan_steps: Control periods between two observations that chunks come from, 1 to the
                length of a chunk; 0 takes half of it.

        Raises:
            ParameterError: If `replan_steps` is longer than a chunk.
        """
        self.store = ObservationStore(spec)
        self._spec = spec
        self._lockstep = lockstep
        self._period_s = 1.0 / spec.control_rate_hz
        period_ns = round(1e9 / spec.control_rate_hz)
        self._motion = Continuation(spec, period_ns=period_ns, replan_steps=1)
        self.replan(replan_steps)
        self._episode: Episode | None = None
        self._plan: Plan | None = None
        self._status: SubtaskStatus | None = None
        self._safety = SafetyState.OK
        self._taken_over = False
        self._paused = False
        self._generation = 0
        self._number = 0
        self._done_ns = 0
        self._asked_after = -1

    def replan(self, replan_steps: int) -> None:
        """Change `replan_steps` (see the constructor)."""
        length = self._spec.chunk_length
        if not 0 <= replan_steps <= length:
            raise ParameterError(f'replan_steps is {replan_steps}; allowed: 0 to {length}')
        self._motion.replan_steps = replan_steps or max(1, length // 2)

    @property
    def episode(self) -> Episode | None:
        """The episode that runs, None before the first and after an end."""
        return self._episode

    def see(self, news: News) -> None:
        """Hand to the right one of the methods below what the graph says."""
        match news:
            case Episode():
                self.see_episode(news)
            case Plan():
                self.see_plan(news)
            case SubtaskStatus():
                self.see_status(news)
            case ChunkDone():
                self.see_done(news)
            case Safety():
                self.see_safety(news)
            case Intervention():
                self.take_over(news.active)

    def see_episode(self, episode: Episode) -> bool:
        """Note start or end of an episode; return whether the policy must be reset for it."""
        self._next_generation()
        if episode.ended:
            self._episode = None
            return False
        self._episode = episode
        status = self._status
        self._number = status.chunk if status and status.episode == episode.episode else 0
        self._done_ns = episode.stamp_ns
        self._asked_after = -1
        self.store.clear(episode.episode, episode.stamp_ns)
        return True

    def see_plan(self, plan: Plan) -> None:
        """Keep the newest plan: it says what the subtask's id means."""
        self._plan = plan

    def see_status(self, status: SubtaskStatus) -> None:
        """Note what is to be pursued; another subtask or revision drops what is under way."""
        before = self._status
        self._status = status
        if self._is_mine(status.episode):
            self._number = max(self._number, status.chunk)
        is_same = before is not None and (before.current, before.revision, before.episode) == (
            status.current,
            status.revision,
            status.episode,
        )
        if not is_same:
            self._next_generation()

    def see_done(self, done: ChunkDone) -> None:
        """Note a chunk that the body ran."""
        if self._is_mine(done.episode):
            self._number = max(self._number, done.chunk)
            self._done_ns = done.stamp_ns
            self._motion.see_done(done)

    def see_safety(self, safety: Safety) -> None:
        """Note the body's state; a latched one begins a new generation."""
        if safety.state.is_latched and not self._safety.is_latched:
            self._next_generation()
        self._motion.see_safety(safety)
        self._safety = safety.state

    def take_over(self, active: bool) -> None:
        """Note an operator's takeover or release."""
        if active != self._taken_over:
            self._taken_over = active
            self._next_generation()

    def pause(self, paused: bool) -> None:
        """Stop (or go on) asking: the node is not active."""
        self._paused = paused
        self._next_generation()

    def ask_again(self) -> None:
        """Lock-step: the body still waits for the chunk that was sent; it must have refused it."""
        if self._safety is SafetyState.HOLD:
            self._asked_after = -1

    def ask(self, now_ns: int) -> ChunkRequest | str:
        """Return the request that is due, or '' / the reason why none can be made.

        A reason tells of something that should be there and is not; '' is the ordinary "not yet".
        """
        status, plan = self._status, self._plan
        if self._episode is None or status is None or not self._is_mine(status.episode):
            return ''
        if self._paused or self._taken_over or self._safety.is_latched or not status.current:
            return ''
        if self._lockstep and self._asked_after >= status.chunk:
            return ''
        if not self._lockstep and now_ns < self._motion.due_ns:
            return ''
        if plan is None or plan.revision != status.revision:
            return f'no plan of revision {status.revision} yet'
        found = [s for s in plan.subtasks if s.id == status.current]
        if not found:
            return f'subtask {status.current!r} is not in plan {plan.revision}'
        try:
            observation = self._observe(now_ns, status)
        except StaleDataError as error:
            return str(error)
        if not self._lockstep and observation.stamp_ns < self._motion.due_ns:
            return ''
        if self._spec.continues:
            committed = self._motion.committed(observation.stamp_ns)
            observation = replace(observation, committed=committed)
        return ChunkRequest(
            self._generation, self._number + 1, observation, found[0], plan.instruction
        )

    def answer(self, request: ChunkRequest, actions: Float32, now_ns: int) -> ActionChunk | None:
        """Return the chunk to publish, None if the answer came too late to matter.

        In real time the chunk has more rows than the policy gave where it continues what is on its
        way, or tells of a pause (`control/continuation.py`).

        Args:
            request: What the policy was asked.
            actions: What it said, shape (chunk_length, D).
            now_ns: Now, on the body's clock.

        Raises:
            MessageError: If the policy gave a wrong shape or a number that is not finite.
        """
        if request.generation != self._generation:
            return None
        shape = (self._spec.chunk_length, self._spec.action_dimension)
        if actions.shape != shape:
            raise MessageError(f'policy gave actions of shape {actions.shape}; allowed: {shape}')
        if not np.isfinite(actions).all():
            row = int(np.argwhere(~np.isfinite(actions))[0][0])
            raise MessageError(f'policy gave NaN or infinity in row {row}; not published')
        stamp_ns = request.observation.stamp_ns
        self._number = max(self._number + 1, request.number)
        if self._status is not None:
            self._asked_after = self._status.chunk
        rows = np.asarray(actions, dtype=np.float32)
        if not self._lockstep:
            committed = request.observation.committed
            before = rows[:0] if committed is None else committed
            rows = self._motion.follow(rows, before, stamp_ns, now_ns)
        chunk = ActionChunk(
            stamp_ns=stamp_ns,
            episode=request.observation.episode,
            chunk=self._number,
            source='expert' if self._spec.privileged else 'policy',
            action_space=self._spec.action_space,
            step_period=self._period_s,
            actions=rows,
        )
        if not self._lockstep:
            self._motion.sent(chunk, now_ns)
        return chunk

    def _observe(self, now_ns: int, status: SubtaskStatus) -> Observation:
        if self._lockstep:
            return self.store.assemble_at(max(status.stamp_ns, self._done_ns))
        return self.store.assemble(now_ns)

    def _is_mine(self, episode: int) -> bool:
        return self._episode is not None and self._episode.episode == episode

    def _next_generation(self) -> None:
        self._generation += 1
        self._motion.drop()
