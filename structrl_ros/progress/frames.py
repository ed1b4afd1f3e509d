"""Frames of pictures that come one by one: of the start, of each chunk, or at a rate; no ROS.

Lock-step: a frame's pictures all carry the stamp that was asked for, and every frame is given, in
order. Real time: the newest picture of each role, and of frames that wait the latest wins. A role
whose picture stays away is masked, and is waited for again once it gives one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.types import UInt8

#: Pictures of a role that are kept in lock-step, where a body may be this many chunks ahead.
HISTORY = 100
#: A picture so much older than the newest is no late one: time went back, or was wrong before.
BACK_NS = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Frame:
    """What was seen at a time.

    Attributes:
        stamp_ns: Time that the frame is about.
        images: RGB image of each role that there is, shape (H, W, 3); none is no frame.
        stamps_ns: Stamp of each of the images.
    """

    stamp_ns: int
    images: Mapping[str, UInt8] = field(default_factory=dict)
    stamps_ns: Mapping[str, int] = field(default_factory=dict)

    @property
    def newest_ns(self) -> int:
        """Stamp of the newest image, -1 without one."""
        return max(self.stamps_ns.values(), default=-1)


@dataclass(frozen=True, slots=True)
class Due:
    """A frame that is wanted: of the episode's start, or of a step that may be its last.

    No picture of it may be older than `oldest_ns`.
    """

    stamp_ns: int
    oldest_ns: int
    is_start: bool = False
    terminated: bool = False
    asked_s: float = 0.0


class FrameQueue:
    """Pictures in, frames out; belongs to one thread or is used under a lock."""

    def __init__(
        self,
        roles: Sequence[str],
        *,
        lockstep: bool,
        period_ns: int = 0,
        max_age_s: float = 0.5,
        wait_s: float = 2.0,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without an episode.

        Args:
            roles: Cameras whose pictures make a frame.
            lockstep: See above.
            period_ns: Real time: a frame on each tick of this grid of the body's time; 0 asks for
                none by itself.
            max_age_s: Real time: oldest picture that a frame may show, seconds before its time.
            wait_s: Wall seconds to wait for a role before it is masked.
            wall: A steady clock, seconds; replaced in tests.
        """
        self._roles = tuple(roles)
        self._lockstep, self._period_ns = lockstep, 0 if lockstep else period_ns
        self._max_age_ns, self._wait_s, self._wall = round(1e9 * max_age_s), wait_s, wall
        self._kept = HISTORY if lockstep else 1
        self._pictures = {role: deque[tuple[int, UInt8]](maxlen=self._kept) for role in roles}
        self._dues: deque[Due] = deque()
        self._absent: set[str] = set()
        self._since_ns = self._next_ns = 0
        self._is_open = False
        self.replaced = 0

    @property
    def absent(self) -> tuple[str, ...]:
        """Roles that are not waited for, because their pictures stayed away."""
        return tuple(role for role in self._roles if role in self._absent)

    def begin(self, stamp_ns: int) -> None:
        """Begin an episode with a frame of its start; pictures that are of it already stay."""
        for role, pictures in self._pictures.items():
            is_back = stamp_ns < self._since_ns
            kept = [] if is_back else [p for p in pictures if p[0] >= stamp_ns]
            self._pictures[role] = deque(kept, maxlen=self._kept)
        self._since_ns = stamp_ns
        self._next_ns = 0
        self._is_open = True
        self._dues = deque([Due(stamp_ns, stamp_ns, is_start=True, asked_s=self._wall())])

    def end(self) -> None:
        """Ask for no more frames by rate: the episode is over."""
        self._is_open = False

    def take(self, role: str, stamp_ns: int, image: UInt8) -> None:
        """Keep a picture, if it is of this episode and newer than the one before."""
        pictures = self._pictures[role]
        if stamp_ns < self._since_ns or (pictures and 0 <= pictures[-1][0] - stamp_ns <= BACK_NS):
            return
        if pictures and stamp_ns < pictures[-1][0]:
            pictures.clear()
        pictures.append((stamp_ns, image))
        self._absent.discard(role)

    def ask(self, stamp_ns: int, *, terminated: bool = False, oldest_ns: int = 0) -> None:
        """Ask for the frame of a step; with no picture older than `oldest_ns`."""
        by_age_ns = stamp_ns if self._lockstep else stamp_ns - self._max_age_ns
        oldest_ns = max(by_age_ns, oldest_ns)
        due = Due(stamp_ns, oldest_ns, terminated=terminated, asked_s=self._wall())
        if not self._lockstep and self._dues and not self._dues[-1].is_start:
            self._dues.pop()
            self.replaced += 1
        self._dues.append(due)

    def ready(self) -> list[tuple[Due, Frame]]:
        """Return the frames that are complete, or have been waited for long enough, in order."""
        found = []
        self._ask_by_rate()
        while self._dues:
            due = self._dues[0]
            missing = [r for r in self._roles if r not in self._absent and not self._has(r, due)]
            if missing and not self._is_late(due):
                break
            self._absent.update(missing)
            self._dues.popleft()
            frame = self._frame(due)
            found.append((due, frame))
            if self._period_ns and frame.images:
                self._next_ns = (frame.newest_ns // self._period_ns + 1) * self._period_ns
        return found

    def _ask_by_rate(self) -> None:
        """Ask for the frame of the grid's next tick, once some picture has reached it."""
        if not self._period_ns or not self._is_open or not self._next_ns or self._dues:
            return
        newest = max((p[-1][0] for p in self._pictures.values() if p), default=0)
        if newest >= self._next_ns:
            self.ask(newest, oldest_ns=self._next_ns)

    def _has(self, role: str, due: Due) -> bool:
        """Whether there is nothing more to wait for from a role."""
        pictures = self._pictures[role]
        return bool(pictures) and pictures[-1][0] >= due.oldest_ns

    def _is_late(self, due: Due) -> bool:
        """Whether a frame was waited for long enough; a start as long as nothing follows it."""
        if due.is_start and not any(self._has(role, due) for role in self._roles):
            return len(self._dues) > 1 and self._is_late(self._dues[1])
        return self._wall() - due.asked_s > self._wait_s

    def _frame(self, due: Due) -> Frame:
        chosen = {}
        for role in self._roles:
            for stamp_ns, image in reversed(self._pictures[role]):
                if stamp_ns == due.stamp_ns if self._lockstep else self._has(role, due):
                    chosen[role] = (stamp_ns, image)
                    break
        return Frame(
            due.stamp_ns,
            {role: image for role, (_, image) in chosen.items()},
            {role: stamp_ns for role, (stamp_ns, _) in chosen.items()},
        )
