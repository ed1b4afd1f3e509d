"""The newest of everything that a graph says, as one document for the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import TypeVar

from structrl_ros.console import pages
from structrl_ros.console.history import Cursor
from structrl_ros.console.history import History
from structrl_ros.types import ROLES
from structrl_ros.types import ActionChunk
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

Event = (
    Plan
    | Verdict
    | SubtaskStatus
    | Reward
    | Progress
    | Safety
    | Episode
    | Intervention
    | ActionChunk
)
Kind = TypeVar('Kind')

#: A body reports once a second; after this many seconds without, it counts as silent.
SILENT_S = 4.0
#: Nodes that are a body, by the beginning of their name on `/diagnostics`.
BODIES = ('sim_node', 'arm_node', 'replayer_node')
#: A component that has said nothing for this long is forgotten, seconds.
FORGOTTEN_S = 600.0


@dataclass(frozen=True, slots=True)
class _Heard:
    value: Any
    at_s: float


class LiveState:
    """Fed by the node's thread, read by the server's; every call is short."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Begin without having heard anything; `clock_s` is a monotonic clock in seconds."""
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._newest: dict[type[Any], _Heard] = {}
        self._health: dict[str, _Heard] = {}
        self._history = History(('rewards', 'potentials', 'verdicts'))
        self._zero_ns = 0
        self._present: Mapping[str, bool] = {}
        self._reasons: Mapping[str, str] = {}
        self._roles: tuple[str, ...] = ()
        self._task = {'state': 'idle', 'instruction': '', 'text': ''}
        self._sign_s: float | None = None
        self._version = 0

    @property
    def version(self) -> int:
        """Rises with everything that is new."""
        return self._version

    def take(self, event: Event) -> None:
        """Keep an event; the start of another episode forgets the curves of the last one."""
        with self._lock:
            now_s = self._clock_s()
            if isinstance(event, Episode):
                self._note_episode(event)
            self._zero_ns = self._zero_ns or event.stamp_ns
            name, entry = pages.log_entry(event, self._zero_ns)
            if name:
                self._history.add(name, entry)
            self._newest[type(event)] = _Heard(event, now_s)
            if isinstance(event, (Episode, Safety)):
                self._sign_s = now_s
            self._version += 1

    def take_health(self, component: str, level: int, text: str) -> None:
        """Keep what a component says of itself: level 0 is well, 1 a warning, 2 an error."""
        with self._lock:
            now_s = self._clock_s()
            self._health[component] = _Heard((level, text), now_s)
            if component.startswith(BODIES):
                self._sign_s = now_s
            self._version += 1

    def look_around(
        self, present: Mapping[str, bool], reasons: Mapping[str, str], roles: Sequence[str]
    ) -> None:
        """Take which parts of a graph are there, why actions cannot be done, and the cameras.

        A camera that was there once stays: its last picture is shown with its age.
        """
        with self._lock:
            known = tuple(role for role in ROLES if role in roles or role in self._roles)
            seen = (dict(present), dict(reasons), known)
            if seen != (self._present, self._reasons, self._roles):
                self._present, self._reasons, self._roles = seen
                self._version += 1

    def note_task(self, state: str, instruction: str, text: str) -> None:
        """Take how the task stands that was asked for here: running, success or failure."""
        with self._lock:
            self._task = {'state': state, 'instruction': instruction, 'text': text}
            self._version += 1

    def newest(self, kind: type[Kind]) -> Kind | None:
        """Return the newest event of a kind."""
        with self._lock:
            return self._get(kind)

    def document(self, cursor: Cursor) -> tuple[dict[str, Any], Cursor]:
        """Return the page's document, with what of the curves the viewer lacks."""
        with self._lock:
            log, after = self._history.since(cursor)
            plan, episode = self._get(Plan), self._get(Episode)
            safety, verdict = self._get(Safety), self._get(Verdict)
            takeover, chunk = self._get(Intervention), self._get(ActionChunk)
            status = self._get(SubtaskStatus)
            document: dict[str, Any] = {
                'graph': self._graph(),
                'health': self._health_page(),
                'episode': None if episode is None else pages.episode_page(episode),
                'plan': None if plan is None else pages.plan_page(plan, status),
                'safety': None if safety is None else pages.safety_page(safety),
                'verdict': None if verdict is None else pages.verdict_page(verdict),
                'control': pages.control_page(safety, takeover, chunk),
                'task': self._task,
                'reasons': self._reasons,
                'roles': self._roles,
                'ages_s': {k.__name__.lower(): self._age_s(h) for k, h in self._newest.items()},
                'log': log,
            }
        return document, after

    def _note_episode(self, episode: Episode) -> None:
        last = self._get(Episode)
        is_same = last is not None and last.episode == episode.episode
        if not episode.ended:
            self._zero_ns = episode.stamp_ns
        if not is_same or (last is not None and last.ended and not episode.ended):
            self._history.restart()

    def _graph(self) -> dict[str, Any]:
        """Return whether a body is there, and whether it gives signs of life."""
        age_s = None if self._sign_s is None else self._clock_s() - self._sign_s
        if not self._present.get('body', False):
            state = 'absent'
            text = 'no body is there; start a graph: structrl up deploy'
            if age_s is not None:
                text = 'the body has gone; what is shown is the last of it'
        elif age_s is None or age_s > SILENT_S:
            state = 'silent'
            text = 'the body gives no sign of life; what is shown is the last of it'
        else:
            state, text = 'alive', 'the body reports'
        return {'state': state, 'text': text, 'age_s': age_s, 'present': self._present}

    def _health_page(self) -> list[dict[str, Any]]:
        rows = []
        for name in sorted(self._health):
            heard = self._health[name]
            if (age_s := self._age_s(heard)) < FORGOTTEN_S:
                level, text = heard.value
                rows.append({'name': name, 'level': level, 'text': text, 'age_s': age_s})
        return rows

    def _age_s(self, heard: _Heard) -> float:
        return round(self._clock_s() - heard.at_s, 2)

    def _get(self, kind: type[Kind]) -> Kind | None:
        heard = self._newest.get(kind)
        return None if heard is None else heard.value
