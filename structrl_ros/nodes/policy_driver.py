"""Drives a policy: what the graph says goes in, chunks come out; the policy thinks in a thread.

Executor and worker both come in here, so everything is behind one lock. Nothing of ROS but the
names of things: policy_node decodes and encodes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from structrl_ros.control.chunk_requester import ChunkRequest
from structrl_ros.control.chunk_requester import ChunkRequester
from structrl_ros.control.chunk_requester import News
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import StructRLError
from structrl_ros.nodes.inference_worker import InferenceWorker
from structrl_ros.ports import Clock
from structrl_ros.ports import Policy
from structrl_ros.recording.policy_entry import policy_values
from structrl_ros.types import ActionChunk
from structrl_ros.types import Episode
from structrl_ros.types import PolicySpec

#: Wall seconds after which a policy that failed, or a body that refused, is tried again.
RETRY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPorts:
    """What the driver needs of its node.

    Attributes:
        make_policy: Makes the policy for a body (`Episode.body`).
        on_policy: Told of a new policy, to subscribe to what it looks at.
        publish: Sends a chunk; called from the worker's thread.
        complain: Logs one line of an error.
        clock: The body's clock.
    """

    make_policy: Callable[[str], Policy]
    on_policy: Callable[[PolicySpec, ObservationStore], None]
    publish: Callable[[ActionChunk], None]
    complain: Callable[[str], None]
    clock: Clock


class PolicyDriver:
    """One policy at a time, made when the first episode names its body."""

    def __init__(self, ports: DriverPorts, *, lockstep: bool, replan_steps: int) -> None:
        """Start the thread, without a policy; see `ChunkRequester` for the arguments."""
        self.lock = threading.RLock()
        self._ports = ports
        self._lockstep = lockstep
        self._replan_steps = replan_steps
        self._worker = InferenceWorker()
        self._policy: Policy | None = None
        self._requester: ChunkRequester | None = None
        self._news: dict[type[News], News] = {}
        self._body = ''
        self._ready_episode = 0
        self._is_active = False
        self._not_before_s = self._sent_s = 0.0
        self._waiting_for = ''
        self._latency_s = self._age_s = 0.0
        self._thinks_since_s: float | None = None
        self._asked = self._failed = self._dropped = 0

    def see(self, news: News) -> None:
        """Hand to the requester what the graph says, now or as soon as there is one."""
        with self.lock:
            if not isinstance(news, Episode):
                self._news[type(news)] = news
            elif not news.ended and news.body != self._body:
                self._make(news.body)
            if self._requester is not None:
                self._requester.see(news)
        self.consider()

    def activate(self, active: bool) -> None:
        """Begin or stop asking; what the policy thinks of while it is stopped is dropped."""
        with self.lock:
            self._is_active = active
            if self._requester is not None:
                self._requester.pause(not active)

    def replan(self, replan_steps: int) -> None:
        """Change `replan_steps` while the policy runs; longer than a chunk counts as a chunk."""
        with self.lock:
            self._replan_steps = replan_steps
            if self._requester is not None and self._policy is not None:
                self._requester.replan(min(replan_steps, self._policy.spec.chunk_length))

    def tick(self) -> None:
        """Look again, some times a second: retry a failed policy, ask anew what was refused."""
        with self.lock:
            is_overdue = time.monotonic() - self._sent_s > RETRY_S
            if self._requester is not None and is_overdue:
                self._requester.ask_again()
        self.consider()

    def consider(self) -> None:
        """Give the worker what is due: a reset of the policy, or the next chunk."""
        with self.lock:
            requester, policy = self._requester, self._policy
            if requester is None or policy is None or not self._is_active or self._worker.is_busy:
                return
            episode = requester.episode
            if episode is None or time.monotonic() < self._not_before_s:
                return
            if episode.episode != self._ready_episode:
                self._worker.submit(lambda: self._reset(policy, episode), self.consider)
                return
            request = requester.ask(self._ports.clock.now_ns())
            if isinstance(request, ChunkRequest):
                self._waiting_for = ''
                self._worker.submit(lambda: self._think(policy, request), self.consider)
            else:
                self._waiting_for = request

    def health(self) -> tuple[str, dict[str, object]]:
        """Return what is waited for ('' is well) and numbers for `/diagnostics`."""
        with self.lock:
            numbers: dict[str, object] = {
                'latency_s': f'{self._latency_s:.3f}',
                'age_s': f'{self._age_s:.3f}',
                'asked': self._asked,
                'failed': self._failed,
                'dropped': self._dropped,
            }
            if self._policy is not None:
                numbers.update(policy_values(self._policy.spec))
            return self._waiting_for, numbers

    def slowness(self) -> str:
        """Return in words that the policy thinks for longer than its chunk lasts, '' if not.

        In lock-step the body waits, and nothing is too slow.
        """
        with self.lock:
            requester = self._requester
            is_asked = requester is not None and requester.episode is not None
            if self._policy is None or self._lockstep or not is_asked:
                return ''
            spec, since_s = self._policy.spec, self._thinks_since_s
            lasts_s = spec.chunk_length / spec.control_rate_hz
            thinks_s = 0.0 if since_s is None else time.monotonic() - since_s
            if max(thinks_s, self._latency_s) <= lasts_s:
                return ''
            long = (
                f'{thinks_s:.2f} s already' if thinks_s > lasts_s else f'{self._latency_s:.2f} s'
            )
            return f'policy thinks for {long}, its chunk lasts {lasts_s:.2f} s: the body holds'

    def free(self) -> None:
        """Free the policy; the next episode makes a new one."""
        with self.lock:
            policy, self._policy, self._requester = self._policy, None, None
            self._body, self._ready_episode = '', 0
        if policy is not None:
            self._worker.submit(policy.close, lambda: None)

    def close(self) -> None:
        """Free the policy and end the thread."""
        self.activate(False)
        self.free()
        self._worker.stop()

    def _make(self, body: str) -> None:
        self.free()
        try:
            policy = self._ports.make_policy(body)
            requester = ChunkRequester(
                policy.spec,
                lockstep=self._lockstep,
                replan_steps=min(self._replan_steps, policy.spec.chunk_length),
            )
        except Exception as error:  # no memory on the device, say: the node goes on, and says so
            text = str(error) if isinstance(error, StructRLError) else repr(error)
            self._ports.complain(' '.join(text.splitlines()))
            return
        self._policy, self._requester, self._body = policy, requester, body
        requester.pause(not self._is_active)
        for news in self._news.values():
            requester.see(news)
        self._ports.on_policy(policy.spec, requester.store)

    def _reset(self, policy: Policy, episode: Episode) -> None:
        """Runs in the worker: ready the policy for an episode."""
        if self._attempt(lambda: policy.reset(episode), f'reset for episode {episode.episode}'):
            with self.lock:
                self._ready_episode = episode.episode

    def _think(self, policy: Policy, request: ChunkRequest) -> None:
        """Runs in the worker: ask the policy, publish its answer if it is still wanted."""
        self._thinks_since_s = began = time.monotonic()
        self._attempt(lambda: self._ask(policy, request), f'chunk {request.number}')
        with self.lock:
            self._thinks_since_s = None
            self._latency_s = time.monotonic() - began
            self._asked += 1

    def _ask(self, policy: Policy, request: ChunkRequest) -> None:
        actions = policy.act(request.observation, request.subtask, request.instruction)
        now_ns = self._ports.clock.now_ns()
        with self.lock:
            requester = self._requester
            chunk = None if requester is None else requester.answer(request, actions, now_ns)
            if chunk is None:
                self._dropped += 1
                return
            self._age_s = (now_ns - chunk.stamp_ns) / 1e9
            self._ports.publish(chunk)
            self._sent_s = time.monotonic()

    def _attempt(self, action: Callable[[], None], what: str) -> bool:
        """Run something of the policy; on failure say so in one line and wait a while."""
        try:
            action()
        except Exception as error:  # whatever a policy raises: the body holds, the node goes on
            text = str(error) if isinstance(error, StructRLError) else repr(error)
            self._ports.complain(f'{what}: {text}; no chunk, the body holds')
            with self.lock:
                self._failed += 1
                self._not_before_s = time.monotonic() + RETRY_S
            return False
        return True
