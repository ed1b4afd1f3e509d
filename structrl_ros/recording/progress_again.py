"""Recorded progress against the model asked again on the recorded pictures; no ROS.

grm_node tells of each step which pictures it looked at, so whatever was lost, late or left out
live is so here: every value must be the same to the last bit (same model, same processor).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from structrl_ros.errors import StructRLError
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.views import resize_area
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.comparison import Comparison
from structrl_ros.recording.comparison import with_reasons
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.decoding import time_ns
from structrl_ros.recording.progress_told import LookedAt
from structrl_ros.recording.progress_told import RanWith
from structrl_ros.recording.progress_told import told_steps
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.types import Progress
from structrl_ros.types import UInt8

KIND = 'hops'
#: Returns the model that a recording tells of.
Opener = Callable[[RanWith], OnlineModel]
Pictures = Mapping[tuple[str, int], UInt8]


def compare_hops(bag: Path, events: RunEvents, open_again: Opener) -> Comparison | None:
    """Ask the recorded model about every recorded step; None if no progress was recorded.

    Args:
        bag: Folder of the bag, for its pictures.
        events: Of the whole bag.
        open_again: Loads a model; one that cannot be had is counted as skipped, not as different.

    Raises:
        BagError: If the bag is damaged.
    """
    recorded = {(p.episode, p.step): p for p in events.of(Progress)}
    if not recorded:
        return None
    reasons: Counter[str] = Counter()
    told = [(r, t) for r, t in told_steps(events) if (t.episode, t.step) in recorded]
    if untold := len(recorded) - len(told):
        reasons['of which nothing was told'] += untold
    compared, difference = 0, ''
    for ran_with in dict.fromkeys(r for r, _ in told):
        steps = [t for r, t in told if r == ran_with]
        try:
            online = open_again(ran_with)
        except StructRLError as error:
            reasons[f'whose model cannot be had ({error})'] += len(steps)
            continue
        again = _Again(online, _pictures(bag, steps, online.view_px), reasons)
        for step in steps:
            now = again.step(step)
            if now is not None:
                compared += 1
                difference = difference or _difference(recorded[step.episode, step.step], now)
    return with_reasons(KIND, compared, difference, reasons)


class _Again:
    """Goes through the steps of a recording in order."""

    def __init__(self, online: OnlineModel, pictures: Pictures, reasons: Counter[str]) -> None:
        self._online, self._pictures, self._reasons = online, pictures, reasons
        self._progress: EpisodeProgress | None = None
        self._at = (0, 0)

    def step(self, told: LookedAt) -> Progress | None:
        """Return what the model says of a step; None if that cannot be computed."""
        if told.step == 1:
            self._progress = self._begin(told)
        elif (told.episode, told.step - 1) != self._at or self._progress is None:
            self._progress = None
            self._reasons['after a step that was not recorded'] += 1
            return None
        self._at = (told.episode, told.step)
        if self._progress is None or not self._has(told.pictures):
            self._progress = None
            self._reasons['whose pictures were not recorded'] += 1
            return None
        if not told.start:
            self._progress.lose_start()
        return self._progress.step(
            self._frame(told.stamp_ns, told.pictures), terminated=told.terminated
        )

    def _begin(self, told: LookedAt) -> EpisodeProgress | None:
        if not self._has(told.start):
            return None
        progress = EpisodeProgress(told.episode, self._online, told.instruction, shaping_term)
        progress.see_start(self._frame(0, told.start))
        return progress

    def _has(self, stamps: Mapping[str, int]) -> bool:
        return all(item in self._pictures for item in stamps.items())

    def _frame(self, stamp_ns: int, stamps: Mapping[str, int]) -> Frame:
        return Frame(
            stamp_ns, {role: self._pictures[role, t] for role, t in stamps.items()}, stamps
        )


def _pictures(bag: Path, steps: list[LookedAt], view_px: int) -> Pictures:
    """Return the pictures that the steps looked at, at the size at which the model sees them."""
    wanted = {item for s in steps for part in (s.start, s.pictures) for item in part.items()}
    reader, found = BagReader(bag), {}
    for role in sorted({role for role, _ in wanted}):
        topics = [t for t in reader.topics if t.endswith(f'observation/{role}/image')]
        for raw in reader.raw_messages(topics):
            message = reader.decode(raw)
            key = (role, time_ns(message.header.stamp))
            if key in wanted and key not in found:
                found[key] = resize_area(decode_image(message), view_px, view_px)
    return found


def _difference(recorded: Progress, now: Progress) -> str:
    for field in fields(Progress):
        was, is_now = getattr(recorded, field.name), getattr(now, field.name)
        if field.name == 'latency' or was == is_now:
            continue
        if isinstance(was, float) and math.isnan(was) and math.isnan(is_now):
            continue
        where = f'episode {recorded.episode}, step {recorded.step}, {field.name}'
        return f'{where}: recorded {was!r}, computed {is_now!r}'
    return ''
