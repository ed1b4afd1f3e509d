"""Admission of chunks: one clear reason for every chunk that must not move the body."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

import numpy as np

from structrl_ros.types import SOURCES
from structrl_ros.types import ActionChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """What a body takes.

    Attributes:
        action_space: The only action space that the body understands.
        action_dimension: D, the length of a row.
        step_period_s: The body's control period in seconds; a chunk must be made for it.
        max_age_s: Oldest observation that a chunk may come from, seconds.
        future_tolerance_s: How far a stamp may lie ahead of the body's clock, seconds.
        max_rows: Longest chunk, rows.
        sources: Who may send.
        allow_empty: A chunk without rows means 'drop what runs' (real time only).
        duplicate_limit: So many repeated numbers within `duplicate_window_s` mean two publishers.
        duplicate_window_s: Length of that window, seconds.
    """

    action_space: str
    action_dimension: int
    step_period_s: float
    max_age_s: float = 1.0
    future_tolerance_s: float = 0.05
    max_rows: int = 1000
    sources: tuple[str, ...] = SOURCES
    allow_empty: bool = True
    duplicate_limit: int = 3
    duplicate_window_s: float = 2.0


class ChunkAdmission:
    """Accepts or rejects chunks of the running episode; keeps the last chunk number."""

    def __init__(self, rules: AdmissionRules) -> None:
        """Start closed: no episode, so nothing is admitted."""
        self._rules = rules
        self._episode: int | None = None
        self._closed = 'no episode yet: call reset_episode'
        self._last_chunk = 0
        self._last_stamp_ns: int | None = None
        self._repeats: deque[int] = deque()

    def open_episode(self, episode: int) -> None:
        """Begin an episode: numbers may start again, chunks of others are refused."""
        self._episode = episode
        self._closed = ''
        self._last_chunk = 0
        self._last_stamp_ns = None
        self._repeats.clear()

    def allow_sources(self, sources: tuple[str, ...]) -> None:
        """Change who may send: an operator's takeover leaves 'teleop' alone."""
        self._rules = replace(self._rules, sources=sources)

    def close_episode(self, why: str) -> None:
        """Refuse everything until the next episode, e.g. 'episode 3 has ended (success)'."""
        self._closed = why

    def reject(
        self,
        chunk: ActionChunk,
        now_ns: int,
        *,
        is_idle: bool = False,
        publishers: Callable[[], Sequence[str]] = tuple,
    ) -> str:
        """Return why the chunk must not run, or '' and take it.

        Args:
            chunk: What came over the wire.
            now_ns: Now, on the body's clock.
            is_idle: The body holds since its last chunk ran out (real time). A number that does
                not rise is then a restarted policy, if its observation is newer than that of the
                last chunk; while a chunk runs it is a second publisher.
            publishers: Gives the names of the nodes that publish chunks now, for the reason.
        """
        reason = (
            self._wrong_shape(chunk)
            or self._wrong_episode(chunk)
            or self._wrong_time(chunk, now_ns)
            or self._wrong_number(chunk, now_ns, is_idle, publishers)
        )
        if not reason:
            self._last_chunk = chunk.chunk
            self._last_stamp_ns = chunk.stamp_ns
        return reason

    def _wrong_shape(self, chunk: ActionChunk) -> str:
        rules = self._rules
        if chunk.source not in rules.sources:
            allowed = ', '.join(rules.sources)
            return f'source {chunk.source!r} is not allowed; allowed: {allowed}'
        if chunk.action_space != rules.action_space:
            return f'action space {chunk.action_space!r}; this body takes {rules.action_space!r}'
        actions = chunk.actions
        if actions.ndim != 2 or actions.shape[1] != rules.action_dimension:
            return f'actions of shape {actions.shape}; allowed: (K, {rules.action_dimension})'
        if len(actions) == 0 and not rules.allow_empty:
            return 'chunk without rows; allowed in lock-step: 1 or more'
        if len(actions) > rules.max_rows:
            return f'chunk of {len(actions)} rows; allowed: at most {rules.max_rows}'
        if not np.all(np.isfinite(actions)):
            row, column = np.argwhere(~np.isfinite(actions))[0]
            return f'{actions[row, column]} in row {row}, dimension {column}; only finite numbers'
        period = chunk.step_period
        if not math.isclose(period, rules.step_period_s, rel_tol=1e-6):
            return f'step period {period:g} s; this body steps every {rules.step_period_s:g} s'
        return ''

    def _wrong_episode(self, chunk: ActionChunk) -> str:
        if self._closed:
            return self._closed
        if chunk.episode != self._episode:
            return f'chunk of episode {chunk.episode}; running: {self._episode}'
        return ''

    def _wrong_time(self, chunk: ActionChunk, now_ns: int) -> str:
        age_s = (now_ns - chunk.stamp_ns) / 1e9
        rules = self._rules
        if age_s < -rules.future_tolerance_s:
            return f'stamp {-age_s:.3g} s in the future, tolerance {rules.future_tolerance_s:g} s'
        if age_s > rules.max_age_s:
            return f'chunk {age_s:.2f} s old, limit {rules.max_age_s:.2f} s'
        return ''

    def _wrong_number(
        self,
        chunk: ActionChunk,
        now_ns: int,
        is_idle: bool,
        publishers: Callable[[], Sequence[str]],
    ) -> str:
        if chunk.chunk > self._last_chunk:
            return ''
        rules = self._rules
        last_ns = self._last_stamp_ns
        if is_idle and chunk.chunk >= 1 and (last_ns is None or chunk.stamp_ns > last_ns):
            return ''
        self._repeats.append(now_ns)
        while now_ns - self._repeats[0] > rules.duplicate_window_s * 1e9:
            self._repeats.popleft()
        number = f'chunk number {chunk.chunk} does not rise (last {self._last_chunk})'
        if len(self._repeats) < rules.duplicate_limit:
            return f'{number}: repeated, or a second publisher'
        known = ', '.join(publishers()) or 'unknown names'
        count = len(self._repeats)
        return (
            f'{number}, {count} times in {rules.duplicate_window_s:g} s: two publishers ({known})'
        )
