"""Frozen embeddings of sentences, by name: a policy is conditioned on one, and never trains it.

What an embedding is to the last bit, its `identity`, is in the checkpoint: a policy that was
trained with one means nothing with another.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from typing import Protocol

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.types import Float32

#: Characters of the shortest and the longest piece of a word that counts.
PIECES = (3, 5)
#: Numbers of the embedding without weights.
DIMENSION = 64
_TOKENS = 64
_MODEL_FILES = ('config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json')


class Language(Protocol):
    """Turns sentences into vectors; the same sentence always becomes the same vector."""

    identity: str
    dimension: int

    def embed(self, sentences: Sequence[str]) -> Float32:
        """Return the vectors of sentences, shape (B, dimension), of length sqrt(dimension)."""


class NgramLanguage:
    """Words and their pieces, each a random direction drawn from its own name. No weights.

    A sentence is the sum of the directions of its words and of the pieces of three to five
    characters of them, brought to length sqrt(64). Sentences that share words are near each other;
    of meaning it knows nothing, so a word that was not trained on says little. Case and
    punctuation do not matter, nor does the order of words.
    """

    def __init__(self) -> None:
        self.dimension = DIMENSION
        self.identity = f'ngrams-{PIECES[0]}-{PIECES[1]}-{DIMENSION}-crc32-pcg64'

    def embed(self, sentences: Sequence[str]) -> Float32:
        """Return the vectors of sentences, shape (B, 64)."""
        return np.stack([_embed_pieces(sentence) for sentence in sentences])


@lru_cache(maxsize=4096)
def _embed_pieces(sentence: str) -> Float32:
    folded = ''.join(c if c.isalnum() else ' ' for c in sentence.lower())
    total = np.zeros(DIMENSION)
    for word in folded.split():
        framed = f'<{word}>'
        total += _direction(f'word {word}') * 2.0
        for size in range(PIECES[0], PIECES[1] + 1):
            for at in range(len(framed) - size + 1):
                total += _direction(framed[at : at + size]) / len(framed)
    length = float(np.linalg.norm(total))
    if length > 0.0:
        total *= DIMENSION**0.5 / length
    return total.astype(np.float32)


@lru_cache(maxsize=16384)
def _direction(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    random = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    return random.choice([-1.0, 1.0], DIMENSION)


class TransformerLanguage:
    """Mean of the last hidden states of an encoder in a folder, as sentence-transformers pool.

    For MiniLM (all-MiniLM-L6-v2) and its like. Nothing is downloaded.
    """

    def __init__(self, folder: Path) -> None:
        """Load model and tokenizer from a folder of transformers.

        Raises:
            ParameterError: If it is not one.
        """
        self.identity = f'transformer-{_digest(folder)}'
        from transformers import AutoModel
        from transformers import AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True).eval()
        except (OSError, ValueError) as error:
            reason = ' '.join(str(error).split())[:160]
            raise ParameterError(f'language {folder}: cannot be loaded: {reason}') from None
        self.dimension = int(self._model.config.hidden_size)
        self._known: dict[str, Float32] = {}

    def embed(self, sentences: Sequence[str]) -> Float32:
        """Return the vectors of sentences, shape (B, dimension)."""
        for sentence in sentences:
            if sentence not in self._known:
                self._known[sentence] = self._read(sentence)
        return np.stack([self._known[sentence] for sentence in sentences])

    def _read(self, sentence: str) -> Float32:
        import torch

        tokens = self._tokenizer(
            sentence, truncation=True, max_length=_TOKENS, return_tensors='pt'
        )
        with torch.no_grad():
            mean = self._model(**tokens).last_hidden_state[0].mean(dim=0)
        vector: Float32 = (mean / mean.norm() * self.dimension**0.5).float().numpy()
        return vector


@lru_cache(maxsize=4)
def make_language(name: str) -> Language:
    """Return an embedding by name: 'ngrams', or 'transformer:FOLDER'.

    Raises:
        ParameterError: If there is none of the name, or the folder holds no encoder.
    """
    kind, _, folder = name.partition(':')
    if kind == 'ngrams' and not folder:
        return NgramLanguage()
    if kind == 'transformer' and folder:
        return TransformerLanguage(Path(folder).expanduser())
    raise ParameterError(f'unknown language {name!r}; allowed: ngrams, transformer:FOLDER')


def _digest(folder: Path) -> str:
    """Return the first digits of the SHA-256 of model and tokenizer."""
    found = hashlib.sha256()
    missing = [name for name in _MODEL_FILES[:3] if not (folder / name).is_file()]
    if missing:
        raise ParameterError(
            f'language {folder}: {missing[0]} is missing; allowed: a folder of '
            "transformers' save_pretrained, with safetensors and tokenizer.json"
        )
    for name in _MODEL_FILES:
        if (folder / name).is_file():
            with (folder / name).open('rb') as file:
                found.update(hashlib.file_digest(file, 'sha256').digest())
    return found.hexdigest()[:16]
