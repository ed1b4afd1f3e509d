"""The newest picture of each camera, made a JPEG once, when somebody looks and not before."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from collections.abc import Collection
from dataclasses import dataclass

from PIL import Image

from structrl_ros.types import UInt8

#: Longest side of a picture on the page, pixels; a larger one is made smaller.
LONGEST_SIDE = 640
QUALITY = 80


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a role, counted from 1; `heard_s` is when it came, by the shelf's clock."""

    role: str
    number: int
    stamp_ns: int
    heard_s: float
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class _Raw:
    number: int
    stamp_ns: int
    heard_s: float
    image: UInt8


class PictureShelf:
    """Holds one picture a role: a newer one replaces it, whether it was looked at or not."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Begin empty; `clock_s` is a monotonic clock in seconds."""
        self._clock_s = clock_s
        self._raw: dict[str, _Raw] = {}
        self._made: dict[str, Picture] = {}
        self._wanted: dict[object, frozenset[str]] = {}
        self._making = threading.Lock()

    def put(self, role: str, stamp_ns: int, image: UInt8) -> None:
        """Keep an RGB picture (H, W, 3); it is only looked at later, and must not change."""
        last = self._raw.get(role)
        number = 1 if last is None else last.number + 1
        self._raw[role] = _Raw(number, stamp_ns, self._clock_s(), image)

    def look(self, viewer: object, roles: Collection[str]) -> None:
        """Note which cameras a viewer looks at; none: it has gone."""
        wanted = dict(self._wanted)
        wanted.pop(viewer, None)
        if roles:
            wanted[viewer] = frozenset(roles)
        self._wanted = wanted

    @property
    def wanted_roles(self) -> frozenset[str]:
        """Cameras that somebody looks at."""
        return frozenset().union(*self._wanted.values())

    def number(self, role: str) -> int:
        """Return the number of a role's newest picture, 0 if there is none."""
        raw = self._raw.get(role)
        return 0 if raw is None else raw.number

    def age_s(self, picture: Picture) -> float:
        """Return the seconds since a picture came."""
        return self._clock_s() - picture.heard_s

    def newest(self, role: str) -> Picture | None:
        """Return a role's newest picture; made at most once, so call it from a worker thread."""
        with self._making:
            raw, made = self._raw.get(role), self._made.get(role)
            if raw is None or (made is not None and made.number == raw.number):
                return made
            picture = Picture(role, raw.number, raw.stamp_ns, raw.heard_s, jpeg_of(raw.image))
            self._made[role] = picture
            return picture


def jpeg_of(image: UInt8) -> bytes:
    """Return an RGB picture (H, W, 3) as JPEG, its longest side at most `LONGEST_SIDE`."""
    picture = Image.fromarray(image)
    if max(picture.size) > LONGEST_SIDE:
        picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BILINEAR)
    file = io.BytesIO()
    picture.save(file, 'JPEG', quality=QUALITY)
    return file.getvalue()
