"""What a person may do on the page, as a port: `nodes.console_operator` does it through ROS."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

#: Names of the actions, of the buttons and of the routes below `/do/`.
EMERGENCY_STOP = 'emergency_stop'
RESET_SAFETY = 'reset_safety'
RUN = 'run'
CANCEL = 'cancel'
RELEASE_TAKEOVER = 'release_takeover'
MARK = 'mark'
RECORD = 'record'
STOP_RECORDING = 'stop_recording'
NEW_EPISODE = 'new_episode'


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether it was done, and what the one who did it says."""

    is_done: bool
    message: str


class Operator(Protocol):
    """Every method returns at once; the future is settled when the graph has answered."""

    def emergency_stop(self) -> Future[Answer]:
        """Stop the body, latched, and cancel the task."""

    def reset_safety(self) -> Future[Answer]:
        """End a latched stop; the body holds until the next good chunk."""

    def run(self, instruction: str, time_limit_s: float) -> Future[Answer]:
        """Have a sentence carried out; settled when the planner takes or refuses it."""

    def cancel(self) -> Future[Answer]:
        """Cancel every task, whoever asked for it."""

    def release_takeover(self) -> Future[Answer]:
        """End an operator's takeover."""

    def mark(self, success: bool) -> Future[Answer]:
        """Judge the episode."""

    def record(self, on: bool) -> Future[Answer]:
        """Begin a bag, or end it."""

    def new_episode(self) -> Future[Answer]:
        """Set the same scene again."""
