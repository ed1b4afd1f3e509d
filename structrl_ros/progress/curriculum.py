"""The Signed-Hop Curriculum and its controls (Robo-Dopamine 2.0, Eq. 11, E0 to E4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.progress.pairs import Pair

Indices = NDArray[np.intp]

#: Share of each family with the largest |hop| that makes the large pool.
LARGE_SHARE = 0.4
#: Share rho of large pairs that stage 2 repeats (Eq. 11).
REPLAY_SHARE = 0.25

#: The controls: random mixing, the pool of E4 without order, fine to large, no replay, all of it.
CONTROLS = ('E0', 'E1', 'E2', 'E3', 'E4')


@dataclass(frozen=True, slots=True)
class Pools:
    """Indices of pairs, each index in one pool."""

    large: Indices
    fine: Indices


def split_pools(pairs: Sequence[Pair], large_share: float = LARGE_SHARE) -> Pools:
    """Rank by |hop| within each family; the top share is the large pool, the rest the fine one.

    Ties keep the order of the pairs. Of n pairs of a family, ceil(share n) are large.

    Raises:
        ParameterError: If the share is outside [0, 1].
    """
    if not 0.0 <= large_share <= 1.0:
        raise ParameterError(f'large_share {large_share:g}; allowed: 0 to 1')
    families: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        families.setdefault(pair.family, []).append(i)
    large: list[int] = []
    fine: list[int] = []
    for members in families.values():
        ranked = sorted(members, key=lambda i: -abs(pairs[i].hop))
        count = math.ceil(large_share * len(ranked) - 1e-9)
        large += ranked[:count]
        fine += ranked[count:]
    return Pools(np.sort(np.array(large, np.intp)), np.sort(np.array(fine, np.intp)))


def stages(
    control: str,
    pools: Pools,
    stage_size: int,
    rng: np.random.Generator,
    replay_share: float = REPLAY_SHARE,
) -> tuple[Indices, Indices]:
    """Return the pairs of the two stages in the order of training, shape (stage_size,) each.

    E4: large, then (1 - rho) fine + rho large (Eq. 11). E3: rho = 0. E2: the stages of E3 the
    other way round. E1: the examples of E4, all of them shuffled. E0: drawn evenly from all
    pairs. A pool is used up before one of its pairs comes a second time.

    Raises:
        ParameterError: If the control is unknown, a pool that is drawn from is empty, or a number
            is out of range.
    """
    if control not in CONTROLS:
        raise ParameterError(f'control {control!r}; allowed: {", ".join(CONTROLS)}')
    if stage_size < 1 or not 0.0 <= replay_share <= 1.0:
        raise ParameterError(
            f'stage_size {stage_size}, replay_share {replay_share:g}; allowed: from 1, 0 to 1'
        )
    if control == 'E0':
        both = _draw(np.concatenate([pools.large, pools.fine]), 2 * stage_size, rng)
        return both[:stage_size], both[stage_size:]
    replayed = round(stage_size * replay_share) if control in ('E1', 'E4') else 0
    large = _draw(pools.large, stage_size, rng)
    second = np.concatenate(
        [_draw(pools.fine, stage_size - replayed, rng), _draw(pools.large, replayed, rng)]
    )
    rng.shuffle(second)
    if control == 'E2':
        return second, large
    if control == 'E1':
        both = rng.permutation(np.concatenate([large, second]))
        return both[:stage_size], both[stage_size:]
    return large, second


def _draw(pool: Indices, count: int, rng: np.random.Generator) -> Indices:
    if count == 0:
        return np.zeros(0, np.intp)
    if not pool.size:
        raise ParameterError('a pool of pairs is empty; allowed: pairs of large and small hops')
    rounds = [rng.permutation(pool) for _ in range(-(-count // pool.size))]
    return np.concatenate(rounds)[:count]
