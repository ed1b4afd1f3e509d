"""Pairs of the GRM's training and of its measurement, as queries with their labels."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.progress.context import Query
from structrl_ros.progress.pairs import QUOTAS
from structrl_ros.progress.pairs import Branch
from structrl_ros.progress.pairs import Family
from structrl_ros.progress.pairs import Pair
from structrl_ros.progress.pairs import labels_of
from structrl_ros.progress.pairs import sample_pairs
from structrl_ros.training.grm_episodes import GrmEpisode
from structrl_ros.types import Float64

#: Families of pairs with an edited endpoint: what OOD supervision is.
OOD_FAMILIES = frozenset(
    {
        Family.INVARIANCE,
        Family.ROBUST,
        Family.FAILURE,
        Family.RECOVERY,
        Family.WITHIN_FAILURE,
    }
)
#: The same weight for each family, to measure all of them equally well.
EQUAL_QUOTAS: Mapping[Family, float] = {family: 1.0 / len(Family) for family in Family}


def quotas(ood: bool) -> Mapping[Family, float]:
    """Return the share of each family; without OOD supervision, of the others in proportion."""
    if ood:
        return QUOTAS
    kept = {family: share for family, share in QUOTAS.items() if family not in OOD_FAMILIES}
    total = sum(kept.values())
    return {family: share / total for family, share in kept.items()}


class PairTable:
    """Pairs, the episodes they are of, and their labels.

    Attributes:
        pairs: In the order of sampling.
        labels: 100 hop of each (Eq. 9), shape (N,).
        dropped: Pairs left out because a negative endpoint looks just like its source.
    """

    def __init__(self, episodes: Sequence[GrmEpisode], pairs: Sequence[Pair]) -> None:
        """Take pairs of episodes; those whose label nothing in the pictures tells are left out."""
        self._episodes = {episode.name: episode for episode in episodes}
        self.pairs = [pair for pair in pairs if self._is_told(pair)]
        self.labels: Float64 = labels_of(self.pairs)
        self.dropped = len(pairs) - len(self.pairs)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def batch(self, indices: Sequence[int]) -> tuple[list[Query], list[str]]:
        """Return the queries and instructions of some pairs."""
        chosen = [self.pairs[i] for i in indices]
        owners = [self._episodes[pair.episode] for pair in chosen]
        queries = [owner.query(pair) for owner, pair in zip(owners, chosen, strict=True)]
        return queries, [owner.instruction for owner in owners]

    def _is_told(self, pair: Pair) -> bool:
        owner = self._episodes[pair.episode]
        ends = (pair.before, pair.after)
        return all(s.branch is not Branch.NEGATIVE or owner.is_visible(s) for s in ends)


def make_pairs(
    episodes: Sequence[GrmEpisode],
    count: int,
    seed: int,
    split: str,
    shares: Mapping[Family, float],
) -> PairTable:
    """Return about `count` pairs of episodes of one split.

    Args:
        episodes: All of them of the split.
        count: Pairs to draw.
        seed: Of the draws.
        split: 'train' or 'test'.
        shares: Of each family.

    Raises:
        ParameterError: If an episode is of another split, or no family can be drawn.
    """
    strangers = [episode for episode in episodes if episode.split != split]
    if strangers:
        raise ParameterError(
            f'episode {strangers[0].name} is of split {strangers[0].split!r}; allowed: {split!r}'
        )
    rng = np.random.default_rng([seed, count])
    trajectories = [episode.trajectory for episode in episodes]
    return PairTable(episodes, sample_pairs(trajectories, count, rng, shares))


def split_validation(
    episodes: Sequence[GrmEpisode], share: float
) -> tuple[list[GrmEpisode], list[GrmEpisode]]:
    """Return the episodes to train on and those that choose the best update, by whole episodes.

    At least one of two or more episodes is for validation if the share is positive; tasks take
    turns, so that as many of them as possible are there.
    """
    count = min(max(1, round(share * len(episodes))), len(episodes) - 1) if share > 0.0 else 0
    seen: dict[str, int] = {}
    ranked: list[tuple[int, str]] = []
    for episode in sorted(episodes, key=lambda e: e.name):
        ranked.append((seen.get(episode.task, 0), episode.name))
        seen[episode.task] = seen.get(episode.task, 0) + 1
    chosen = {name for _, name in sorted(ranked)[:count]}
    return (
        [episode for episode in episodes if episode.name not in chosen],
        [episode for episode in episodes if episode.name in chosen],
    )
