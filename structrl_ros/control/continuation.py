"""How one chunk continues the last, in real time, where thinking takes time.

A body skips rows whose time has passed. Two things go wrong with that if nobody minds:

- A policy that plans from the observation alone does not know what the body does until the answer
  arrives; two plans then take turns, each made for a motion that the other one interrupts. A
  policy that `continues` is told what is on its way (`committed`), and its rows follow that.
- Where the body stood still for want of a chunk, skipped rows are missing in the motion. The chunk
  then says so, with rows that stand still: the motion is delayed, not cut (`pause_for_hold`).
"""

from __future__ import annotations

import numpy as np

from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Float32
from structrl_ros.types import PolicySpec
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState

#: Control periods without a row after which a body says that it holds (`control.watchdog`).
IDLE_PERIODS = 2


class Continuation:
    """Remembers the last chunk sent and whether the body still has rows of it."""

    def __init__(self, spec: PolicySpec, *, period_ns: int, replan_steps: int) -> None:
        """Start with nothing sent; see `ChunkRequester` for `replan_steps`, here 1 or more."""
        self._spec = spec
        self._period_ns = period_ns
        self.replan_steps = replan_steps
        self._last: ActionChunk | None = None
        self._sent_ns = 0
        self._state = SafetyState.OK
        self._state_ns = 0
        self._gripper: float | None = None
        self._is_dropped = False

    def drop(self) -> None:
        """Forget the last chunk: the body drops it too, and stands still until the next one."""
        self._is_dropped = self._is_dropped or self._last is not None
        self._last = None

    def see_safety(self, safety: Safety) -> None:
        """Note the body's state."""
        if safety.state is not self._state:
            self._state_ns = safety.stamp_ns
        self._state = safety.state

    def see_done(self, done: ChunkDone) -> None:
        """Note what the gripper was last told."""
        if done.executed_steps:
            self._gripper = float(done.executed[-1, -1])

    def sent(self, chunk: ActionChunk, now_ns: int) -> None:
        """Note a chunk that is published now."""
        self._last = chunk
        self._sent_ns = now_ns
        self._is_dropped = False

    @property
    def due_ns(self) -> int:
        """Time of the observation that the next chunk is to come from, 0 for at once.

        A policy that continues is asked when `chunk_length - replan_steps` rows are left.
        """
        last = self._running()
        if last is None:
            return 0
        if not self._spec.continues:
            return last.stamp_ns + self.replan_steps * self._period_ns
        lead = self._spec.chunk_length - self.replan_steps
        return last.stamp_ns + (len(last.actions) - lead) * self._period_ns

    def committed(self, stamp_ns: int) -> Float32:
        """Return the rows on their way from `stamp_ns` on, shape (M, D), M may be 0."""
        last = self._running()
        if last is None or not self._spec.continues:
            return np.zeros((0, self._spec.action_dimension), dtype=np.float32)
        return last.actions[max(0, (stamp_ns - last.stamp_ns) // self._period_ns) :]

    def follow(self, actions: Float32, committed: Float32, stamp_ns: int, now_ns: int) -> Float32:
        """Return the rows to send: the committed ones, the policy's, a pause where it holds."""
        rows = np.concatenate([committed, actions])
        still_ns = self._still_since()
        if still_ns is None and self._is_dropped:
            still_ns = stamp_ns
        if still_ns is None or self._spec.action_space != 'ee_delta_pose':
            return rows
        return pause_for_hold(rows, stamp_ns, still_ns, now_ns, self._period_ns, self._gripper)

    def _still_since(self) -> int | None:
        """Return the time from which the body stands or will stand still, None if unknown."""
        last = self._running()
        if last is not None:
            return last.stamp_ns + len(last.actions) * self._period_ns
        if self._state is SafetyState.HOLD:
            return self._state_ns - IDLE_PERIODS * self._period_ns
        return None

    def _running(self) -> ActionChunk | None:
        """Return the last chunk unless the body held after it was sent: done with, or refused."""
        if self._state is SafetyState.HOLD and self._state_ns > self._sent_ns:
            return None
        return self._last


def pause_for_hold(
    actions: Float32,
    stamp_ns: int,
    still_ns: int,
    now_ns: int,
    period_ns: int,
    gripper: float | None = None,
) -> Float32:
    """Return a chunk of `ee_delta_pose` with rows that stand still while the body stood still.

    Args:
        actions: Rows of the policy, shape (K, 7), row 0 for `stamp_ns`.
        stamp_ns: Time of the observation behind them.
        still_ns: Time from which the body has been standing still.
        now_ns: Now; the pause lasts until the control period after it.
        period_ns: Control period.
        gripper: Command of the gripper in the pause; None takes that of the row after it.

    Returns:
        Rows of shape (K + pause, 7): those before `still_ns`, the pause, the rest. A chunk whose
        rows all lie before `still_ns` comes back as it is.
    """
    begin = max(0, (still_ns - stamp_ns) // period_ns)
    end = (now_ns - stamp_ns) // period_ns + 1
    if begin >= len(actions) or end <= begin:
        return actions
    pause = np.zeros((end - begin, actions.shape[1]), dtype=np.float32)
    pause[:, -1] = actions[begin, -1] if gripper is None else gripper
    return np.concatenate([actions[:begin], pause, actions[begin:]])
