"""Signed potentials and the families of training pairs (Robo-Dopamine 2.0, Eq. 5 to 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from structrl_ros.errors import ParameterError
from structrl_ros.progress.hop import LABEL_SCALE
from structrl_ros.progress.hop import signed_hop
from structrl_ros.progress.source_progress import signed_potential
from structrl_ros.types import Float64

Bool = NDArray[np.bool_]


class Branch(StrEnum):
    """What a state is: as in the source, robust (edited, task kept) or negative (task failed)."""

    POSITIVE = 'positive'
    ROBUST = 'robust'
    NEGATIVE = 'negative'


class Family(StrEnum):
    """Families with a quota each, so that abundant pairs do not crowd out the rare ones."""

    PROGRESS = 'progress'
    REGRESS = 'regress'
    START_ANCHORED = 'start_anchored'
    GOAL_ANCHORED = 'goal_anchored'
    INVARIANCE = 'invariance'
    ROBUST = 'robust'
    FAILURE = 'failure'
    RECOVERY = 'recovery'
    WITHIN_FAILURE = 'within_failure'


#: Share of each family. The paper has fixed quotas and gives no numbers; these are ours.
QUOTAS: Mapping[Family, float] = {
    Family.PROGRESS: 0.15,
    Family.REGRESS: 0.10,
    Family.START_ANCHORED: 0.10,
    Family.GOAL_ANCHORED: 0.10,
    Family.INVARIANCE: 0.10,
    Family.ROBUST: 0.15,
    Family.FAILURE: 0.12,
    Family.RECOVERY: 0.10,
    Family.WITHIN_FAILURE: 0.08,
}


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What pairs need to know of one source and its edited descendants.

    Attributes:
        episode: Name of the source.
        total: Frames T of the source, at least 2.
        edits: For each edited descendant, its name, branch and frames.
    """

    episode: str
    total: int
    edits: Mapping[str, tuple[Branch, range]] = field(default_factory=dict)

    def potential(self, index: int, branch: Branch) -> float:
        """Return Phi of a state (Eq. 5 and 6).

        Raises:
            ParameterError: If the frame is outside the trajectory, or a negative one is frame 0.
        """
        return signed_potential(index, self.total, is_negative=branch is Branch.NEGATIVE)


@dataclass(frozen=True, slots=True)
class State:
    """One endpoint: a frame of the source, or of one of its edited descendants."""

    index: int
    branch: Branch = Branch.POSITIVE
    edit: str = ''


@dataclass(frozen=True, slots=True)
class Pair:
    """An ordered pair of one source, with its target."""

    episode: str
    before: State
    after: State
    family: Family
    hop: float


def make_pair(trajectory: Trajectory, before: State, after: State) -> Pair:
    """Return the pair with its family and signed hop (Eq. 8).

    Anchored families are pairs of source frames that begin at frame 0 or at the last one.
    """
    phi = [trajectory.potential(state.index, state.branch) for state in (before, after)]
    flags = [state.branch is Branch.NEGATIVE for state in (before, after)]
    hop = float(signed_hop(phi[0], phi[1], flags[0], flags[1]))
    return Pair(trajectory.episode, before, after, _family(trajectory, before, after), hop)


def _family(trajectory: Trajectory, before: State, after: State) -> Family:
    negative = (before.branch is Branch.NEGATIVE, after.branch is Branch.NEGATIVE)
    if any(negative):
        return {
            (False, True): Family.FAILURE,
            (True, False): Family.RECOVERY,
            (True, True): Family.WITHIN_FAILURE,
        }[negative]
    if Branch.ROBUST in (before.branch, after.branch):
        return Family.INVARIANCE if before.index == after.index else Family.ROBUST
    if before.index == 0:
        return Family.START_ANCHORED
    if before.index == trajectory.total - 1:
        return Family.GOAL_ANCHORED
    return Family.PROGRESS if after.index > before.index else Family.REGRESS


