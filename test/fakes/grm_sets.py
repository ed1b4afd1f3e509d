"""Small counterfactual sets without a simulator: a bar that moves, edits that are to be seen."""

from pathlib import Path

import numpy as np

from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import write_manifest

FRAMES = 10
SIZE = 16
NEGATIVE, ROBUST = 'empty_grasp', 'background_change'


def source_pictures(frames: int, size: int, seed: int) -> np.ndarray:
    """Return pictures of a bar that moves from left to right, over a floor of its own colour."""
    pictures = np.full((frames, size, size, 3), 40 + 20 * (seed % 4), np.uint8)
    for i in range(frames):
        at = round(i * (size - 3) / (frames - 1))
        pictures[i, :, at : at + 3] = 230
    return pictures


def write_set(folder: Path, splits: list[str], *, size: int = SIZE, first: int = 0) -> Path:
    """Write a set with one episode for each entry of `splits`."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [_write_episode(folder, first + n, split, size) for n, split in enumerate(splits)]
    write_manifest(folder, records)
    return folder


def _write_episode(folder: Path, number: int, split: str, size: int) -> SourceRecord:
    name = f'bars-push-0-{number}'
    (folder / name).mkdir()
    source = source_pictures(FRAMES, size, number)
    np.savez_compressed(folder / name / 'source.npz', head=source)
    failed = source[4:].copy()
    failed[..., 1:] = 0  # a failure is red
    failed[0] = source[4]  # which nobody sees in its first frame
    shares = [0.0] + [0.9] * (FRAMES - 5)
    tinted = source.copy()
    tinted[:, :4, :, 2] = 255
    edits = [
        _write_edit(folder, name, NEGATIVE, 4, failed, shares),
        _write_edit(folder, name, ROBUST, 0, tinted, [0.25] * FRAMES),
    ]
    return SourceRecord(
        episode=name,
        split=split,
        body='bars',
        task=f'push_{number % 2}',
        instruction='push the bar' if number % 2 else 'move the bar',
        seed=0,
        initial_state=number,
        frames=FRAMES,
        roles=['head'],
        size_px=size,
        phases=[],
        file=f'{name}/source.npz',
        edits=edits,
    )


def _write_edit(
    folder: Path, name: str, operator: str, start: int, pictures: np.ndarray, shares: list[float]
) -> EditRecord:
    frames = list(range(start, start + len(pictures)))
    np.savez_compressed(folder / name / f'{operator}.npz', frames=np.array(frames), head=pictures)
    return EditRecord(
        operator=operator,
        group='negative' if operator == NEGATIVE else 'robust',
        primitive='push-move',
        target='',
        onset='persistent',
        start=start,
        stop=start + len(pictures),
        edited_frames=frames,
        changed_pixels=shares,
        is_multi_stage=False,
        has_many_objects=False,
        seed=0,
        renderer='drawn',
        file=f'{name}/{operator}.npz',
    )
