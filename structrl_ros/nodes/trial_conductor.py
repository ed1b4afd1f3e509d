"""Conducts one trial on a running graph: a person, a reset, a sentence, the end, a mark."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.episode_account import EpisodeAccount
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.protocol import REAL_BODY
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.nodes.attendance import Attendance
from structrl_ros.nodes.evaluation_client import EvaluationClient
from structrl_ros.nodes.task_client import Outcome
from structrl_ros.subtasks.grounding import ground_all
from structrl_ros.types import Safety
from structrl_ros.world_types import EpisodeStart

#: Wall seconds for the last messages of an episode.
_SETTLE_S = 10.0
#: Attempts at a sentence that the planner refused because it had not seen the new episode yet.
_ATTEMPTS = 20
#: What a planner says that still carries out the sentence of the episode before.
_REFUSED = 'refused the goal'
_TOO_EARLY = ('the episode has ended', 'the body was reset', 'no body publishes')
#: Failures of the policy in one episode that are the cause of its end, if the planner ended it.
_MANY_FAILURES = 3
#: Reason of an episode that a person ended by marking it.
MARKED = 'marked by a person'


class TrialConductor:
    """Plays trials one after another; `hear` is the client's listener."""

    def __init__(
        self,
        protocol: Protocol,
        nodes: Mapping[str, str],
        attendance: Attendance,
        *,
        attended: bool,
        look: Callable[[], None],
    ) -> None:
        """Prepare.

        Args:
            protocol: What is played.
            nodes: Code of a policy to the node that runs it, where there are several.
            attendance: The person.
            attended: Whether each start is set up by the person.
            look: Called often while waiting; raises to give up.
        """
        self._protocol = protocol
        self._nodes = dict(nodes)
        self._attendance = attendance
        self._by_mark = protocol.success == 'person'
        self._attended = attended or self._by_mark or protocol.body == REAL_BODY
        self._look = look
        self._heard: list[Any] = []
        self._account: EpisodeAccount | None = None
        self._safety: Safety | None = None
        self._runs = False

    def hear(self, value: Any) -> None:
        """Take what the graph says."""
        if isinstance(value, Safety):
            self._safety = value
        if self._account is None:
            self._heard.append(value)
        else:
            self._account.take(value)

    def watch(self) -> None:
        """End the task that runs when the person has marked it; not before it has moved."""
        self._look()
        has_moved = self._account is not None and self._account.chunks > 0
        if self._runs and has_moved and self._by_mark and self._attendance.is_marked:
            self._runs = False
            raise KeyboardInterrupt

    def play(self, trial: Trial, client: EvaluationClient) -> EpisodeRecord:
        """Play a trial and return its record.

        Raises:
            StructRLError: If the graph does not answer, or the body refuses the start.
        """
        self._set_up(trial, client)
        for code, node in self._nodes.items():
            client.switch(node, code == trial.code)
        self._heard, self._account = [], None
        start, failures = trial.start, client.failures
        episode = client.begin(EpisodeStart(start.task, start.seed, start.initial_state))
        if self._protocol.body not in (REAL_BODY, episode.body):
            raise SimulationError(
                f'the body is {episode.body!r}; allowed by the protocol: {self._protocol.body}'
            )
        account = EpisodeAccount(
            trial, episode, judged_by=self._protocol.success, ground=ground_all
        )
        for value in self._heard:
            account.take(value)
        self._account, self._heard = account, []
        if self._by_mark:
            self._attendance.open_marks()
        outcome = self._carry_out(start.instruction or episode.instruction, client)
        client.settle(lambda: account.is_settled, _SETTLE_S)
        mark = self._take_mark(client) if self._by_mark else None
        is_early = mark is not None and outcome.reason.startswith('cancelled')
        broken = ''
        if not outcome.success and client.failures - failures >= _MANY_FAILURES:
            broken = 'policy_error'
        self._account = None
        return account.record(
            success=outcome.success,
            reason=MARKED if is_early else outcome.reason,
            replans=outcome.replans,
            mark=mark,
            broken=broken,
        )

    def _set_up(self, trial: Trial, client: EvaluationClient) -> None:
        """Wait for the person, and for a body that is not stopped."""
        if self._attended:
            self._attendance.ask_placement(trial.number, trial.start)
            while not self._attendance.look():
                client.pause(0.1)
        while self._safety is not None and self._safety.state.is_latched:
            client.pause(0.1)

    def _carry_out(self, instruction: str, client: EvaluationClient) -> Outcome:
        """Send the sentence; again, as long as the planner has not seen the new episode.

        Raises:
            StructRLError: If the planner refuses the sentence for good.
        """
        self._runs = True
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    outcome = client.execute(instruction, self._protocol.time_limit_s)
                except StructRLError as error:
                    if _REFUSED not in str(error) or attempt == _ATTEMPTS - 1:
                        raise
                    client.pause(0.5)
                    continue
                is_early = outcome.reason.startswith(_TOO_EARLY)
                if not is_early or (self._account is not None and self._account.has_ended):
                    break
                client.pause(0.1)
            return outcome
        finally:
            self._runs = False

    def _take_mark(self, client: EvaluationClient) -> bool:
        while (mark := self._attendance.take_mark()) is None:
            client.pause(0.1)
        return mark
