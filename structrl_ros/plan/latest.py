"""The newest of everything that planner and monitor may look at; the latest frame wins."""

from __future__ import annotations

from structrl_ros.types import Observation
from structrl_ros.types import Predicates
from structrl_ros.types import Progress
from structrl_ros.types import UInt8

#: A stamp so much older than the newest is no late message: time went back, or was wrong before.
BACK_NS = 5_000_000_000


class LatestObservation:
    """Collects what comes over the topics; belongs to one thread or is used under a lock."""

    def __init__(self) -> None:
        """Begin empty."""
        self.clear(0)

    def clear(self, episode: int) -> None:
        """Forget everything: another episode begins."""
        self._episode = episode
        self._stamp_ns = 0
        self._images: dict[str, UInt8] = {}
        self._image_stamps: dict[str, int] = {}
        self._predicates: Predicates | None = None
        self._progress: Progress | None = None

    @property
    def stamp_ns(self) -> int:
        """Stamp of the newest thing that came, 0 before any."""
        return self._stamp_ns

    @property
    def predicates(self) -> Predicates | None:
        """The newest truth of the body."""
        return self._predicates

    @property
    def progress(self) -> Progress | None:
        """The newest that the reward model said."""
        return self._progress

    def take_stamp(self, stamp_ns: int) -> None:
        """Note that something was observed at this time."""
        if stamp_ns > self._stamp_ns or self._stamp_ns - stamp_ns > BACK_NS:
            self._stamp_ns = stamp_ns

    def take_word(self, stamp_ns: int) -> None:
        """Note what was said of this time: it may be long past, without time having gone back."""
        self._stamp_ns = max(self._stamp_ns, stamp_ns)

    def take_image(self, role: str, stamp_ns: int, image: UInt8) -> None:
        """Keep an image unless a newer one of the role is here."""
        newest_ns = self._image_stamps.get(role, 0)
        if stamp_ns >= newest_ns or newest_ns - stamp_ns > BACK_NS:
            self._images[role] = image
            self._image_stamps[role] = stamp_ns
            self.take_stamp(stamp_ns)

    def take_predicates(self, predicates: Predicates) -> None:
        """Keep the body's truth; that of another episode is dropped.

        A body says its first truth again, with its stamp, to whoever comes later.
        """
        if predicates.episode == self._episode:
            self._predicates = predicates
            self.take_word(predicates.stamp_ns)

    def take_progress(self, progress: Progress) -> None:
        """Keep what the reward model says, for a monitor; that of another episode is dropped."""
        if progress.episode == self._episode:
            self._progress = progress
            self.take_word(progress.stamp_ns)

    def has_images(self, roles: tuple[str, ...], since_ns: int = 0) -> bool:
        """Tell whether an image of each role is here, stamped `since_ns` or later."""
        return all(self._image_stamps.get(r, -1) >= since_ns for r in roles)

    def snapshot(self) -> Observation:
        """Return what is here as one observation; its stamp is that of the newest part."""
        return Observation(
            stamp_ns=self._stamp_ns,
            episode=self._episode,
            images=dict(self._images),
            image_stamps_ns=dict(self._image_stamps),
            predicates=self._predicates,
            progress=self._progress,
        )
