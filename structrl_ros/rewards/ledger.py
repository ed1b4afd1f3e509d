"""The ledger's rules: terms sum to the value of a chunk, values sum to the return."""

from __future__ import annotations

import math
from collections.abc import Iterable

from structrl_ros.types import SUCCESS_TERM
from structrl_ros.types import Reward


def audit(pages: Iterable[Reward]) -> list[str]:
    """Check the rewards of a run and return one line for each fault; empty means it balances.

    Checked in each episode: every amount is finite, the terms sum to the value and the values to
    the return (in order, to the last bit), chunks rise one by one from the first, 'success' is
    paid at most once, and nothing follows a terminated or truncated chunk.

    Args:
        pages: Rewards in the order of publication; episodes follow one another.
    """
    faults: list[str] = []
    before: Reward | None = None
    has_paid_success = False
    for page in pages:
        if before is None or page.episode != before.episode:
            before, has_paid_success = None, False
        place = f'episode {page.episode} chunk {page.chunk}'
        faults.extend(f'{place}: {fault}' for fault in _page_faults(page, before))
        success_terms = [name for name, _ in page.terms if name == SUCCESS_TERM]
        if len(success_terms) + has_paid_success > 1:
            faults.append(f'{place}: success is paid twice')
        has_paid_success |= bool(success_terms)
        before = page
    return faults


def _page_faults(page: Reward, before: Reward | None) -> list[str]:
    if not all(math.isfinite(amount) for _, amount in page.terms):
        return ['a term is not finite']
    faults: list[str] = []
    value = 0.0
    for _, amount in page.terms:
        value += amount
    if value != page.value:
        faults.append(f'terms sum to {value!r}, value is {page.value!r}')
    expected = (before.episode_return if before else 0.0) + page.value
    if expected != page.episode_return:
        faults.append(f'values sum to {expected!r}, return is {page.episode_return!r}')
    if before is not None and page.chunk != before.chunk + 1:
        faults.append(f'follows chunk {before.chunk}')
    if before is not None and (before.terminated or before.truncated):
        faults.append('follows the end of the episode')
    return faults
