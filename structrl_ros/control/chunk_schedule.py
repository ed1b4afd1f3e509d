"""From action chunks to setpoints: which row of which chunk moves the body now.

Row i of a chunk is meant for `stamp + i * step_period`. In real time a late chunk skips the rows
whose time has passed and a newer chunk replaces the running one with blending at the seam. In
lock-step (`whole=True`) a chunk is run whole from row 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.types import ActionChunk
from structrl_ros.types import Float32
from structrl_ros.types import Float64

#: Source whose rows are served as they are: a fade at every seam would lag behind the hand.
UNBLENDED = 'teleop'
#: The first tick of a chunk may come this share of a period before the row that it serves.
EARLY_SHARE = 0.1


class Blend(Enum):
    """Weight of the newer chunk over the seam: a straight line, or 3 x^2 - 2 x^3."""

    LINEAR = 'linear'
    SMOOTHSTEP = 'smoothstep'


@dataclass(frozen=True, slots=True)
class Setpoint:
    """One row of a chunk, due now; `action` has shape (D,), float32."""

    action: Float32
    chunk: int
    row: int
    stamp_ns: int
    source: str


def blend_weights(steps: int, blend: Blend = Blend.SMOOTHSTEP) -> Float64:
    """Return the weights of the newer chunk for the first `steps` rows, shape (steps,), in (0, 1).

    The weights rise and stay strictly between the old chunk (0) and the new one (1), so that each
    of the `steps` rows is a mixture.

    Raises:
        ParameterError: If `steps` is negative.
    """
    if steps < 0:
        raise ParameterError(f'blend_steps is {steps}; allowed: 0 or more')
    x = np.arange(1, steps + 1, dtype=np.float64) / (steps + 1)
    return x if blend is Blend.LINEAR else x * x * (3.0 - 2.0 * x)


class _Track:
    """Rows of one chunk, with the mixture at its seam already in them."""

    __slots__ = ('chunk', 'first_ns', 'last', 'period_ns', 'rows')

    def __init__(self, chunk: ActionChunk) -> None:
        self.chunk = chunk
        self.rows = np.array(chunk.actions, dtype=np.float32)
        self.period_ns = round(chunk.step_period * 1e9)
        self.last = -1
        self.first_ns = chunk.stamp_ns

    def index(self, now_ns: int) -> int:
        """Return the row whose time contains `now_ns`; may lie outside the chunk."""
        early = round(EARLY_SHARE * self.period_ns)
        return (now_ns + early - self.chunk.stamp_ns) // self.period_ns

    def due(self, now_ns: int) -> int:
        """Return the row to serve: that of the tick, counted from the first one that served.

        A clock that is corrected a little at each tick neither skips a row so nor repeats one.
        """
        if self.last < 0:
            return self.index(now_ns)
        return round((now_ns - self.first_ns) / self.period_ns)

    def serve(self, index: int, now_ns: int) -> Float32:
        """Return a row and note that it was served, shape (D,)."""
        if self.last < 0:
            self.first_ns = now_ns - index * self.period_ns
        self.last = index
        row: Float32 = self.rows[index]
        return row


class ChunkSchedule:
    """The running chunk and its successor; a row is served once, or never."""

    def __init__(
        self,
        *,
        whole: bool = False,
        blend_steps: int = 3,
        blend: Blend = Blend.SMOOTHSTEP,
        gripper: int | None = -1,
    ) -> None:
        """Make an empty schedule.

        Args:
            whole: Lock-step: run every chunk from row 0 to its end, whatever the time.
            blend_steps: Rows over which a newer chunk fades in, 0 or more; 0 jumps.
            blend: Shape of the fade.
            gripper: Dimension that is never blended (a half-closed gripper drops things), or None.

        Raises:
            ParameterError: If `blend_steps` is negative.
        """
        self._whole = whole
        self._weights = blend_weights(blend_steps, blend)
        self._gripper = gripper
        self._running: _Track | None = None
        self._pending: _Track | None = None

    def accept(self, chunk: ActionChunk) -> None:
        """Take an admitted chunk; it starts at the next tick. Zero rows mean: drop what runs."""
        if len(chunk.actions) == 0:
            self.drop()
            return
        if chunk.step_period <= 0.0:
            raise ParameterError(f'step_period is {chunk.step_period} s; allowed: above 0')
        self._pending = _Track(chunk)

    def next(self, now_ns: int) -> Setpoint | None:
        """Return the setpoint of the control period that begins at `now_ns`, or None.

        Args:
            now_ns: Due time of the tick on the body's clock (its place on the grid of the control
                loop, not the moment at which the thread woke up).

        Returns:
            The row that is due, never one that was served before; None when the chunk is
            exhausted or its next row is not due yet.
        """
        if self._pending is not None:
            self._promote(self._pending, now_ns)
        track = self._running
        if track is None:
            return None
        index = track.last + 1 if self._whole else track.due(now_ns)
        if index >= len(track.rows):
            self._running = None
            return None
        if index <= track.last or index < 0:
            return None
        chunk = track.chunk
        row = track.serve(index, now_ns)
        return Setpoint(row, chunk.chunk, index, chunk.stamp_ns, chunk.source)

    def rows_left(self, now_ns: int) -> int:
        """Return how many rows can still be served from `now_ns` on, 0 when there is nothing."""
        track = self._pending or self._running
        if track is None:
            return 0
        first = track.last + 1 if self._whole else max(track.last + 1, track.due(now_ns))
        return max(0, len(track.rows) - first)

    def drop(self) -> int:
        """Forget everything (reset, new subtask, takeover, hold); return the rows not served."""
        left = sum(len(t.rows) - 1 - t.last for t in (self._running, self._pending) if t)
        self._running = self._pending = None
        return left

    def drop_older(self, stamp_ns: int) -> int:
        """Forget chunks whose observation is older than `stamp_ns`; return the rows not served."""
        tracks = [t for t in (self._running, self._pending) if t and t.chunk.stamp_ns < stamp_ns]
        if self._running in tracks:
            self._running = None
        if self._pending in tracks:
            self._pending = None
        return sum(len(t.rows) - 1 - t.last for t in tracks)

    def _promote(self, new: _Track, now_ns: int) -> None:
        """Make the pending chunk the running one, mixing in what the old one had planned.

        Rows for times after the old one's end stay as they are: it planned nothing for them.
        """
        old, self._pending = self._running, None
        first = 0 if self._whole else max(0, new.index(now_ns))
        if first >= len(new.rows):
            return  # all of it has passed: what runs goes on
        self._running = new
        if (
            new.chunk.source == UNBLENDED
            or old is None
            or self._whole
            or old.rows.shape[1] != new.rows.shape[1]
        ):
            return
        if old.index(now_ns) >= len(old.rows):
            return
        rows = new.rows[first : first + len(self._weights)]
        times = new.chunk.stamp_ns + new.period_ns * np.arange(first, first + len(rows))
        planned = [max(0, i) for t in times if (i := old.index(int(t))) < len(old.rows)]
        rows = rows[: len(planned)]
        weight = self._weights[: len(rows), None]
        mixed = (1.0 - weight) * old.rows[planned] + weight * rows
        if self._gripper is not None:
            mixed[:, self._gripper] = rows[:, self._gripper]
        new.rows[first : first + len(rows)] = mixed
