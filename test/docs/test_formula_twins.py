"""Formulas that are written twice, for speed or for a whole batch: both give the same."""

from __future__ import annotations

import numpy as np
import pytest

from structrl_ros.evaluation.sim_to_real_measures import spearman as spearman_of_rows
from structrl_ros.progress.hop import invert_hop
from structrl_ros.progress.rank_correlation import spearman
from structrl_ros.progress.voc import accumulate_hops


def test_accumulated_hops_are_those_of_the_inverse_to_the_last_bit() -> None:
    random = np.random.default_rng(0)
    for start, hops, floors in zip(
        random.uniform(-1.0, 1.0, 50),
        random.uniform(-1.0, 1.0, (50, 40)),
        -random.integers(0, 2, (50, 40)).astype(float),
        strict=True,
    ):
        phi, expected = start, [start]
        for hop, floor in zip(hops, floors, strict=True):
            phi = float(np.clip(invert_hop(hop, phi, floor), -1.0, 1.0))
            expected.append(phi)
        assert accumulate_hops(hops.tolist(), float(start), floors.tolist()) == expected


def test_rank_correlation_of_rows_is_that_of_each_row() -> None:
    random = np.random.default_rng(1)
    first, second = random.integers(0, 5, (2, 30, 8)).astype(float)
    rows = spearman_of_rows(first, second)
    for row, a, b in zip(rows, first, second, strict=True):
        if np.ptp(a) > 0.0 and np.ptp(b) > 0.0:
            assert row == pytest.approx(spearman(a, b), abs=1e-12)
        else:  # a constant side orders nothing: the rows say so by NaN, one correlation by 0
            assert np.isnan(row)
            assert spearman(a, b) == 0.0
