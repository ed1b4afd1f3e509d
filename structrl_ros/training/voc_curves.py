"""The progress that a model sees in a trajectory, query by query (Robo-Dopamine 2.0, Eq. 12-17).

Panels come from what was shown so far (`online`, as in deployment), or from the aligned source
(`reference`, as in the paper's offline evaluation). The goal image is the source's last frame;
backward queries have no panels in either (Eq. 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from structrl_ros.evaluation.grm_scores import TrajectoryScore
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import SourceEpisode
from structrl_ros.progress.context import online_queries
from structrl_ros.progress.fusion import fuse
from structrl_ros.progress.rank_correlation import spearman
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.voc import compute_voc
from structrl_ros.training.voc_trajectories import VocTrajectory
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

Context = Literal['online', 'reference']

#: Fused potential from which a task counts as completed, and true potential from which it is.
COMPLETED_ESTIMATE = 0.9
COMPLETED_TRUTH = 0.99
#: Shares of a trajectory at which completion is judged.
JUDGED_AT = (0.5, 1.0)
#: Queries that a model is asked at once; a network looks at a picture once for all of them.
_BATCH = 192


@dataclass(frozen=True, slots=True)
class Curve:
    """What a model said of a trajectory of T frames.

    Attributes:
        hops: Forward, backward and incremental hop of frames 1 to T - 1, shape (T - 1, 3).
        potential: Fused, shape (T,).
        negative: The gate of each frame, shape (T,).
    """

    hops: Float64
    potential: Float64
    negative: Bool


def trace(
    trajectory: VocTrajectory,
    model: ProgressModel,
    layout: Layout,
    *,
    context: Context = 'online',
    hides_panels: bool = False,
) -> Curve:
    """Return the curve of a trajectory of at least two frames.

    Args:
        trajectory: What is shown.
        model: Is asked once for each anchor and frame.
        layout: Panels of its queries; 0 and 0 is the static layout.
        context: Whose history the panels show.
        hides_panels: Leave all panels empty: `static8` of a model that knows panels.
    """
    if context == 'online':
        views = [frame.views for frame in trajectory.shown]
        queries = online_queries(views, layout, trajectory.source[-1].views)
    else:
        queries = reference_queries(trajectory, layout)
    if hides_panels:
        queries = [query.without_panels() for query in queries]
    answers = [
        model.hops(queries[first : first + _BATCH]) for first in range(0, len(queries), _BATCH)
    ]
    hops = np.concatenate(answers).reshape(-1, 3)
    fused = fuse(hops[:, 0], hops[:, 1], hops[:, 2])
    return Curve(hops, fused.potential, fused.negative_branch)


def reference_queries(trajectory: VocTrajectory, layout: Layout) -> list[Query]:
    """Return `online_queries` with panels of the unedited source; endpoints are as shown."""
    source, shown = SourceEpisode(trajectory.source, layout), trajectory.shown
    last = len(shown) - 1
    goal = trajectory.source[last]
    queries: list[Query] = []
    for t in range(1, len(shown)):
        for before, frame in ((0, shown[0]), (last, goal), (t - 1, shown[t - 1])):
            if frame is trajectory.source[before] and shown[t] is trajectory.source[t]:
                query = source.expert_query(before, t)
            else:
                query = source.reference_query(frame, shown[t])
            queries.append(query.without_panels() if frame is goal else query)
    return queries


def score(trajectory: VocTrajectory, curve: Curve | None) -> TrajectoryScore:
    """Return the VOC of a curve, of the incremental hops alone too, and the judged completions.

    A trajectory with a fault has no curve; one with a prediction that was no number has no VOC.
    """
    fault = trajectory.fault
    if curve is not None and not np.isfinite(curve.hops).all():
        fault = 'a prediction was no number'
    if curve is None or fault:
        return _scored(trajectory, curve, None, None, fault)
    floors = -np.maximum(curve.negative[1:], curve.negative[:-1]).astype(np.float64)
    alone = compute_voc(curve.hops[:, 2].tolist(), trajectory.truth.tolist(), floors.tolist())
    return _scored(trajectory, curve, spearman(curve.potential, trajectory.truth), alone, '')


def _scored(
    trajectory: VocTrajectory,
    curve: Curve | None,
    voc: float | None,
    alone: float | None,
    excluded: str,
) -> TrajectoryScore:
    estimate: Sequence[float] = () if curve is None else curve.potential.tolist()
    judged: list[tuple[bool, bool]] = []
    if not excluded:
        for share in JUDGED_AT:
            t = round(share * (len(estimate) - 1))
            is_completed = bool(trajectory.truth[t] >= COMPLETED_TRUTH)
            judged.append((is_completed, estimate[t] >= COMPLETED_ESTIMATE))
    return TrajectoryScore(
        trajectory=trajectory.name,
        episode=trajectory.episode,
        family=trajectory.family,
        voc=voc,
        voc_incremental=alone,
        excluded=excluded,
        truth=tuple(trajectory.truth.tolist()),
        estimate=tuple(estimate),
        completions=tuple(judged),
    )
