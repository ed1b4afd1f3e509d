"""The four filters that decide which subtasks are paid (StructRL, Appendix B.2).

(i) No template of Table 6 gives a predicate that the body has. (ii) The predicate is true at
reset, or it is no sign of progress: it fires in rollouts without purpose (the arm stands still,
or moves at random). Failed attempts are no such rollouts: a task that fails late has made
progress. (iii) The demonstrations do not time it: too few of them show it, or it does not come
again when their actions are replayed. (iv) It duplicates another predicate: the same name, or
first true in the same step of every demonstration.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.decomposition import DroppedSubtask
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.decomposition import measured_durations
from structrl_ros.subtasks.decomposition import stages_from
from structrl_ros.subtasks.grounding import KINDS
from structrl_ros.subtasks.grounding import fitness
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Subtask


@dataclass(frozen=True, slots=True)
class Candidate:
    """A subtask before the filters; `verb` is '' where the predicate was given, not grounded."""

    stage: int
    phrase: str
    predicate: str
    verb: str = ''
    rival: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was seen of a task's predicates.

    Attributes:
        known: Every name that the body has for the task, those true at reset included.
        resets: How many initial states were looked at.
        true_at_reset: In how many of them a name was true; missing means none.
        idle: How many rollouts without purpose were made.
        fired_idle: In how many of them a name became true; missing means none.
        demonstrations: Clean successes.
        replays: The same actions once more, in the same order; empty if that was not done.
    """

    known: tuple[str, ...]
    resets: int = 0
    true_at_reset: Mapping[str, int] = field(default_factory=dict)
    idle: int = 0
    fired_idle: Mapping[str, int] = field(default_factory=dict)
    demonstrations: tuple[Demonstration, ...] = ()
    replays: tuple[Demonstration, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterLimits:
    """Where the filters cut; the paper names no numbers.

    Attributes:
        at_reset: Largest share of initial states in which a paid name may be true.
        idle: Largest share of rollouts without purpose in which it may fire.
        coverage: Smallest share of demonstrations that must time it.
        replay_steps: Largest difference of its first true step under replay, low-level steps.
        coincident: Demonstrations in which two names must begin together to count as one;
            0 compares names alone.
    """

    at_reset: float = 0.0
    idle: float = 0.1
    coverage: float = 0.5
    replay_steps: int = 1
    coincident: int = 3


#: Of a density ladder: fine checkpoints that would be 'no sign of progress' are let through.
RELAXED = FilterLimits(idle=1.0, coincident=0)


def ground_candidates(subtasks: Sequence[Subtask], known: Sequence[str]) -> list[Candidate]:
    """Ground the steps of a plan by the templates of Table 6 (`grounding.KINDS`)."""
    found = ground_all(subtasks, known)
    candidates = []
    for subtask in subtasks:
        name = found[subtask.id] or ''
        fitting = [] if name else [n for n in known if fitness(subtask, n) > 0]
        rival = fitting[0] if fitting else ''
        candidates.append(Candidate(subtask.stage, subtask.phrase, name, subtask.verb, rival))
    return candidates


def apply_filters(
    candidates: Sequence[Candidate], evidence: Evidence, limits: FilterLimits | None = None
) -> tuple[tuple[tuple[GroundedSubtask, ...], ...], tuple[DroppedSubtask, ...]]:
    """Return the stages that are left, in their order, and what was dropped by which filter.

    Without demonstrations filter (iii) cannot judge and drops nothing.
    """
    limits = limits or FilterLimits()
    kept: list[Candidate] = []
    dropped: list[DroppedSubtask] = []
    for candidate in candidates:
        verdict = _judge(candidate, {c.predicate for c in kept}, evidence, limits)
        if verdict is None:
            kept.append(candidate)
        else:
            dropped.append(_drop(candidate, *verdict))
    if evidence.demonstrations:
        dropped += _drop_uncovered(kept, evidence, limits)
    stages = stages_from((c.stage, GroundedSubtask(c.phrase, c.predicate)) for c in kept)
    return stages, tuple(dropped)


def _judge(
    candidate: Candidate, taken: set[str], evidence: Evidence, limits: FilterLimits
) -> tuple[str, str] | None:
    """Return filter and reason, or None: all that one predicate alone decides."""
    name = candidate.predicate
    if not name:
        return _no_predicate(candidate)
    if name not in evidence.known:
        return 'i', 'the body has no such predicate'
    if name in taken:
        return 'iv', 'an earlier subtask has the same predicate'
    at_reset = evidence.true_at_reset.get(name, 0)
    if at_reset > limits.at_reset * evidence.resets:
        return 'ii', f'true at reset in {at_reset} of {evidence.resets} initial states'
    fired = evidence.fired_idle.get(name, 0)
    if fired > limits.idle * evidence.idle:
        return 'ii', f'fired in {fired} of {evidence.idle} rollouts without purpose'
    return _judge_replay(name, evidence, limits)


def _no_predicate(candidate: Candidate) -> tuple[str, str]:
    if candidate.rival:
        return 'iv', f'{candidate.rival} is the predicate of another subtask'
    kinds = ', '.join(KINDS.get(candidate.verb, ()))
    return 'i', f'no predicate of kind {kinds} fits' if kinds else 'no template'


def _judge_replay(name: str, evidence: Evidence, limits: FilterLimits) -> tuple[str, str] | None:
    differs = 0
    for demo, replay in zip(evidence.demonstrations, evidence.replays, strict=False):
        first, again = demo.first_true.get(name), replay.first_true.get(name)
        if first is None or again is None:
            differs += first is not again
        else:
            differs += abs(first - again) > limits.replay_steps
    if differs:
        return 'iii', f'differs in {differs} of {len(evidence.replays)} replays'
    return None


def _drop_uncovered(
    kept: list[Candidate], evidence: Evidence, limits: FilterLimits
) -> list[DroppedSubtask]:
    """Take out of `kept` what the demonstrations do not time, and what they show to be one.

    A subtask counts only where its prerequisites were seen, so one that is dropped may raise the
    coverage of the later ones: the first in order goes, then all are counted anew.
    """
    demos = evidence.demonstrations
    dropped = []
    while True:
        grouped = stages_from((c.stage, GroundedSubtask(c.phrase, c.predicate)) for c in kept)
        names = [[s.predicate for s in stage] for stage in grouped]
        coverage = measured_durations(names, demos, 1)[1]
        low = [c for c in kept if _is_low(coverage[c.predicate], len(demos), limits)]
        if not low:
            break
        first = min(low, key=lambda c: c.stage)
        kept.remove(first)
        seen = coverage[first.predicate]
        dropped.append(_drop(first, 'iii', f'timed by {seen} of {len(demos)} demonstrations'))
    return dropped + _drop_coincident(kept, demos, limits)


def _is_low(seen: int, total: int, limits: FilterLimits) -> bool:
    return seen == 0 or seen < limits.coverage * total


def _drop_coincident(
    kept: list[Candidate], demos: Sequence[Demonstration], limits: FilterLimits
) -> list[DroppedSubtask]:
    if not limits.coincident or len(demos) < limits.coincident:
        return []
    first_with: dict[tuple[int | None, ...], Candidate] = {}
    dropped = []
    for candidate in list(kept):
        steps = tuple(demo.first_true[candidate.predicate] for demo in demos)
        other = first_with.setdefault(steps, candidate)
        if other is not candidate:
            kept.remove(candidate)
            reason = f'begins with {other.predicate} in all {len(demos)} demonstrations'
            dropped.append(_drop(candidate, 'iv', reason))
    return dropped


def _drop(candidate: Candidate, filter_: str, reason: str) -> DroppedSubtask:
    return DroppedSubtask(candidate.phrase, candidate.predicate, filter_, reason)