def sample_pairs(
    trajectories: list[Trajectory],
    count: int,
    rng: np.random.Generator,
    quotas: Mapping[Family, float] = QUOTAS,
) -> list[Pair]:
    """Return about `count` pairs, each family with its share of them, grouped by family.

    A family that no trajectory can give (no edits, too few frames) gives its share to the others
    in proportion, so the total holds. Trajectories are drawn evenly within a family, edits evenly
    within a trajectory.

    Raises:
        ParameterError: If the quotas do not sum to 1 or no family can be drawn.
    """
    if abs(sum(quotas.values()) - 1.0) > 1e-9 or min(quotas.values()) < 0.0:
        raise ParameterError(f'quotas sum to {sum(quotas.values()):g}; allowed: 1, none negative')
    sources = {
        family: [t for t in trajectories if _can_give(t, family)]
        for family, share in quotas.items()
        if share > 0.0
    }
    given = {family: found for family, found in sources.items() if found}
    if not given:
        raise ParameterError(
            'no trajectory gives a pair of any family; allowed: 2 frames and more'
        )
    scale = count / sum(quotas[family] for family in given)
    edges = np.rint(np.cumsum([0.0, *(scale * quotas[family] for family in given)])).astype(int)
    pairs: list[Pair] = []
    for number, (family, found) in enumerate(given.items()):
        pairs += [
            _draw(found[rng.integers(len(found))], family, rng)
            for _ in range(edges[number + 1] - edges[number])
        ]
    return pairs


def _edits(trajectory: Trajectory, branch: Branch) -> list[tuple[str, range]]:
    return [
        (name, frames)
        for name, (kind, frames) in trajectory.edits.items()
        if kind is branch and len(frames)
    ]


def _can_give(trajectory: Trajectory, family: Family) -> bool:
    if family in (Family.PROGRESS, Family.REGRESS):
        return trajectory.total >= 4
    if family in (Family.START_ANCHORED, Family.GOAL_ANCHORED):
        return trajectory.total >= 2
    if family in (Family.INVARIANCE, Family.ROBUST):
        return bool(_edits(trajectory, Branch.ROBUST))
    found = _edits(trajectory, Branch.NEGATIVE)
    return (
        any(len(frames) >= 2 for _, frames in found)
        if family.startswith('within')
        else bool(found)
    )


def _draw(trajectory: Trajectory, family: Family, rng: np.random.Generator) -> Pair:
    last = trajectory.total - 1
    if family in (Family.PROGRESS, Family.REGRESS):
        first, second = sorted(rng.choice(np.arange(1, last), size=2, replace=False).tolist())
        ends = (first, second) if family is Family.PROGRESS else (second, first)
        return make_pair(trajectory, State(ends[0]), State(ends[1]))
    if family is Family.START_ANCHORED:
        return make_pair(trajectory, State(0), State(int(rng.integers(1, last + 1))))
    if family is Family.GOAL_ANCHORED:
        return make_pair(trajectory, State(last), State(int(rng.integers(0, last))))
    if family in (Family.INVARIANCE, Family.ROBUST):
        return _draw_robust(trajectory, family, rng)
    return _draw_negative(trajectory, family, rng)


def _draw_robust(trajectory: Trajectory, family: Family, rng: np.random.Generator) -> Pair:
    edits = _edits(trajectory, Branch.ROBUST)
    name, frames = edits[rng.integers(len(edits))]
    state = State(int(rng.choice(frames)), Branch.ROBUST, name)
    if family is Family.INVARIANCE:
        other = State(state.index)
    else:
        others = [i for i in range(trajectory.total) if i != state.index]
        index = int(rng.choice(others))
        stays = index in frames and rng.random() < 0.5
        other = State(index, Branch.ROBUST, name) if stays else State(index)
    ends = (state, other) if rng.random() < 0.5 else (other, state)
    return make_pair(trajectory, *ends)


def _draw_negative(trajectory: Trajectory, family: Family, rng: np.random.Generator) -> Pair:
    least = 2 if family is Family.WITHIN_FAILURE else 1
    edits = [e for e in _edits(trajectory, Branch.NEGATIVE) if len(e[1]) >= least]
    name, frames = edits[rng.integers(len(edits))]
    picked = rng.choice(frames, size=least, replace=False).tolist()
    failed = [State(int(i), Branch.NEGATIVE, name) for i in picked]
    if family is Family.WITHIN_FAILURE:
        return make_pair(trajectory, failed[0], failed[1])
    other = State(int(rng.integers(trajectory.total)))
    robust = _edits(trajectory, Branch.ROBUST)
    if robust and rng.random() < 0.25:
        robust_name, robust_frames = robust[rng.integers(len(robust))]
        other = State(int(rng.choice(robust_frames)), Branch.ROBUST, robust_name)
    ends = (other, failed[0]) if family is Family.FAILURE else (failed[0], other)
    return make_pair(trajectory, *ends)


def labels_of(pairs: list[Pair]) -> Float64:
    """Return the regression targets y = 100 hop (Eq. 9), shape (N,)."""
    return LABEL_SCALE * np.array([pair.hop for pair in pairs], dtype=np.float64)
