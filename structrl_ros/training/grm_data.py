"""From sets and settings to the pairs of a run: training, validation, test."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.progress.pairs import Family
from structrl_ros.training.grm_episodes import GrmEpisode
from structrl_ros.training.grm_episodes import load_episodes
from structrl_ros.training.grm_pairs import EQUAL_QUOTAS
from structrl_ros.training.grm_pairs import PairTable
from structrl_ros.training.grm_pairs import make_pairs
from structrl_ros.training.grm_pairs import quotas
from structrl_ros.training.grm_pairs import split_validation
from structrl_ros.training.grm_settings import CurriculumSettings

#: Seeds of what measures; the same for every run, so that runs are compared on the same pairs.
_VALIDATION_SEED, _TEST_SEED = 1_000_001, 1_000_002


@dataclass(frozen=True, slots=True)
class GrmData:
    """Episodes and pairs by what they are for; no episode is for two things."""

    episodes: Mapping[str, Sequence[GrmEpisode]]
    tables: Mapping[str, PairTable]


def load_data(sets: Sequence[Path], settings: CurriculumSettings) -> GrmData:
    """Return the data of a run.

    Raises:
        CheckpointError: If a set is missing or cut.
        ParameterError: If a split is empty, an episode comes twice, or pictures are too small.
    """
    layout, view_px = settings.strip_layout, settings.view_px
    known = load_episodes(sets, 'train', layout, view_px)
    test = load_episodes(sets, 'test', layout, view_px)
    training, validation = split_validation(known, settings.validation_share)
    shares, count = quotas(settings.ood), settings.held_out_pairs
    tables = {
        'training': make_pairs(training, settings.pairs, settings.seed, 'train', shares),
        'test': make_pairs(test, count, _TEST_SEED, 'test', EQUAL_QUOTAS),
    }
    if validation:
        tables['validation'] = make_pairs(
            validation, count, _VALIDATION_SEED, 'train', _validation_quotas(settings)
        )
    episodes = {'training': training, 'validation': validation, 'test': test}
    return GrmData(episodes, tables)


def _validation_quotas(settings: CurriculumSettings) -> Mapping[Family, float]:
    """Return equal shares of the families that are trained on: no OOD pair chooses without it."""
    given = [family for family, share in quotas(settings.ood).items() if share > 0.0]
    return {family: 1.0 / len(given) for family in given}
