"""What an episode's runner hands out: the end of a chunk, the start of an episode."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Predicates


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What a chunk did; `end` is the end of the episode if this chunk was its last."""

    predicates: Predicates
    done: ChunkDone
    end: Episode | None


@dataclass(frozen=True, slots=True)
class ResetResult:
    """A new episode with its initial truth (chunk 0), and what was left of the one before."""

    episode: Episode
    predicates: Predicates
    open_chunk: ChunkResult | None
    end_before: Episode | None
