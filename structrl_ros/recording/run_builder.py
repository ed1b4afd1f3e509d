"""From the messages of a bag to a `RunRecord`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from datetime import datetime
from statistics import median

from structrl_ros.recording.body_health import body_entry
from structrl_ros.recording.control_spans import control_spans
from structrl_ros.recording.control_spans import takeovers
from structrl_ros.recording.faults import fault_entries
from structrl_ros.recording.monitor_entry import monitor_entry
from structrl_ros.recording.motion_entry import motion_entry
from structrl_ros.recording.policy_entry import policy_entry
from structrl_ros.recording.progress_entries import done_entries
from structrl_ros.recording.progress_entries import progress_entries
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import ChunkEntry
from structrl_ros.recording.run_record import EpisodeEntry
from structrl_ros.recording.run_record import ExecutedEntry
from structrl_ros.recording.run_record import LedgerCheck
from structrl_ros.recording.run_record import Outcome
from structrl_ros.recording.run_record import PlanEntry
from structrl_ros.recording.run_record import RewardEntry
from structrl_ros.recording.run_record import RunRecord
from structrl_ros.recording.run_record import SafetySpan
from structrl_ros.recording.run_record import VerdictEntry
from structrl_ros.recording.subtask_spans import subtask_spans
from structrl_ros.recording.versions import package_versions
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import Verdict


def build_record(
    events: RunEvents, *, run: str, ledger: LedgerCheck, told: Outcome | None = None
) -> RunRecord:
    """Return the record of the recording's main episode.

    Args:
        events: Everything that was recorded.
        run: Name of the run.
        ledger: Result of `ledger.check_ledger`.
        told: How the task ended, where somebody knows it better than the bag (its action result).

    Raises:
        BagError: If the recording holds no episode.
    """
    number = events.main_episode()
    mine = events.of_episode(number)
    start_ns = mine.of(Episode)[0].stamp_ns
    end_ns = max(a.value.stamp_ns for a in mine.arrivals)
    end_s = _seconds(end_ns, start_ns)
    rewards = mine.of(Reward)
    others = [n for n in events.episode_numbers() if n != number]
    record = RunRecord(
        run=run,
        recorded_at=datetime.fromtimestamp(events.first_ns / 1e9, UTC).isoformat('T', 'seconds'),
        wall_s=(events.last_ns - events.first_ns) / 1e9,
        duration_s=end_s,
        outcome=told or _outcome(mine.of(Episode)),
        episode=_episode(mine.of(Episode)),
        other_episodes=tuple(_episode(events.of_episode(n).of(Episode)) for n in others),
        plans=tuple(_plan(p, start_ns) for p in mine.of(Plan)),
        subtasks=subtask_spans(mine, start_ns),
        verdicts=tuple(_verdict(v, start_ns) for v in mine.of(Verdict)),
        chunks=_chunks(mine, start_ns),
        executed=_executed(mine, start_ns),
        safety=_safety(events, mine, start_ns, end_ns),
        rewards=tuple(_reward(r, start_ns) for r in rewards),
        episode_return=rewards[-1].episode_return if rewards else 0.0,
        sum_of_terms=_sum_of_terms(rewards),
        ledger=ledger,
        monitor=monitor_entry(mine),
        policy=policy_entry(mine),
        body=body_entry(events, mine),
        faults=fault_entries(mine, start_ns),
        topics=events.counts,
        bag_is_cut=events.is_cut,
        versions=package_versions(),
    )
    return _with_curves(record, mine, start_ns)


def _with_curves(record: RunRecord, mine: RunEvents, start_ns: int) -> RunRecord:
    """Return the record with what runs along its time."""
    interventions = takeovers(mine, start_ns, record.duration_s)
    return replace(
        record,
        control=control_spans(record.executed, record.chunks, interventions),
        takeovers=interventions,
        done=done_entries(mine, start_ns),
        progress=progress_entries(mine, start_ns),
        motion=motion_entry(mine, start_ns),
    )


def _seconds(stamp_ns: int, start_ns: int) -> float:
    return (stamp_ns - start_ns) / 1e9


def _outcome(episodes: Sequence[Episode]) -> Outcome:
    last = episodes[-1]
    if not last.ended:
        return Outcome(None, 'the recording ended before the episode did', 'nobody')
    return Outcome(last.success, last.end_reason, 'episode')


def _episode(episodes: Sequence[Episode]) -> EpisodeEntry:
    last = episodes[-1]
    return EpisodeEntry(
        episode=last.episode,
        body=last.body,
        task=last.task,
        instruction=last.instruction,
        seed=last.seed,
        initial_state=last.initial_state,
        objects=last.objects or episodes[0].objects,
        ended=last.ended,
        success=last.success,
        end_reason=last.end_reason,
    )


def _plan(plan: Plan, start_ns: int) -> PlanEntry:
    return PlanEntry(
        t_s=_seconds(plan.stamp_ns, start_ns),
        revision=plan.revision,
        instruction=plan.instruction,
        planner=plan.planner,
        reasoning=plan.reasoning,
        subtasks=plan.subtasks,
    )


def _verdict(verdict: Verdict, start_ns: int) -> VerdictEntry:
    return VerdictEntry(
        t_s=_seconds(verdict.stamp_ns, start_ns),
        revision=verdict.revision,
        index=verdict.index,
        subtask_id=verdict.subtask_id,
        done=verdict.done,
        stop=verdict.stop,
        confidence=verdict.confidence,
        latency_s=verdict.latency,
        monitor=verdict.monitor,
    )


def _chunks(events: RunEvents, start_ns: int) -> tuple[ChunkEntry, ...]:
    return tuple(
        ChunkEntry(
            t_s=_seconds(chunk.stamp_ns, start_ns),
            chunk=chunk.chunk,
            source=chunk.source,
            length=len(chunk.actions),
            step_period_s=chunk.step_period,
            age_s=_seconds(max(clock_ns, chunk.stamp_ns), chunk.stamp_ns),
        )
        for clock_ns, chunk in events.arrivals
        if isinstance(chunk, ActionChunk)
    )


def _executed(events: RunEvents, start_ns: int) -> tuple[ExecutedEntry, ...]:
    """Return the chunks that were run; each began its steps before its end, not in the last."""
    periods = [chunk.step_period for chunk in events.of(ActionChunk)]
    period_s = median(periods) if periods else math.inf
    entries = []
    before_s = 0.0
    for d in sorted(events.of(ChunkDone), key=lambda d: d.chunk):
        t_s = _seconds(d.stamp_ns, start_ns)
        length_s = d.executed_steps * period_s if d.executed_steps else 0.0
        entries.append(
            ExecutedEntry(
                start_s=max(before_s, t_s - length_s),
                t_s=t_s,
                chunk=d.chunk,
                executed_steps=d.executed_steps,
                terminated=d.terminated,
                truncated=d.truncated,
                success=d.success,
            )
        )
        before_s = t_s
    return tuple(entries)


def _safety(
    events: RunEvents, mine: RunEvents, start_ns: int, end_ns: int
) -> tuple[SafetySpan, ...]:
    """Return spans of equal state and reason; the state before the episode reaches into it."""
    before = [s for s in events.of(Safety) if s.stamp_ns < start_ns][-1:]
    states: list[Safety] = []
    for state in [*before, *mine.of(Safety)]:
        if not states or (state.state, state.reason) != (states[-1].state, states[-1].reason):
            states.append(state)
    ends = [s.stamp_ns for s in states[1:]] + [end_ns]
    return tuple(
        SafetySpan(
            start_s=_seconds(max(state.stamp_ns, start_ns), start_ns),
            end_s=_seconds(end, start_ns),
            state=state.state.name.lower(),
            reason=state.reason,
        )
        for state, end in zip(states, ends, strict=True)
        if end > start_ns or len(states) == 1
    )


def _reward(reward: Reward, start_ns: int) -> RewardEntry:
    return RewardEntry(
        t_s=_seconds(reward.stamp_ns, start_ns),
        chunk=reward.chunk,
        value=reward.value,
        terms=reward.terms,
        episode_return=reward.episode_return,
    )


def _sum_of_terms(rewards: Sequence[Reward]) -> float:
    """Return the sum of all terms, added up as the ledger does: within chunks, then over them."""
    total = 0.0
    for reward in rewards:
        value = 0.0
        for _, amount in reward.terms:
            value += amount
        total += value
    return total
