"""`Event`: one error in a rollout, when it began and was seen, and whether it was made good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.world_types import Bool


@dataclass(frozen=True, slots=True)
class Event:
    """An error; `subject` names the thing that it is about.

    `kind` is one of `SPECIFIC_ERRORS`; `first` and `last` are moments of a `Track`: when it began
    and when it was plain.
    """

    kind: str
    subject: str
    first: int
    last: int
    recovered: bool
    text: str


def runs(is_true: Bool) -> list[tuple[int, int]]:
    """Return where a series is true, as [begin, end) of each stretch; one false moment joins.

    A single moment without touch in a grasp is a flicker of the contacts, not a release.
    """
    padded = np.concatenate([[False], is_true, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2).tolist()
    joined: list[tuple[int, int]] = []
    for begin, end in edges:
        if joined and begin - joined[-1][1] <= 1:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return joined
