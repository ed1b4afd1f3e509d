"""What a picture policy imitates: what was seen at some moments, and the chunk that followed.

Pictures are dear to render and to store, so a chunk has them at its beginning alone; between two
of them any number of low-level steps may pass. A file is safetensors with its names as JSON.
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
_ARRAYS = ('features', 'actions', 'valid', 'sentence', 'targets')


@dataclass(frozen=True, slots=True)
class PictureChunks:
    """N chunks of demonstrations.

    Attributes:
        features: State vectors at the beginning of each chunk, shape (N, F).
        actions: What the demonstrator did, in the body's space, shape (N, L, D).
        valid: Which rows were done, shape (N, L); the others are past an end.
        sentence: Number of the sentence that was pursued, shape (N,).
        targets: Offset from the tool to what the sentence is about, in the base frame, metres,
            shape (N, 3); NaN where nobody knows.
        sentences: Sentences, each once.
        feature_names: Length F.
        images: Camera role to pictures, upright RGB, shape (N, H, W, 3), uint8.
        origin: What they were made of, for the card.
    """

    features: Float32
    actions: Float32
    valid: Bool
    sentence: Int
    targets: Float32
    sentences: tuple[str, ...]
    feature_names: tuple[str, ...]
    images: Mapping[str, UInt8] = field(default_factory=dict)
    origin: str = ''

    def __post_init__(self) -> None:
        """Check that the arrays fit together.

        Raises:
            ParameterError: If they do not, or a number is not finite.
        """
        count = len(self.features)
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f'image of {role}': image for role, image in self.images.items()}
        for name, array in arrays.items():
            if len(array) != count:
                raise ParameterError(f'chunks: {name} has {len(array)} entries, not {count}')
        if self.features.shape[1:] != (len(self.feature_names),):
            raise ParameterError(
                f'chunks: features have shape {self.features.shape}; '
                f'allowed: (N, {len(self.feature_names)})'
            )
        for name in ('features', 'actions'):
            if not np.isfinite(arrays[name]).all():
                raise ParameterError(f'chunks: {name} hold a number that is not finite')

    def __len__(self) -> int:
        """Return N."""
        return len(self.features)


def join_chunks(parts: Sequence[PictureChunks]) -> PictureChunks:
    """Return the chunks of several parts; sentences are counted anew.

    Raises:
        ParameterError: If there is none, or they have other features, cameras or sizes.
    """
    if not parts:
        raise ParameterError('chunks: at least one demonstration is needed, got none')
    first = parts[0]
    layouts = {_layout(part) for part in parts}
    if len(layouts) > 1:
        raise ParameterError(f'chunks: the parts differ: {" and ".join(sorted(layouts)[:2])}')
    sentences = tuple(dict.fromkeys(text for part in parts for text in part.sentences))
    numbers = [
        np.array([sentences.index(text) for text in part.sentences], dtype=np.int64)[part.sentence]
        for part in parts
    ]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in _ARRAYS
        if name != 'sentence'
    }
    return PictureChunks(
        **arrays,
        sentence=np.concatenate(numbers),
        sentences=sentences,
        feature_names=first.feature_names,
        images={r: np.concatenate([part.images[r] for part in parts]) for r in first.images},
        origin='; '.join(dict.fromkeys(part.origin for part in parts if part.origin)),
    )


def save_chunks(path: Path, chunks: PictureChunks) -> None:
    """Write a file, whole or not at all.

    Raises:
        CheckpointError: If it cannot be written.
    """
    arrays = {name: getattr(chunks, name) for name in _ARRAYS}
    arrays |= {f'{_IMAGE}{role}': image for role, image in chunks.images.items()}
    details = {
        'format': _FORMAT,
        'kind': 'picture chunks',
        'sentences': list(chunks.sentences),
        'feature_names': list(chunks.feature_names),
        'origin': chunks.origin,
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()}
    save_tensors(path, tensors, details)


def load_chunks(path: Path) -> PictureChunks:
    """Return the chunks of a file.

    Raises:
        CheckpointError: If it is missing, cut or of another format.
    """
    tensors, details = load_tensors(path)
    if (details.get('kind'), details.get('format')) != ('picture chunks', _FORMAT):
        raise CheckpointError(f'{path}: no picture chunks of format {_FORMAT}')
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
    images = {
        name.removeprefix(_IMAGE): arrays.pop(name) for name in list(arrays) if _IMAGE in name
    }
    try:
        return PictureChunks(
            **arrays,
            sentences=tuple(details['sentences']),
            feature_names=tuple(details['feature_names']),
            images=images,
            origin=str(details['origin']),
        )
    except (KeyError, TypeError, ParameterError) as error:
        raise CheckpointError(f'{path}: {error}') from None


def _layout(chunks: PictureChunks) -> str:
    sizes = {role: image.shape[1:3] for role, image in sorted(chunks.images.items())}
    return f'{len(chunks.feature_names)} features, chunks {chunks.actions.shape[1:]}, {sizes}'
