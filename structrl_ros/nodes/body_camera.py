"""Pictures of a simulated body: when one is due, and what they cost."""

from __future__ import annotations

import time

from structrl_ros.nodes.body_publisher import BodyPublisher
from structrl_ros.ports import PictureSource


class BodyCamera:
    """Renders the roles that somebody subscribes to; for the body's thread only."""

    def __init__(
        self, source: PictureSource, publisher: BodyPublisher, *, lockstep: bool, rate_hz: float
    ) -> None:
        """Prepare; nothing is rendered before `publish`.

        Args:
            source: What renders, a body as a rule.
            publisher: Where pictures go.
            lockstep: A picture at every call, that is, once a chunk; else at `rate_hz`.
            rate_hz: Pictures a second of the body's time, 0 for none.
        """
        self._source = source
        self._publisher = publisher
        self._lockstep = lockstep
        self._due_ns: dict[str, int] = {}
        self.renders = 0
        self.render_s = 0.0
        self.set_rate(rate_hz)

    def set_rate(self, rate_hz: float) -> None:
        """Change the rate (real time)."""
        self._period_ns = round(1e9 / rate_hz) if rate_hz > 0 else None

    def restart(self) -> None:
        """Make a picture of each role due: the scene is another."""
        self._due_ns = {}

    def publish(self, now_ns: int) -> None:
        """Render and publish what is wanted and due, stamped `now_ns`."""
        for role in self._publisher.wanted_roles():
            if self._lockstep or self._is_due(role, now_ns):
                self._render(role, now_ns)

    def _is_due(self, role: str, now_ns: int) -> bool:
        """Return whether a role's picture is due; pictures lie on a grid of the body's clock."""
        period = self._period_ns
        if period is None or now_ns < self._due_ns.get(role, 0):
            return False
        self._due_ns[role] = (now_ns // period + 1) * period
        return True

    def _render(self, role: str, now_ns: int) -> None:
        began = time.perf_counter()
        image = self._source.render(role)
        self.render_s += time.perf_counter() - began
        self.renders += 1
        self._publisher.image(role, image, now_ns, self._source.vertical_fov(role))
