"""REVER's verifiable reward of a plan (Section III-B1), without a human or a simulator.

The paper gives w_a 0.3, w_o 0.7 and w_l 0.1; it names no values for w_f and w_c. The defaults 0.1
and 0.9 here are this project's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.naming import fold
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import normalise_verb


def plan_reward(
    generated: Sequence[Step],
    truth: Sequence[Step],
    ontology: Iterable[Iterable[str]] = (),
    w_action: float = 0.3,
    w_object: float = 0.7,
    w_length: float = 0.1,
) -> float:
    """Return R_content: the best matching of two plans less a penalty for their lengths.

    Implements R_bm and R_content of REVER: (1 / max(M, N)) max_pi sum Sim - w_l |M - N|, with
    Sim = w_a Sim_act + w_o Sim_obj. Not clipped, so a far too long plan goes below 0. The matching
    ignores order, as in the paper. Two empty plans match nothing and give 0.

    Args:
        generated: M steps of the model.
        truth: N steps of the true plan.
        ontology: Sets of names that count as the same thing.
        w_action: Weight of equal verbs, at least 0.
        w_object: Weight of similar things, at least 0.
        w_length: Penalty for each step too many or too few, at least 0.

    Returns:
        The content reward, at most w_action + w_object.

    Raises:
        ParameterError: If a weight is negative or not finite.
    """
    for name, weight in (('w_action', w_action), ('w_object', w_object), ('w_length', w_length)):
        if not math.isfinite(weight) or weight < 0:
            raise ParameterError(f'{name} must be finite and at least 0, got {weight!r}')
    penalty = w_length * abs(len(generated) - len(truth))
    if not generated or not truth:
        return 0.0 - penalty
    return _best_matching(generated, truth, ontology, w_action, w_object) - penalty


def total_reward(
    format_score: float, content: float, w_format: float = 0.1, w_content: float = 0.9
) -> float:
    """Return R = w_f R_format + w_c R_content (REVER; the weights are this project's choice)."""
    for name, weight in (('w_format', w_format), ('w_content', w_content)):
        if not math.isfinite(weight) or weight < 0:
            raise ParameterError(f'{name} must be finite and at least 0, got {weight!r}')
    return w_format * format_score + w_content * content


def completion_reward(answer: str, label: bool) -> float:
    """Return R_content of completion data: 1 if the answer is exactly 'True' or 'False' as true.

    Args:
        answer: Inside of the answer block; white space around it is ignored, nothing else.
        label: Whether the subtask was completed.
    """
    return float(answer.strip() == str(bool(label)))


def _best_matching(
    generated: Sequence[Step],
    truth: Sequence[Step],
    ontology: Iterable[Iterable[str]],
    w_action: float,
    w_object: float,
) -> float:
    """Return R_bm by maximum-weight bipartite matching."""
    from scipy.optimize import linear_sum_assignment

    sets_of: dict[str, set[int]] = {}
    for number, names in enumerate(ontology):
        for name in names:
            sets_of.setdefault(fold(name), set()).add(number)
    ours = [(normalise_verb(s.action), tuple(fold(o) for o in s.objects)) for s in generated]
    theirs = [(normalise_verb(s.action), tuple(fold(o) for o in s.objects)) for s in truth]
    weights = np.zeros((len(ours), len(theirs)))
    for i, (verb, things) in enumerate(ours):
        for j, (true_verb, true_things) in enumerate(theirs):
            similar = _are_similar(things, true_things, sets_of)
            weights[i, j] = w_action * (verb == true_verb) + w_object * similar
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return float(weights[rows, columns].sum()) / max(len(ours), len(theirs))


def _are_similar(
    things: tuple[str, ...], others: tuple[str, ...], sets_of: dict[str, set[int]]
) -> bool:
    """Tell whether two argument lists name the same things, pair by pair in order."""
    if len(things) != len(others):
        return False
    return all(_pair_is_similar(a, b, sets_of) for a, b in zip(things, others, strict=True))


def _pair_is_similar(a: str, b: str, sets_of: dict[str, set[int]]) -> bool:
    """Tell whether two names are equal, one in the other, or in one set of the ontology."""
    if a == b:
        return True
    if not a or not b:
        return False
    return a in b or b in a or not sets_of.get(a, set()).isdisjoint(sets_of.get(b, ()))
