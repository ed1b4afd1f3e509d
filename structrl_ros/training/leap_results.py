"""The numbers of an evaluation as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from structrl_ros.evaluation.planner_results import ChoiceSummary
from structrl_ros.evaluation.planner_results import CompletionSummary
from structrl_ros.evaluation.planner_results import Mean
from structrl_ros.evaluation.planner_results import PlanAnswer
from structrl_ros.evaluation.planner_results import PlanSummary
from structrl_ros.evaluation.planner_results import summarise_choices
from structrl_ros.evaluation.planner_results import summarise_completion
from structrl_ros.evaluation.planner_results import summarise_plans
from structrl_ros.training.leap_evaluation import Answers

#: Errors that are told, the most frequent first.
_ERRORS = 5


def result_document(answers: Answers, seed: int) -> dict[str, Any]:
    """Return all numbers: a section for each kind of question, None where nothing was asked."""
    unanswered = answers.unanswered
    styles = sorted({a.style for a in answers.plans})
    plan = summarise_plans(answers.plans, unanswered['plan'], seed)
    choice = summarise_choices(answers.choices, unanswered['choice'])
    by_plan = summarise_choices(answers.by_plan, unanswered['choice by plan'])
    completion = summarise_completion(answers.completion, unanswered['completion'])
    return {
        'plan': _section(plan) and {**_plan(plan), 'errors': _errors(answers.plans)},
        'plan_by_style': {
            style: _plan(summarise_plans([a for a in answers.plans if a.style == style], 0, seed))
            for style in styles
        },
        'choice': _section(choice) and _choice(choice),
        'choice_by_own_plan': _choice(by_plan) if by_plan.asked and answers.plans else None,
        'completion': _section(completion) and _completion(completion),
    }


def _section(summary: PlanSummary | ChoiceSummary | CompletionSummary) -> bool | None:
    return True if summary.asked else None


def _plan(summary: PlanSummary) -> dict[str, Any]:
    return {
        'asked': summary.asked,
        'unanswered': summary.unanswered,
        'r_bm': _mean(summary.matching),
        'r_content': _mean(summary.content),
        'exact': summary.exact.to_json(),
        'readable': summary.readable.to_json(),
        'think_answer': summary.template.to_json(),
    }


def _choice(summary: ChoiceSummary) -> dict[str, Any]:
    return {
        'asked': summary.asked,
        'unanswered': summary.unanswered,
        'unreadable': summary.unreadable,
        'accuracy': summary.accuracy.to_json(),
        'misled': summary.misled,
    }


def _completion(summary: CompletionSummary) -> dict[str, Any]:
    return {
        'asked': summary.asked,
        'unanswered': summary.unanswered,
        'unreadable': summary.unreadable,
        'accuracy': summary.accuracy.to_json(),
        'precision': summary.precision.to_json(),
        'recall': summary.recall.to_json(),
    }


def _mean(mean: Mean) -> dict[str, Any]:
    interval = None if mean.interval is None else list(mean.interval)
    return {'n': mean.n, 'value': mean.value, 'interval': interval}


def _errors(answers: Sequence[PlanAnswer]) -> dict[str, int]:
    """Return how often the commonest errors came, cut before what differs from row to row."""
    counts = Counter(a.error.partition(';')[0] for a in answers if a.error)
    return dict(counts.most_common(_ERRORS))
