"""Demonstrations: what was seen before every low-level step, and what the expert would do there.

A file of them is safetensors with its names as JSON inside; nothing is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.checkpoint import load_tensors
from structrl_ros.models.checkpoint import save_tensors
from structrl_ros.types import Float32
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool
from structrl_ros.world_types import Int

_FORMAT = 1
_IMAGE = 'image/'


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """E episodes, one after another: S low-level steps in all.

    Attributes:
        features: What was seen before each step, shape (S, F).
        actions: What the expert would do there, in the body's space, clean, shape (S, D).
        by_expert: Whether what was executed came from the expert (a perturbed action of its own
            counts), shape (S,); False where a policy was at the wheel.
        lengths: Steps of each episode, shape (E,).
        success: Whether it succeeded, shape (E,).
        tasks: Names, length E.
        instructions: Sentences, length E.
        feature_names: Length F.
        images: Camera role to what was seen, shape (S, H, W, 3).
    """

    features: Float32
    actions: Float32
    by_expert: Bool
    lengths: Int
    success: Bool
    tasks: tuple[str, ...]
    instructions: tuple[str, ...]
    feature_names: tuple[str, ...]
    images: Mapping[str, UInt8] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the arrays fit together.

        Raises:
            ParameterError: If they do not, or a number is not finite.
        """
        steps, episodes = int(self.lengths.sum()), len(self.lengths)
        sizes = {
            'features': (len(self.features), steps),
            'actions': (len(self.actions), steps),
            'by_expert': (len(self.by_expert), steps),
            'success': (len(self.success), episodes),
            'tasks': (len(self.tasks), episodes),
            'instructions': (len(self.instructions), episodes),
            'feature_names': (len(self.feature_names), self.features.shape[1]),
            **{f'image of {r}': (len(image), steps) for r, image in self.images.items()},
        }
        for name, (got, wanted) in sizes.items():
            if got != wanted:
                raise ParameterError(f'demonstrations: {name} has {got} entries, not {wanted}')
        for name, values in (('features', self.features), ('actions', self.actions)):
            if not np.isfinite(values).all():
                raise ParameterError(f'demonstrations: {name} hold a number that is not finite')

    @property
    def episodes(self) -> int:
        """E."""
        return len(self.lengths)

    def keep(self, episodes: Bool) -> Demonstrations:
        """Return some of the episodes, by a mask of shape (E,)."""
        steps = np.repeat(episodes, self.lengths)
        numbers = np.flatnonzero(episodes).tolist()
        return Demonstrations(
            features=self.features[steps],
            actions=self.actions[steps],
            by_expert=self.by_expert[steps],
            lengths=self.lengths[episodes],
            success=self.success[episodes],
            tasks=tuple(self.tasks[i] for i in numbers),
            instructions=tuple(self.instructions[i] for i in numbers),
            feature_names=self.feature_names,
            images={role: image[steps] for role, image in self.images.items()},
        )

    def windows(self, length: int) -> tuple[Int, Bool]:
        """Return the windows of `length` steps that a policy may imitate.

        A window begins at a step and takes what the expert would do in it and in the next ones.
        Within it all but the last executed action must be the expert's, or the later labels
        would belong to another way; past the end of the episode its rows are not valid.

        Returns:
            Number of the first step, shape (W,), and validity of each row, (W, length).
        """
        ends = np.cumsum(self.lengths)
        last = np.repeat(ends, self.lengths)
        steps = np.arange(len(last))
        rows = steps[:, None] + np.arange(length)
        valid = rows < last[:, None]
        is_own = self.by_expert[np.minimum(rows, len(steps) - 1)] | ~valid
        kept = is_own[:, :-1].all(axis=1)
        return steps[kept], valid[kept]


def join_demonstrations(parts: Sequence[Demonstrations]) -> Demonstrations:
    """Return all episodes of several demonstrations.

    Raises:
        ParameterError: If there is none, or their features differ.
    """
    if not parts:
        raise ParameterError('demonstrations: at least one part is needed, got none')
    first = parts[0]
    if any(part.feature_names != first.feature_names for part in parts):
        raise ParameterError('demonstrations: the parts have other features')
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ('features', 'actions', 'by_expert', 'lengths', 'success')
    }
    return Demonstrations(
        **arrays,
        tasks=tuple(task for part in parts for task in part.tasks),
        instructions=tuple(text for part in parts for text in part.instructions),
        feature_names=first.feature_names,
        images={r: np.concatenate([part.images[r] for part in parts]) for r in first.images},
    )


def save_demonstrations(path: Path, demonstrations: Demonstrations) -> None:
    """Write a file, whole or not at all.

    Raises:
        CheckpointError: If it cannot be written.
    """
    tensors = {
        name: torch.from_numpy(np.ascontiguousarray(getattr(demonstrations, name)))
        for name in ('features', 'actions', 'by_expert', 'lengths', 'success')
    }
    tensors |= {
        f'{_IMAGE}{role}': torch.from_numpy(np.ascontiguousarray(image))
        for role, image in demonstrations.images.items()
    }
    details = {
        'format': _FORMAT,
        'tasks': list(demonstrations.tasks),
        'instructions': list(demonstrations.instructions),
        'feature_names': list(demonstrations.feature_names),
    }
    save_tensors(path, tensors, details)


def load_demonstrations(path: Path) -> Demonstrations:
    """Return the demonstrations of a file.

    Raises:
        CheckpointError: If it is missing, cut or of another format.
    """
    tensors, details = load_tensors(path)
    if details.get('format') != _FORMAT:
        raise CheckpointError(f'{path}: no demonstrations of format {_FORMAT}')
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
    images = {
        name.removeprefix(_IMAGE): arrays.pop(name) for name in list(arrays) if _IMAGE in name
    }
    names: dict[str, Any] = {
        key: tuple(details[key]) for key in ('tasks', 'instructions', 'feature_names')
    }
    try:
        return Demonstrations(**arrays, **names, images=images)
    except (TypeError, ParameterError) as error:
        raise CheckpointError(f'{path}: {error}') from None
