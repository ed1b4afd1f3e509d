"""The low-level steps of an episode as they were executed, one row a step, from a bag.

Step i of a chunk of n that ended at t began at t - (n - i) control periods. What a step saw is the
latest observation at or before its beginning; its action is the executed one, after all limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import BagError
from structrl_ros.learning.interventions import label_steps
from structrl_ros.recording.lerobot.signals import Signals
from structrl_ros.recording.lerobot.signals import Stamps
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.subtask_spans import subtask_spans
from structrl_ros.types import SOURCES
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Reward

#: In `actor`, if no chunk that was sent covers the step.
UNKNOWN_ACTOR = -1
#: In `stage`, while no subtask is pursued.
NO_STAGE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """T executed steps; times are nanoseconds of the body's clock.

    `state` is (T, S): joints, fingers (m), pose of the end effector (m, quaternion xyzw).
    `observed` is (T, 2 + cameras): stamps of joint_states, ee_pose and each camera's picture.
    `reward` is paid at the last step of a chunk. `actor` is an index of `SOURCES` or -1.
    """

    begin: Stamps
    state: Float32
    action: Float32
    observed: Stamps
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    success: NDArray[np.bool_]
    subtask: tuple[str, ...]
    subtask_id: tuple[str, ...]
    stage: NDArray[np.int64]
    intervention: NDArray[np.bool_]
    actor: NDArray[np.int64]
    chunk: NDArray[np.int64]

    def __len__(self) -> int:
        """Return T."""
        return len(self.begin)


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """An episode of a bag: how it began, its steps, and how it went.

    `pauses` are stretches in which the body stood still between chunks: they are no steps.
    """

    start: Episode
    steps: Steps
    plans: tuple[Plan, ...]
    success: bool
    end_reason: str
    pauses: int
    pause_s: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """How steps are made of a recording.

    `max_age_s` bounds how old an observation may be at the beginning of a step; `fill` takes it
    all the same, as a run in lock-step needs, which was observed once a chunk.
    """

    period_ns: int
    roles: tuple[str, ...]
    max_age_s: float = 0.2
    fill: bool = False


@dataclass(slots=True)
class _Timing:
    """Beginning, chunk row and chunk number of every step."""

    begin: list[int] = field(default_factory=list)
    rows: list[Float32] = field(default_factory=list)
    chunk: list[int] = field(default_factory=list)
    ends: list[tuple[int, ChunkDone]] = field(default_factory=list)
    pauses: int = 0
    pause_s: float = 0.0
    notes: list[str] = field(default_factory=list)


def episode_steps(events: RunEvents, signals: Signals, how: Extraction) -> RecordedEpisode | None:
    """Return the steps of one episode, None if it has none.

    Args:
        events: What belongs to the episode (`RunEvents.of_episode`).
        signals: Of the whole bag.
        how: Control period and limits.

    Raises:
        BagError: If an observation is missing or too old, the clock went back, or actions are of
            two dimensions.
    """
    episodes = events.of(Episode)
    start = next((e for e in episodes if not e.ended), episodes[0])
    timing = _timing(events.of(ChunkDone), start, how.period_ns)
    if not timing.rows:
        return None
    end = next((e for e in reversed(episodes) if e.ended), None)
    steps = _steps(timing, events, signals, how, start)
    return RecordedEpisode(
        start=start,
        steps=steps,
        plans=tuple(events.of(Plan)),
        success=bool(steps.success.any() or (end is not None and end.success)),
        end_reason=end.end_reason if end else '',
        pauses=timing.pauses,
        pause_s=timing.pause_s,
        notes=tuple(timing.notes),
    )


def _steps(
    timing: _Timing, events: RunEvents, signals: Signals, how: Extraction, start: Episode
) -> Steps:
    begin = np.array(timing.begin, dtype=np.int64)
    state, observed = _observe(begin, signals, how, start)
    subtask, ids, stage = _pursued(begin, events, start.stamp_ns)
    actor = _actors(begin, events.of(ActionChunk))
    by_hand = actor == SOURCES.index('teleop')
    return Steps(
        begin=begin,
        state=state,
        action=np.array(timing.rows, dtype=np.float32),
        observed=observed,
        subtask=subtask,
        subtask_id=ids,
        stage=stage,
        intervention=label_steps(begin, events.of(Intervention)) | by_hand,
        actor=actor,
        chunk=np.array(timing.chunk, dtype=np.int64),
        reward=_rewards(timing, events.of(Reward)),
        terminated=_flags(timing, 'terminated'),
        truncated=_flags(timing, 'truncated'),
        success=_flags(timing, 'success'),
    )


def _timing(dones: Sequence[ChunkDone], start: Episode, period_ns: int) -> _Timing:
    timing, before = _Timing(), start.stamp_ns
    for done in dones:
        if done.stamp_ns < before + (done.executed_steps > 0):
            raise BagError(
                f'episode {start.episode}: chunk {done.chunk} ended at '
                f'{done.stamp_ns / 1e9:.3f} s, not after {before / 1e9:.3f} s: '
                'the clock went back, or two runs are in one bag'
            )
        count = done.executed_steps
        if not count:
            where = 'on the step before' if timing.rows else 'lost'
            timing.notes.append(f'chunk {done.chunk} has no step: what it brought is {where}')
        for row in done.executed:
            if timing.rows and row.shape != timing.rows[0].shape:
                raise BagError(
                    f'episode {start.episode}: chunk {done.chunk} has actions of {len(row)} '
                    f'values, chunks before of {len(timing.rows[0])}; allowed: one dimension'
                )
            timing.rows.append(row)
        first = max(done.stamp_ns - count * period_ns, before)
        if count:
            times = np.linspace(first, done.stamp_ns, count, endpoint=False)
            timing.begin += times.round().astype(np.int64).tolist()
            timing.chunk += [done.chunk] * count
            if timing.ends and first - before > period_ns // 2:
                timing.pauses += 1
                timing.pause_s += (first - before) / 1e9
        if timing.rows:
            timing.ends.append((len(timing.rows) - 1, done))
        before = done.stamp_ns
    return timing


def _observe(
    begin: Stamps, signals: Signals, how: Extraction, start: Episode
) -> tuple[Float32, Stamps]:
    """Return state (T, S) and stamps (T, 2 + cameras) of what each step saw."""
    stamps = []
    cameras = [(f'pictures of {r}', signals.cameras[r].stamps) for r in how.roles]
    tracks = [(t.topic, t.stamps) for t in (signals.joints, signals.pose)]
    for name, known in [*tracks, *cameras]:
        place = np.searchsorted(known, begin, side='right') - 1
        if (place < 0).any():
            at = (begin[place < 0][0]) / 1e9
            raise BagError(f'episode {start.episode} has no {name} before its step at {at:.3f} s')
        age = begin - known[place]
        worst = int(age.argmax())
        if age[worst] > how.max_age_s * 1e9 and not how.fill:
            raise BagError(
                f'episode {start.episode}: {name} is {age[worst] / 1e9:.3f} s old at the step at '
                f'{begin[worst] / 1e9:.3f} s; allowed: {how.max_age_s:g} s (a run in lock-step is '
                'observed once a chunk: --stale fill takes the latest all the same)'
            )
        stamps.append(known[place])
    joints = signals.joints.values[np.searchsorted(signals.joints.stamps, stamps[0])]
    pose = signals.pose.values[np.searchsorted(signals.pose.stamps, stamps[1])]
    state = np.concatenate([joints, pose], axis=1).astype(np.float32)
    if not np.isfinite(state).all():
        at = begin[~np.isfinite(state).all(axis=1)][0] / 1e9
        raise BagError(f'episode {start.episode}: the state at {at:.3f} s is not finite')
    return state, np.stack(stamps, axis=1)


def _pursued(
    begin: Stamps, events: RunEvents, start_ns: int
) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.int64]]:
    """Return phrase, id and stage of the subtask of each step; '' and -1 where there is none."""
    stages = {(p.revision, s.id): s.stage for p in events.of(Plan) for s in p.subtasks}
    phrases, ids = [''] * len(begin), [''] * len(begin)
    stage = np.full(len(begin), NO_STAGE, dtype=np.int64)
    seconds = (begin - start_ns) / 1e9
    for span in subtask_spans(events, start_ns):
        inside = (seconds >= span.start_s) & (seconds < span.end_s)
        stage[inside] = stages.get((span.revision, span.id), NO_STAGE)
        for i in np.flatnonzero(inside):
            phrases[i], ids[i] = span.phrase, span.id
    return tuple(phrases), tuple(ids), stage


def _actors(begin: Stamps, chunks: Sequence[ActionChunk]) -> NDArray[np.int64]:
    """Return whose chunk covers each step: the newest one that reaches it."""
    actors = np.full(len(begin), UNKNOWN_ACTOR, dtype=np.int64)
    for chunk in sorted(chunks, key=lambda c: c.stamp_ns):
        length_ns = round(len(chunk.actions) * chunk.step_period * 1e9)
        inside = (begin >= chunk.stamp_ns) & (begin < chunk.stamp_ns + length_ns)
        known = chunk.source in SOURCES
        actors[inside] = SOURCES.index(chunk.source) if known else UNKNOWN_ACTOR
    return actors


def _rewards(timing: _Timing, rewards: Sequence[Reward]) -> NDArray[np.float64]:
    paid: Mapping[int, float] = {r.chunk: r.value for r in rewards}
    found = np.zeros(len(timing.rows))
    for row, done in timing.ends:
        found[row] += paid.get(done.chunk, 0.0)
    return found


def _flags(timing: _Timing, name: str) -> NDArray[np.bool_]:
    found = np.zeros(len(timing.rows), dtype=bool)
    for row, done in timing.ends:
        found[row] |= getattr(done, name)
    return found
