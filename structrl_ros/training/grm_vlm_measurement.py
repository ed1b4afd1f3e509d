"""How well a GRM on a vision-language model answers held-out pairs, and how often not at all."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from structrl_ros.models.grm.vlm import answer_queries
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.training.grm_measurement import FamilyScore
from structrl_ros.training.grm_measurement import score_pairs

if TYPE_CHECKING:
    from structrl_ros.training.grm_curriculum import PairSource


def score_answered(
    network: VlmGrmNetwork, table: PairSource, rows: int
) -> tuple[dict[str, FamilyScore], float]:
    """Return the scores of the pairs with an answer, {} if none has, and the share without one.

    Args:
        network: On any device.
        table: Held-out pairs.
        rows: Pairs that go through the network at a time.
    """
    answers = np.full(len(table), np.nan)
    for start in range(0, len(table), rows):
        chosen = range(start, min(start + rows, len(table)))
        queries, instructions = table.batch(chosen)
        answers[chosen.start : chosen.stop] = answer_queries(
            network, queries, instructions, batch=rows
        )
    is_read = np.isfinite(answers)
    unread = float(1.0 - is_read.mean())
    if not is_read.any():
        return {}, unread
    read: Any = copy.copy(table)
    read.pairs = [pair for pair, told in zip(table.pairs, is_read, strict=True) if told]
    read.labels = table.labels[is_read]
    return score_pairs(answers[is_read], read), unread
