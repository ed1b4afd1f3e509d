"""Queries of the GRM with their history, and where that history may come from.

Robo-Dopamine 2.0, Eq. 1 to 3, 13. Provenance is a matter of who makes a query, not of a flag:

- `SourceEpisode.expert_query`: endpoints and panels of one successful episode;
- `SourceEpisode.reference_query`: edited endpoints, panels of the unedited source alone;
- `Rollout.forward`, `incremental`, `backward`: panels of what was observed so far.

A `Query` cannot be made in any other way, a source takes no edited frame, and a rollout asks about
its newest frame alone, so no query holds the future of a rollout nor an edited panel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from enum import StrEnum

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.strip import Panels
from structrl_ros.progress.strip import Strip
from structrl_ros.progress.views import PADDING_LEVEL
from structrl_ros.progress.views import Views

_SEAL = object()


class Provenance(StrEnum):
    """Whose history the panels show."""

    EXPERT = 'expert'
    REFERENCE = 'reference'
    ROLLOUT = 'rollout'


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """A frame of a successful episode, as it was seen."""

    episode: str
    index: int
    views: Views


@dataclass(frozen=True, slots=True)
class EditedFrame:
    """A counterfactual frame; it keeps its source and the operator that made it (Eq. 27)."""

    source: SourceFrame
    operator: str
    views: Views


@dataclass(frozen=True, slots=True)
class Query:
    """One input of the GRM (Eq. 1): anchors, panels before, X_b, panels between, X_a.

    Attributes:
        provenance: Whose history the panels show.
        start: Task-reference anchor r_s.
        goal: Anchor r_g, None if there is none.
        pre: Panels of [0, min), oldest first.
        before: Endpoint X_b.
        between: Panels of (min, max), oldest first.
        after: Endpoint X_a.
        seal: Given by the makers named above.
    """

    provenance: Provenance
    start: Views
    goal: Views | None
    pre: Panels
    before: Views
    between: Panels
    after: Views
    seal: object

    def __post_init__(self) -> None:
        """Refuse queries whose history has no provenance.

        Raises:
            ParameterError: If another than an episode or a rollout makes the query.
        """
        if self.seal is not _SEAL:
            raise ParameterError(
                'query without provenance; allowed: SourceEpisode.expert_query or '
                'reference_query, Rollout.forward, incremental or backward'
            )

    def without_panels(self) -> Query:
        """Return the query with no frame in its panels, as the backward one has them."""
        return replace(self, pre=_emptied(self.pre), between=_emptied(self.between))

    def without_wrists(self) -> Query:
        """Return the query with head views alone, of endpoints that have one."""
        return replace(self, before=_head_alone(self.before), after=_head_alone(self.after))


class SourceEpisode:
    """A successful episode: the history of standard queries, the reference of edited ones."""

    def __init__(self, frames: Sequence[SourceFrame], layout: Layout) -> None:
        """Take the frames 0 to T - 1 of one episode.

        Raises:
            ParameterError: If a frame is edited, of another episode or out of order, or there are
                fewer than two.
        """
        if len(frames) < 2:
            raise ParameterError(f'source of {len(frames)} frames; allowed: 2 and more')
        for i, frame in enumerate(frames):
            if not isinstance(frame, SourceFrame):
                raise ParameterError(
                    f'source frame {i} is {type(frame).__name__}; allowed: unedited SourceFrame'
                )
            if (frame.episode, frame.index) != (frames[0].episode, i):
                raise ParameterError(
                    f'source frame {i} is {frame.episode!r} {frame.index}; allowed: '
                    f'{frames[0].episode!r} {i}'
                )
        self.frames = tuple(frames)
        self._strip = Strip(layout)
        for frame in frames:
            self._strip.add(frame.views)

    def expert_query(self, t_before: int, t_after: int) -> Query:
        """Return the query of two of its frames, panels of its own history.

        Raises:
            ParameterError: If a frame is outside the episode.
        """
        last = len(self.frames) - 1
        for t in (t_before, t_after):
            if not 0 <= t <= last:
                raise ParameterError(f'frame {t}; allowed: 0 to {last}')
        before, after = self.frames[t_before].views, self.frames[t_after].views
        return self._query(Provenance.EXPERT, t_before, t_after, before, after)

    def reference_query(
        self, before: SourceFrame | EditedFrame, after: SourceFrame | EditedFrame
    ) -> Query:
        """Return the query of endpoints, one at least edited, with panels of the source alone.

        Raises:
            ParameterError: If an endpoint comes from another source, or none is edited.
        """
        sources = [e.source if isinstance(e, EditedFrame) else e for e in (before, after)]
        name, last = self.frames[0].episode, len(self.frames) - 1
        for source in sources:
            if source.episode != name or not 0 <= source.index <= last:
                raise ParameterError(
                    f'endpoint of {source.episode!r} {source.index}; allowed: {name!r} 0 to '
                    f'{last} and its edits'
                )
        if not any(isinstance(e, EditedFrame) for e in (before, after)):
            raise ParameterError('no endpoint is edited; allowed: expert_query for such a pair')
        return self._query(
            Provenance.REFERENCE,
            sources[0].index,
            sources[1].index,
            before.views,
            after.views,
        )

    def _query(
        self, provenance: Provenance, t_before: int, t_after: int, before: Views, after: Views
    ) -> Query:
        pre, between = self._strip.panels(t_before, t_after)
        start, goal = self.frames[0].views, self.frames[-1].views
        return Query(provenance, start, goal, pre, before, between, after, _SEAL)


class Rollout:
    """What was observed so far in one episode, online; it only ever grows."""

    def __init__(self, layout: Layout, goal: Views | None = None) -> None:
        """Begin without observations; without a goal there is no backward query."""
        self._strip = Strip(layout)
        self._views: list[Views] = []
        self._stamp_ns = -1
        self.goal = goal

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(self._views)

    def observe(self, stamp_ns: int, views: Views) -> None:
        """Append the newest observation.

        Raises:
            ParameterError: If its stamp is not after the one before.
        """
        if stamp_ns <= self._stamp_ns:
            raise ParameterError(f'frame of {stamp_ns} ns; allowed: after {self._stamp_ns} ns')
        self._strip.add(views)
        self._views.append(views)
        self._stamp_ns = stamp_ns

    def forward(self) -> Query:
        """Return X_0 -> X_t with the observations between them (C^F of Eq. 13)."""
        return self._query(0)

    def incremental(self, since: int | None = None) -> Query:
        """Return X_s -> X_t with the history before X_s and between (C^I of Eq. 13).

        Args:
            since: Index s of an earlier observation, the last query's; None takes the one before
                the newest.
        """
        return self._query(len(self) - 2 if since is None else since)

    def backward(self) -> Query:
        """Return X_G -> X_t without temporal panels (Eq. 13).

        Raises:
            ParameterError: If there is no goal, or nothing was observed.
        """
        if self.goal is None:
            raise ParameterError(
                'backward query without a goal image; allowed: a rollout with one'
            )
        if not self._views:
            raise ParameterError('backward query of 0 observations; allowed: 1 and more')
        pre, between = self._strip.empty()
        return self._made(self.goal, pre, between)

    def _query(self, since: int) -> Query:
        newest = len(self) - 1
        if not 0 <= since < newest:
            raise ParameterError(
                f'query from observation {since} of {len(self)}; allowed: 0 to {newest - 1}'
            )
        pre, between = self._strip.panels(since, newest)
        return self._made(self._views[since], pre, between)

    def _made(self, before: Views, pre: Panels, between: Panels) -> Query:
        start, after = self._views[0], self._views[-1]
        return Query(Provenance.ROLLOUT, start, self.goal, pre, before, between, after, _SEAL)


def online_queries(views: Sequence[Views], layout: Layout, goal: Views | None) -> list[Query]:
    """Return what is asked of a whole rollout, one step after the other (Eq. 13).

    Args:
        views: Observations X_0 to X_T.
        layout: Panels of the queries.
        goal: X_G, or None.

    Returns:
        Forward, backward (with a goal) and incremental query of each of the steps 1 to T.
    """
    rollout = Rollout(layout, goal)
    queries: list[Query] = []
    for t, seen in enumerate(views):
        rollout.observe(t, seen)
        if t:
            backward = [] if goal is None else [rollout.backward()]
            queries += [rollout.forward(), *backward, rollout.incremental()]
    return queries


def _emptied(panels: Panels) -> Panels:
    images = np.full_like(panels.images, PADDING_LEVEL)
    return Panels(images, np.zeros_like(panels.filled))


def _head_alone(views: Views) -> Views:
    if not views.available[0]:
        return views
    images = np.full_like(views.images, PADDING_LEVEL)
    images[0] = views.images[0]
    available = np.zeros_like(views.available)
    available[0] = True
    images.flags.writeable = available.flags.writeable = False
    return Views(images, available)
