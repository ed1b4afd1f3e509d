"""What must be true at every control tick for a real arm to be moved: deny by default.

A guard says nothing when all is well. One that holds ends by itself with the next good chunk; one
that stops is latched until an operator resumes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode
from structrl_ros.types import ArmState

#: Modes in which nobody but the operator decides what the arm does.
PAUSED = {
    ArmMode.USER_STOPPED: 'user stop is pressed',
    ArmMode.GUIDING: 'arm is guided by hand',
    ArmMode.REFLEX: 'arm stopped by reflex',
}


@dataclass(frozen=True, slots=True)
class Objection:
    """Why the arm must not be moved; `stops` latches until an operator resumes."""

    why: str
    stops: bool


Guard = Callable[[], Objection | None]


def guard_state(
    state: Callable[[], ArmState | None], age_s: Callable[[], float], *, limit_s: float
) -> Guard:
    """Return the guard of the arm's state: there must be one, and it must be young (seconds)."""

    def look() -> Objection | None:
        if state() is None:
            return Objection('no state of the arm yet', stops=False)
        if age_s() > limit_s:
            return Objection(f'state of the arm {age_s():.2f} s old, limit {limit_s:g} s', True)
        return None

    return look


def guard_mode(
    state: Callable[[], ArmState | None],
    *,
    needs_control: bool = False,
    complaint: Callable[[], str] = str,
) -> Guard:
    """Return the guard of the arm's mode: user stop, guiding and reflex pause the policy.

    Args:
        state: Gives the newest state.
        needs_control: Whether an arm that is idle takes no waypoints.
        complaint: Why the driver thinks that the arm is not under control.
    """

    def look() -> Objection | None:
        now = state()
        if now is None:
            return None
        why = PAUSED.get(now.mode)
        if why is not None:
            errors = f' ({", ".join(now.errors)})' if now.errors else ''
            return Objection(why + errors, stops=True)
        if needs_control and now.mode is not ArmMode.MOVE:
            because = f' ({complaint()})' if complaint() else ''
            return Objection(f'arm is {now.mode.name}, not under control{because}', stops=False)
        return None

    return look


def guard_word(why: Callable[[], str], *, stops: bool) -> Guard:
    """Return the guard of a condition that says in words what is wrong, '' if nothing is."""

    def look() -> Objection | None:
        text = why()
        return Objection(text, stops) if text else None

    return look


def guard_age(what: str, age_s: Callable[[], float], *, limit_s: float) -> Guard:
    """Return the guard of something that must keep coming: a heartbeat, pictures of a role."""

    def look() -> Objection | None:
        age = age_s()
        if age <= limit_s:
            return None
        came = f'{age:.2f} s old' if age < 1e6 else 'never came'
        return Objection(f'{what} {came}, limit {limit_s:g} s', stops=False)

    return look


def guard_clock(jump_s: Callable[[], float]) -> Guard:
    """Return the guard of the clock: stamps before and after a jump do not compare."""

    def look() -> Objection | None:
        jump = jump_s()
        return Objection(f'clock jumped by {jump:.2f} s', stops=True) if jump else None

    return look


class RecoveryBudget:
    """Bounds how often an arm may be recovered: one that keeps failing wants to be looked at."""

    def __init__(self, *, attempts: int = 3, window_s: float = 60.0) -> None:
        """Allow so many attempts in any window of so many seconds."""
        self._attempts, self._window_s = attempts, window_s
        self._at_s: deque[float] = deque()

    def spend(self, now_s: float) -> None:
        """Take one attempt at a time of a steady clock.

        Raises:
            ArmError: If there is none left.
        """
        while self._at_s and now_s - self._at_s[0] > self._window_s:
            self._at_s.popleft()
        if not self._attempts:
            raise ArmError('no recovery is allowed: recover the arm by hand, then start anew')
        if len(self._at_s) >= self._attempts:
            raise ArmError(
                f'{self._attempts} recoveries within {self._window_s:g} s: look at the arm, and '
                f'wait {self._window_s - (now_s - self._at_s[0]):.0f} s'
            )
        self._at_s.append(now_s)
