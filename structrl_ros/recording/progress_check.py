"""Recorded progress against the fusion of its recorded hops; no ROS.

The hops come from a network and are taken as they are; a step that is not valid has none. What
follows from them is computed again: potential and gate (Robo-Dopamine 2.0, Eq. 12 to 17), step by
step from the start of each episode.
"""

from __future__ import annotations

import math
from collections import Counter

from structrl_ros.progress.fusion import Fusion
from structrl_ros.recording.comparison import Comparison
from structrl_ros.recording.comparison import with_reasons
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.types import Progress


def compare_progress(events: RunEvents) -> Comparison:
    """Fuse the hops of every episode again.

    The potential is a sum over all steps: after a step that was not recorded nothing of the
    episode can be computed any more, and the rest is counted as skipped.
    """
    reasons: Counter[str] = Counter()
    compared, difference = 0, ''
    fusions: dict[int, tuple[Fusion, int | None]] = {}
    for progress in events.of(Progress):
        fusion, last = fusions.get(progress.episode, (Fusion(), None))
        is_next = progress.step in (0, 1) if last is None else progress.step == last + 1
        if not is_next:
            reasons['after a step that was not recorded'] += 1
            continue
        fusions[progress.episode] = fusion, progress.step
        compared += 1
        difference = difference or _difference(progress, fusion)
    return with_reasons('progress', compared, difference, reasons)


def _difference(progress: Progress, fusion: Fusion) -> str:
    hops = (progress.hop_forward, progress.hop_backward, progress.hop_incremental)
    fusion.has_goal = not math.isnan(progress.hop_backward)
    fusion.step(*(hops if progress.valid else (math.nan,) * 3))
    computed = {
        'potential': float(fusion.potential),
        'negative_branch': bool(fusion.negative_branch),
    }
    for name, now in computed.items():
        was = getattr(progress, name)
        if was != now:
            where = f'episode {progress.episode}, step {progress.step}, {name}'
            return f'{where}: recorded {was!r}, computed {now!r}'
    return ''
