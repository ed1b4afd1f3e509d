"""Claims of what images are augmented with."""

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.models.grm.distinct import DistinctInput
from structrl_ros.training.grm_augmentation import augment
from structrl_ros.training.grm_augmentation import leave_out

pytestmark = pytest.mark.torch


def inputs(count=6, size=16):
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (count, size, size, 3), np.uint8))
    cells = torch.from_numpy(rng.integers(0, 256, (count, 8, 8, 3), np.uint8))
    index = torch.zeros(1, 4, 3, dtype=torch.int64)
    return DistinctInput(images, index, cells, index[:, 0], index[:, 0])


def test_nothing_changes_without_shift_and_gain():
    given = inputs()
    made = augment(given, np.random.default_rng(1), shift_px=0, brightness=0.0)
    assert torch.equal(made.views, given.views)
    assert torch.equal(made.cells, given.cells)


def test_shifts_move_whole_images_and_repeat_edges():
    given = inputs(count=40)
    made = augment(given, np.random.default_rng(1), shift_px=2, brightness=0.0)
    seen = set()
    for old, new in zip(given.views.numpy(), made.views.numpy(), strict=True):
        padded = np.pad(old, ((2, 2), (2, 2), (0, 0)), mode='edge')
        found = [
            (y, x)
            for y in range(5)
            for x in range(5)
            if np.array_equal(padded[y : y + 16, x : x + 16], new)
        ]
        assert len(found) == 1
        seen.add(found[0])
    assert len(seen) > 10


def test_gains_stay_in_range_and_draws_repeat():
    given = inputs()
    first, second = (
        augment(given, np.random.default_rng(5), shift_px=2, brightness=0.3) for _ in range(2)
    )
    assert torch.equal(first.views, second.views)
    plain = augment(inputs(), np.random.default_rng(5), shift_px=0, brightness=0.3)
    ratio = plain.views.double().mean() / given.views.double().mean()
    assert 0.7 < ratio < 1.3
    bright = DistinctInput(
        torch.full_like(given.views, 250), given.view_index, *inputs_rest(given)
    )
    made = augment(bright, np.random.default_rng(5), shift_px=0, brightness=0.3)
    assert int(made.views.min()) >= 175  # nothing wraps around


def inputs_rest(given):
    return given.cells, given.cell_index, given.words


def test_some_queries_lose_wrists_and_some_their_panels():
    given = inputs()
    index = torch.zeros(400, 4, 3, dtype=torch.int64)
    index[:200, :, 0] = -1  # the first half has no head camera
    many = DistinctInput(given.views, index, given.cells, index[:, 0].clone(), index[:, 0])
    made = leave_out(many, np.random.default_rng(0), wrists=0.5, panels=0.25)
    assert torch.equal(made.view_index[:200], index[:200])
    assert torch.equal(made.view_index[200:, :, 0], index[200:, :, 0])
    blind = (made.view_index[200:, :, 1:] == -1).all(dim=(1, 2))
    assert 70 < int(blind.sum()) < 130
    assert (made.view_index[200:][~blind] == 0).all()
    forgetful = (made.cell_index == -1).all(dim=1)
    assert 70 < int(forgetful.sum()) < 130
    plain = leave_out(many, np.random.default_rng(0), wrists=0.0, panels=0.0)
    assert torch.equal(plain.view_index, many.view_index)
    assert torch.equal(plain.cell_index, many.cell_index)
