"""Which states of a Franka are answered: an answer that would come late is better not sent.

A Franka sends a state each millisecond and drops an answer that comes after the next one; it then
moves on with constant acceleration and says so in the next state. An answer to an old state
contradicts that. So a state that had been waiting is not answered, nor one that came after a pause
(either side may have been stopped by its scheduler), nor one whose answer took too long. The state
after it tells where the arm is, and the motion goes on from there.
"""

from __future__ import annotations

#: A state that was waited for less than this had been lying there, seconds.
SHORTEST_WAIT_S = 0.0001
#: A wait longer than this, and than 1.5 times the usual one, is a pause, seconds: of a wait of
#: 1.7 ms 0.7 may have gone by after the state came, and an answer is late from 1 ms on.
LONGEST_WAIT_S = 0.0014
#: An answer that took longer than this is not sent, seconds.
LONGEST_ANSWER_S = 0.0007
#: Pauses in a row after which a state is answered all the same: an arm stops after 20.
MOST_PAUSES = 3
#: Weight of a new wait in the usual one.
_SHARE = 0.02


class Cadence:
    """Judges each state of one motion by how long it was waited for; times in seconds."""

    def __init__(self) -> None:
        """Expect a state each millisecond."""
        self._usual_s = 0.0009
        self._pauses = 0
        self.unanswered = 0

    def is_fresh(self, wait_s: float) -> bool:
        """Return whether to answer a state that was waited for so long."""
        if wait_s < SHORTEST_WAIT_S:
            return self._skip()
        self._usual_s += _SHARE * (wait_s - self._usual_s)
        is_pause = wait_s > max(LONGEST_WAIT_S, 1.5 * self._usual_s)
        if is_pause and self._pauses < MOST_PAUSES:
            self._pauses += 1
            return self._skip()
        return True

    def is_in_time(self, answer_s: float) -> bool:
        """Return whether to send an answer that took so long."""
        if answer_s > LONGEST_ANSWER_S:
            return self._skip()
        self._pauses = 0
        return True

    def _skip(self) -> bool:
        self.unanswered += 1
        return False
