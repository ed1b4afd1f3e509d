"""The numbers of Table I: rates with intervals by instruction and condition, and causes."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.closed_loop import CAUSES
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.planner_results import Mean
from structrl_ros.evaluation.planner_results import mean_over_episodes
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.types import JsonObject

#: Row over all instructions.
ALL = 'all'


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRecord:
    """One episode of the suite: a line of `episodes.jsonl`.

    Attributes:
        planner: Condition: a planner's name, or 'none' where the sentence went to the controller.
        instruction: Name of the instruction.
        episode: From 0.
        success: Whether the instruction was satisfied.
        steps_done: Of the best true plan.
        steps: Of that plan.
        answer: How the planner answered, one of `closed_loop.ANSWERS`; '' without a planner.
        plan: Phrases of the first plan.
        plan_is_right: Whether it is a true plan; None without one.
        seen: What the planner was shown wrongly, in words; '' for nothing.
        lies: Verdicts that were not the truth.
        cause: Of a failure, one of `closed_loop.CAUSES`; '' of a success, or without a planner.
        record: The episode's account.
    """

    planner: str
    instruction: str
    episode: int
    success: bool
    steps_done: int
    steps: int
    answer: str
    plan: tuple[str, ...]
    plan_is_right: bool | None
    seen: str
    lies: int
    cause: str
    record: EpisodeRecord

    @property
    def key(self) -> tuple[str, str, int]:
        """Which episode it is."""
        return self.planner, self.instruction, self.episode

    def to_json(self) -> JsonObject:
        """Return plain JSON that `loop_record_from_json` takes back."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**fields, 'plan': list(self.plan), 'record': self.record.to_json()}


def loop_record_from_json(document: Any) -> LoopRecord:
    """Return a record of `LoopRecord.to_json`.

    Raises:
        ParameterError: If it is none.
    """
    names = [f.name for f in dataclasses.fields(LoopRecord)]
    if not isinstance(document, dict) or set(document) != set(names):
        raise ParameterError(f'episode of the suite: fields must be {", ".join(names)}')
    try:
        return LoopRecord(
            **{
                **document,
                'plan': tuple(str(phrase) for phrase in document['plan']),
                'record': record_from_json(document['record']),
            }
        )
    except TypeError as error:
        raise ParameterError(f'episode of the suite: {error}') from None


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """Rates of one instruction, or of all, under one condition.

    `causes` counts failures; 'unplanned' are those without a planner, which have no cause of the
    four.
    """

    planner: str
    instruction: str
    success: Rate
    steps: Mean
    right_plans: Rate
    causes: dict[str, int]


def summarise_loop(records: Sequence[LoopRecord], seed: int = 0) -> list[LoopSummary]:
    """Return a summary for every condition and instruction, in order, each condition's total last.

    Step success is steps done over steps of the true plan; its interval is a bootstrap over
    episodes.
    """
    rows = []
    for planner in dict.fromkeys(r.planner for r in records):
        mine = [r for r in records if r.planner == planner]
        names = dict.fromkeys(r.instruction for r in mine)
        rows += [_row(planner, n, [r for r in mine if r.instruction == n], seed) for n in names]
        rows.append(_row(planner, ALL, mine, seed))
    return rows


def _row(planner: str, name: str, records: Sequence[LoopRecord], seed: int) -> LoopSummary:
    steps = [float(k < r.steps_done) for r in records for k in range(r.steps)]
    episodes = [f'{r.instruction} {r.episode}' for r in records for _ in range(r.steps)]
    judged = [r for r in records if r.plan_is_right is not None]
    found = Counter(r.cause or 'unplanned' for r in records if not r.success)
    return LoopSummary(
        planner=planner,
        instruction=name,
        success=Rate(sum(r.success for r in records), len(records)),
        steps=mean_over_episodes(steps, episodes, seed),
        right_plans=Rate(sum(bool(r.plan_is_right) for r in judged), len(judged)),
        causes={cause: found[cause] for cause in (*CAUSES, 'unplanned') if found[cause]},
    )


def summary_to_json(row: LoopSummary) -> JsonObject:
    """Return plain JSON."""
    return {
        'planner': row.planner,
        'instruction': row.instruction,
        'episodes': row.success.n,
        'success': row.success.to_json(),
        'step_success': {
            'value': row.steps.value,
            'interval': None if row.steps.interval is None else list(row.steps.interval),
            'steps': row.steps.n,
        },
        'right_plans': row.right_plans.to_json(),
        'causes': row.causes,
    }
