"""Scenes to splits: whole scenes, so that no picture of a scene is in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.training.leap_episode import SkillEpisode


def split_episodes(
    episodes: Sequence[SkillEpisode], test_share: float, seed: int
) -> tuple[list[SkillEpisode], list[SkillEpisode]]:
    """Return the episodes of the training and of the test split.

    For each source the scenes are shuffled, and the first ones go to the test split until it has
    its share of the demonstrations. At least one goes there where the source has two or more, and
    at least one stays.

    Args:
        episodes: In any order.
        test_share: Wished share of the demonstrations of each source, in [0, 1] (REVER: 0.1).
        seed: Of the shuffle.

    Raises:
        ParameterError: If the share is outside its range.
    """
    if not 0.0 <= test_share <= 1.0:
        raise ParameterError(f'test share {test_share}; allowed: 0 to 1')
    tested: set[str] = set()
    for source in sorted({episode.source for episode in episodes}):
        counts: dict[str, int] = {}
        for episode in episodes:
            if episode.source == source:
                counts[episode.scene] = counts.get(episode.scene, 0) + 1
        scenes = sorted(counts)
        order = np.random.default_rng([seed, *source.encode()]).permutation(len(scenes)).tolist()
        wanted = test_share * sum(counts.values())
        taken = 0
        for i in order[:-1] if test_share < 1.0 else order:
            if taken >= wanted:
                break
            tested.add(scenes[i])
            taken += counts[scenes[i]]
    ordered = sorted(episodes, key=lambda episode: episode.name)
    train = [episode for episode in ordered if episode.scene not in tested]
    return train, [episode for episode in ordered if episode.scene in tested]
