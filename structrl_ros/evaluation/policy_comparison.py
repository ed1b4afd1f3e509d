"""Two policies by their results: refused unless they met the same episodes under one protocol."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.paired import EpisodeKey
from structrl_ros.evaluation.paired import PairedComparison
from structrl_ros.evaluation.paired import compare_paired
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.sequential import detectable_difference
from structrl_ros.types import JsonObject

#: Probability of an error below which a difference is called one.
_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """Policies A and B on the same episodes, over all tasks and by task."""

    label_a: str
    label_b: str
    total: PairedComparison
    tasks: Mapping[str, PairedComparison]

    @property
    def sentence(self) -> str:
        """What the numbers say, and what they could not have said."""
        total = self.total
        low, high = total.interval
        numbers = f'{total.difference:+.3f} [{low:+.3f}, {high:+.3f}], p = {total.p_value:.4f}'
        if total.p_value < _ERROR:
            winner = self.label_b if total.difference > 0 else self.label_a
            return f'{winner} succeeds more often: {numbers} over {total.n} pairs'
        least = detectable_difference(total.n)
        hint = '' if least is None else f'; so many unpaired episodes show {least:.2f} and more'
        return f'no difference is shown: {numbers} over {total.n} pairs{hint}'

    def to_json(self) -> JsonObject:
        """Return all numbers."""
        return {
            'a': self.label_a,
            'b': self.label_b,
            'total': dataclasses.asdict(self.total),
            'tasks': {task: dataclasses.asdict(found) for task, found in self.tasks.items()},
            'sentence': self.sentence,
        }


def compare_results(
    a: EvaluationResults, b: EvaluationResults | None = None, *, seed: int = 0
) -> PolicyComparison:
    """Compare the policy of A with that of B, or the two policies of one evaluation.

    Args:
        a: Results of one policy; or of two, without `b`.
        b: Results of the other.
        seed: Of the bootstrap.

    Raises:
        ParameterError: If protocols or episodes differ, or it is not clear which policies are
            meant.
    """
    code_a, code_b = _codes(a, b)
    b = b or a
    if a.protocol_hash != b.protocol_hash:
        raise ParameterError(
            f'protocol {a.protocol!r} ({a.protocol_hash[:8]}) and {b.protocol!r} '
            f'({b.protocol_hash[:8]}) differ in tasks, starts, body or success rule; only equal '
            'protocols are compared'
        )
    first, second = a.outcomes(code_a), b.outcomes(code_b)
    total = compare_paired(first, second, seed=seed)
    tasks = {
        task: compare_paired(_of(first, task), _of(second, task), seed=seed)
        for task in dict.fromkeys(key[0] for key in first)
    }
    labels = [a.label(code_a), b.label(code_b)]
    if labels[0] == labels[1]:
        labels = [f'{label} ({letter})' for label, letter in zip(labels, 'AB', strict=True)]
    return PolicyComparison(labels[0], labels[1], total, tasks)


def _codes(a: EvaluationResults, b: EvaluationResults | None) -> tuple[str, str]:
    if b is None:
        if len(a.policies) != 2:
            raise ParameterError(
                f'{len(a.policies)} policies in one evaluation; allowed: two, or two evaluations'
            )
        return a.policies[0].code, a.policies[1].code
    for name, results in (('first', a), ('second', b)):
        if len(results.policies) != 1:
            raise ParameterError(
                f'{len(results.policies)} policies in the {name} evaluation; allowed: one in each'
            )
    return a.policies[0].code, b.policies[0].code


def _of(outcomes: Mapping[EpisodeKey, bool], task: str) -> dict[EpisodeKey, bool]:
    return {key: success for key, success in outcomes.items() if key[0] == task}
