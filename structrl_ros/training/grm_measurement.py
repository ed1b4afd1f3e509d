"""How well a GRM answers held-out pairs: error, sign and order, family by family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from structrl_ros.models.grm.distinct import make_distinct
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.progress.pairs import Family
from structrl_ros.progress.rank_correlation import spearman
from structrl_ros.training.grm_pairs import PairTable
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.types import Float64

_BATCH = 128


@dataclass(frozen=True, slots=True)
class FamilyScore:
    """Answers against truth over the pairs of one family, or of all.

    Attributes:
        count: Pairs.
        mse: Mean squared error of 100 x hop.
        sign: Share of pairs with a hop other than 0 whose sign is right, None without such.
        rank: Spearman's correlation, None where all hops are the same.
    """

    count: int
    mse: float
    sign: float | None
    rank: float | None


def answer_pairs(network: GrmNetwork, table: PairTable) -> Float64:
    """Return the answers to all pairs, 100 x hop, not clipped, shape (N,)."""
    device = next(network.parameters()).device
    answers: list[Tensor] = []
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for start in range(0, len(table), _BATCH):
            queries, instructions = table.batch(range(start, min(start + _BATCH, len(table))))
            inputs = make_distinct(network.config, queries, instructions)
            answers.append(network.answer_distinct(inputs.to(device)).cpu())
    network.train(was_training)
    values: Float64 = torch.cat(answers).double().numpy()
    return values


def score_pairs(answers: Float64, table: PairTable) -> dict[str, FamilyScore]:
    """Return the score of 'all' pairs and of each family that is there."""
    families = np.array([pair.family.value for pair in table.pairs])
    found = {'all': _score(answers, table.labels)}
    for family in Family:
        chosen = families == family.value
        if chosen.any():
            found[family.value] = _score(answers[chosen], table.labels[chosen])
    return found


def _score(answers: Float64, labels: Float64) -> FamilyScore:
    moves = labels != 0.0
    right = np.sign(answers[moves]) == np.sign(labels[moves])
    is_constant = len(labels) < 2 or bool((labels == labels[0]).all())
    return FamilyScore(
        count=len(labels),
        mse=float(np.mean((answers - labels) ** 2)),
        sign=float(right.mean()) if moves.any() else None,
        rank=None if is_constant else spearman(answers, labels),
    )


def score_metrics(prefix: str, scores: Mapping[str, FamilyScore]) -> Metrics:
    """Return the numbers by name, for the log."""
    metrics: Metrics = {}
    for family, score in scores.items():
        metrics[f'{prefix}/{family}/mse'] = score.mse
        metrics[f'{prefix}/{family}/sign'] = score.sign
        metrics[f'{prefix}/{family}/rank'] = score.rank
    return metrics
