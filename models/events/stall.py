"""`StallEvents`: where the GRM's potential last rose; for errors after which nothing falls.

A grasp that missed undoes nothing: the potential does not fall, it stops rising. This rule takes
the chunk after the first one at which the potential was as high as it ever got, up to a margin.
It is no rule of the paper, and stands beside `progress` for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.models.events.progress import whole_potential
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout


@dataclass(frozen=True, slots=True, kw_only=True)
class StallSettings:
    """What counts as no progress any more.

    Attributes:
        margin: A later rise by less than this is none, in (0, 2].
        width: Chunks of the interval, from 1.
        sustained: Chunks without a rise that there must be up to the end, from 1.
    """

    margin: float = 0.1
    width: int = 2
    sustained: int = 2

    def __post_init__(self) -> None:
        """Refuse what is outside its range.

        Raises:
            ParameterError: If something is.
        """
        if not 0 < self.margin <= 2 or min(self.width, self.sustained) < 1:
            raise ParameterError(f'{self}; allowed: margin in (0, 2], width and sustained from 1')


class StallEvents:
    """Port EventModel on `FailedRollout.potential`."""

    name = 'progress_stall'

    def __init__(self, settings: StallSettings | None = None) -> None:
        """Take the thresholds; None for those of docs/events.md."""
        self.settings = StallSettings() if settings is None else settings

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return the chunks after the last rise, as the onset of what stopped progress.

        Raises:
            ParameterError: If the rollout has no potential at every boundary, or one that is not
                finite.
        """
        potential = whole_potential(rollout)
        own, last = self.settings, rollout.chunks
        top = int(np.flatnonzero(potential >= potential.max() - own.margin)[0])
        if last - top < own.sustained:
            return EventReview(
                outcome='failure', error_type='unclear', reason='the potential rose to the end'
            )
        interval = (top + 1, min(top + own.width, last))
        return EventReview(
            outcome='failure',
            error_type='stalled',
            interval=interval,
            recovery='not_observed',
            evidence=rollout.frames_near((top, last)),
            reason=f'no rise above {potential.max():.2f} after chunk {top}',
            first_interval=interval,
        )
