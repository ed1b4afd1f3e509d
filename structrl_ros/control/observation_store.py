"""Assembly of a policy's observation from what came over the topics, by stamp.

Pictures, arm and simulator state come one by one. Real time: the newest picture of each role, and
the arm's state nearest in time to the oldest of them; nothing older than its limit. Lock-step: all
parts must carry one and the same stamp.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol
from typing import TypeVar

from structrl_ros.errors import StaleDataError
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Proprioception
from structrl_ros.types import SimulatorState
from structrl_ros.types import UInt8

#: Age limit of a part that the policy's `max_age_s` does not name, seconds.
DEFAULT_MAX_AGE_S = 0.5
#: A stamp may lie this far ahead of a clock that comes over another topic, seconds.
AHEAD_S = 0.5
#: States of the arm that are kept: 3 s at 20 Hz.
HISTORY = 60


class _Stamped(Protocol):
    @property
    def stamp_ns(self) -> int: ...


_Part = TypeVar('_Part', bound=_Stamped)


class ObservationStore:
    """Newest parts of an observation; belongs to one policy."""

    def __init__(self, spec: PolicySpec) -> None:
        """Keep what the policy needs; nothing has come yet."""
        self._spec = spec
        self._arm: deque[Proprioception] = deque(maxlen=HISTORY)
        self._worlds: deque[SimulatorState] = deque(maxlen=HISTORY)
        self._images: dict[str, UInt8] = {}
        self._stamps: dict[str, int] = {}
        self._ahead: set[str] = set()
        self._since_ns = 0
        self._episode = 0

    def clear(self, episode: int, since_ns: int) -> None:
        """Begin an episode: forget what is not of it, that is, stamped before `since_ns`.

        What came before this call and is of it stays: topics overtake each other. Where time went
        back (another body, a body started anew) everything is forgotten.
        """
        if since_ns < self._since_ns:
            self._arm.clear()
            self._worlds.clear()
            self._stamps.clear()
        arm = [state for state in self._arm if state.stamp_ns >= since_ns]
        self._arm.clear()
        self._arm.extend(arm)
        self._stamps = {r: ns for r, ns in self._stamps.items() if ns >= since_ns}
        self._images = {role: self._images[role] for role in self._stamps}
        self._since_ns = since_ns
        self._episode = episode

    def take_proprioception(self, state: Proprioception) -> None:
        """Keep the arm's state, if it is of this episode."""
        if state.stamp_ns >= self._since_ns:
            self._arm.append(state)

    def take_image(self, role: str, stamp_ns: int, image: UInt8) -> None:
        """Keep a picture, if it is of this episode and newer than the one before.

        One that was found to be ahead of the clock hinders none that is not.
        """
        newest_ns = 0 if role in self._ahead else self._stamps.get(role, 0)
        if stamp_ns >= max(self._since_ns, newest_ns):
            self._ahead.discard(role)
            self._images[role] = image
            self._stamps[role] = stamp_ns

    def take_simulator(self, state: SimulatorState) -> None:
        """Keep the privileged state; only those of this episode are ever used."""
        self._worlds.append(state)

    def assemble(self, now_ns: int) -> Observation:
        """Return the newest observation (real time).

        Its stamp is that of its oldest picture; without pictures that of the simulator's state,
        for a privileged policy, else of the arm's.

        Raises:
            StaleDataError: If a part is missing, older than its limit, or from the future.
        """
        limits: Mapping[str, float] = self._spec.max_age_s
        for name, stamp_ns in self._newest().items():
            if stamp_ns is None:
                raise StaleDataError(f'no {name} yet')
            age_s = (now_ns - stamp_ns) / 1e9
            limit_s = limits.get(name, DEFAULT_MAX_AGE_S)
            if age_s > limit_s:
                hint = ' (is use_sim_time set?)' if age_s > 1e6 else ''
                raise StaleDataError(f'{name} {age_s:.2f} s old, limit {limit_s:.2f} s{hint}')
            if age_s < -AHEAD_S:
                self._ahead.add(name)
                raise StaleDataError(
                    f'{name} stamped {-age_s:.2f} s ahead of the clock, limit {AHEAD_S:.2f} s: '
                    'do the machines share one clock?'
                )
        return self._build(self._reference_ns())

    def assemble_at(self, stamp_ns: int) -> Observation:
        """Return the observation whose every part is of one stamp, not before `stamp_ns`.

        Raises:
            StaleDataError: If a part has not come yet.
        """
        newest = self._newest()
        latest = max((s for s in newest.values() if s is not None), default=0)
        for name, part_ns in newest.items():
            if part_ns is None or part_ns != latest or part_ns < stamp_ns:
                at_s = max(stamp_ns, latest) / 1e9
                raise StaleDataError(f'no {name} of {at_s:.2f} s yet')
        return self._build(latest)

    def _newest(self) -> dict[str, int | None]:
        """Return the newest stamp of each part that the policy needs, None where none came."""
        parts = {role: self._stamps.get(role) for role in self._spec.roles}
        parts['proprioception'] = self._arm[-1].stamp_ns if self._arm else None
        if self._spec.privileged:
            parts['simulator'] = self._mine()[-1].stamp_ns if self._mine() else None
        return parts

    def _reference_ns(self) -> int:
        if self._spec.roles:
            return min(self._stamps[role] for role in self._spec.roles)
        return self._mine()[-1].stamp_ns if self._spec.privileged else self._arm[-1].stamp_ns

    def _mine(self) -> list[SimulatorState]:
        return [state for state in self._worlds if state.episode == self._episode]

    def _build(self, stamp_ns: int) -> Observation:
        roles = self._spec.roles
        return Observation(
            stamp_ns=stamp_ns,
            episode=self._episode,
            proprioception=_nearest(self._arm, stamp_ns),
            images={role: self._images[role] for role in roles},
            image_stamps_ns={role: self._stamps[role] for role in roles},
            simulator=_nearest(self._mine(), stamp_ns) if self._spec.privileged else None,
        )


def _nearest(parts: Sequence[_Part], stamp_ns: int) -> _Part:
    """Return the part nearest in time; of two equally near the later."""
    return min(reversed(parts), key=lambda part: abs(part.stamp_ns - stamp_ns))
