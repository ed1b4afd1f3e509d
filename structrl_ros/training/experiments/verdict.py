"""What is said of an experiment: claims with what was found, and whether they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.evaluation.comparison import Estimate
from structrl_ros.evaluation.comparison import detectable_difference
from structrl_ros.evaluation.comparison import difference_estimate
from structrl_ros.evaluation.comparison import mean_estimate
from structrl_ros.evaluation.comparison import paired_p
from structrl_ros.evaluation.comparison import permutation_p
from structrl_ros.training.experiments.outcomes import Outcomes

#: Seeds an arm below which a claim is not judged.
CLAIM_SEEDS = 8

SHOWN, NOT_SHOWN, REPORTED, NOT_JUDGED = 'shown', 'not shown', 'reported', 'not judged'


@dataclass(frozen=True, slots=True)
class Claim:
    """What must hold, what was found, and whether it holds; None where nothing is demanded."""

    wanted: str
    found: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """`state` is one of SHOWN, NOT_SHOWN, REPORTED, NOT_JUDGED."""

    state: str
    claims: tuple[Claim, ...]


def judge(claims: Sequence[Claim], seeds: int, needed: int = CLAIM_SEEDS) -> Verdict:
    """Return the verdict on claims that rest on some seeds an arm."""
    demanded = [claim for claim in claims if claim.holds is not None]
    if not demanded:
        return Verdict(REPORTED, tuple(claims))
    if seeds < needed:
        unjudged = tuple(Claim(c.wanted, c.found, None) for c in claims)
        return Verdict(NOT_JUDGED, unjudged)
    return Verdict(SHOWN if all(c.holds for c in demanded) else NOT_SHOWN, tuple(claims))


def at_least(outcomes: Outcomes, arm: str, bound: float, measure: str = 'success') -> Claim:
    """Claim that the mean of an arm is at least a bound."""
    estimate = mean_estimate(outcomes.values(arm, measure))
    wanted = f'{arm}: mean at least {bound:.2f}'
    return Claim(wanted, show(estimate), estimate.mean >= bound)


def at_most(outcomes: Outcomes, arm: str, bound: float, measure: str = 'success') -> Claim:
    """Claim that the mean of an arm is at most a bound."""
    estimate = mean_estimate(outcomes.values(arm, measure))
    return Claim(f'{arm}: mean at most {bound:.2f}', show(estimate), estimate.mean <= bound)


def higher(
    outcomes: Outcomes,
    first: str,
    second: str,
    by: float,
    *,
    measure: str = 'success',
    level: float = 0.05,
) -> Claim:
    """Claim that an arm's mean is higher than another's by some amount, and p below a level."""
    a, b = outcomes.values(first, measure), outcomes.values(second, measure)
    difference = difference_estimate(a, b)
    p = permutation_p(a, b) if len(a) > 1 else 1.0
    wanted = f'{first} over {second}: at least {by:+.2f}, permutation p < {level:g}'
    found = f'{show(difference, sign=True)}, p = {p:.4f}'
    return Claim(wanted, found, difference.mean >= by and p < level)


def reported(outcomes: Outcomes, first: str, second: str, measure: str = 'success') -> Claim:
    """Report the difference of two arms; nothing is demanded."""
    a, b = outcomes.values(first, measure), outcomes.values(second, measure)
    difference = difference_estimate(a, b)
    digits = 1 if measure in ('steps', 'idle') else 3
    found = show(difference, sign=True, digits=digits)
    if len(a) > 1:
        found += f', p = {permutation_p(a, b):.3f}'
    return Claim(f'{first} against {second}, {measure}', found, None)


def paired(outcomes: Outcomes, first: str, second: str, measure: str = 'success') -> Claim:
    """Report the mean difference of two arms over the seeds that both have.

    Runs with one seed share their start, the scenes that they practise and, up to the first
    update, all that they draw. With two seeds or more it also tells the smallest difference that
    a t test on so many seeds finds in four of five tries.
    """
    rows = zip(outcomes.values(first, measure), outcomes.values(second, measure), strict=False)
    a, b = (list(column) for column in zip(*rows, strict=True))
    found = show(mean_estimate([x - y for x, y in zip(a, b, strict=True)]), sign=True)
    if len(a) > 1:
        least = detectable_difference(a, b)
        found += f', p = {paired_p(a, b):.3f}, {len(a)} seeds find {least:.3f} or more'
    return Claim(f'{first} against {second}, {measure}, paired', found, None)


def show(estimate: Estimate, *, sign: bool = False, digits: int = 3) -> str:
    """Return '0.346 [0.210, 0.482]', without an interval where there is none."""
    form = f'{"+" if sign else ""}.{digits}f'
    if estimate.low is None or estimate.high is None:
        return format(estimate.mean, form)
    return f'{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]'
