"""A client that plays trials on a running graph: resets, sentences, and all that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle_msgs.msg import State
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lifecycle_msgs.srv import GetState
from structrl_msgs.srv import ResetEpisode

from structrl_ros.errors import SimulationError
from structrl_ros.nodes.hearing import hear
from structrl_ros.nodes.task_client import TaskClient
from structrl_ros.types import Episode
from structrl_ros.types import Predicates
from structrl_ros.types import SubtaskStatus
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import reset_to_request
from structrl_ros.wire.chunk_codecs import intervention_from_message
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.reward_codecs import predicates_from_message
from structrl_ros.wire.task_codecs import health_from_message
from structrl_ros.world_types import EpisodeStart

_ALSO: dict[str, Callable[[Any], Any]] = {
    topics.PREDICATES: predicates_from_message,
    topics.INTERVENTION: intervention_from_message,
}
#: End of the name under which a policy node tells how often its policy failed.
_POLICY_HEALTH = 'policy_node: policy'
#: Whether a policy node is to be active: the state to change it from, and the change.
_SWITCHES = {
    True: (State.PRIMARY_STATE_INACTIVE, Transition.TRANSITION_ACTIVATE),
    False: (State.PRIMARY_STATE_ACTIVE, Transition.TRANSITION_DEACTIVATE),
}
#: Longest wait for the first truth of an episode, wall seconds.
_TRUTH_S = 5.0


class EvaluationClient(TaskClient):
    """Use as a context manager; the listener hears predicates and interventions, too."""

    def __init__(
        self,
        listener: Callable[[Any], None],
        *,
        namespace: str = '',
        watch: Callable[[], None] | None = None,
        patience_s: float = 60.0,
    ) -> None:
        """Subscribe; see `TaskClient`.

        Args:
            listener: Called with everything that is heard.
            namespace: Of the arm or world.
            watch: Called about ten times a second while waiting; may raise.
            patience_s: Wall time for an answer of the graph.
        """
        self._patience_s = patience_s
        self.failures = 0
        super().__init__(listener, namespace=namespace, watch=watch)
        for topic, decode in _ALSO.items():
            self._subscribe(topic, decode)
        health = topics.DIAGNOSTICS
        hear(self._node, health, health_from_message, self._note_health, recorder_qos(health))
        self._services: dict[str, Any] = {}

    def wait_for_graph(self) -> None:
        """Return once body, planner, policy and tracker are up.

        Raises:
            StaleDataError: If one is missing for too long.
        """
        limit_s = self._patience_s
        self.wait_for_episode(limit_s)
        self.wait_for_planner(limit_s)
        self.wait_for_subscribers(limit_s)

    def begin(self, start: EpisodeStart) -> Episode:
        """Reset the body, and return the episode once the tracker follows it.

        Raises:
            SimulationError: If the body refuses.
            StaleDataError: If it does not answer.
        """
        request = reset_to_request(start.task, start.seed, start.initial_state)
        response = self._ask(ResetEpisode, topics.RESET_EPISODE, request)
        if not response.accepted:
            raise SimulationError(f'reset_episode: {response.message}')
        number = int(response.episode)

        def is_followed() -> bool:
            known = (self._seen.get(Episode), self._seen.get(SubtaskStatus))
            return all(value is not None and value.episode == number for value in known)

        self._spin_until(is_followed, self._patience_s, f'nobody follows episode {number}')
        episode: Episode = self._seen[Episode]
        self._settle_truth(number)
        return episode

    def settle(self, is_settled: Callable[[], bool], limit_s: float) -> None:
        """Hear on until something is so, or for `limit_s` at most."""
        self._spin_for(limit_s, is_settled)

    def pause(self, seconds: float) -> None:
        """Hear on for a while."""
        self._spin_for(seconds)
        self._watch()

    def switch(self, node: str, is_on: bool) -> None:
        """Activate or deactivate a policy node, unless it is so already.

        Raises:
            StaleDataError: If it is not there.
        """
        state = self._ask(GetState, f'{node}/get_state', GetState.Request())
        before, change = _SWITCHES[is_on]
        if state.current_state.id == before:
            request = ChangeState.Request(transition=Transition(id=change))
            self._ask(ChangeState, f'{node}/change_state', request)

    def _ask(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service and return its answer."""
        if service not in self._services:
            self._services[service] = self._node.create_client(kind, service)
        client = self._services[service]
        limit_s = self._patience_s
        self._spin_until(client.service_is_ready, limit_s, f'nobody serves `{service}`')
        call = client.call_async(request)
        self._spin_until(call.done, limit_s, f'`{service}` does not answer')
        return call.result()

    def _settle_truth(self, number: int) -> None:
        """Hear the first truth of an episode, where the body tells any."""

        def is_told() -> bool:
            truth = self._seen.get(Predicates)
            return truth is not None and truth.episode == number

        self._spin_for(_TRUTH_S, is_told)

    def _keep(self, event: Any) -> None:
        if not isinstance(event, Episode) or not event.ended:
            super()._keep(event)

    def _note_health(self, components: list[Any]) -> None:
        for name, _, _, values in components:
            if name.endswith(_POLICY_HEALTH):
                self.failures = max(self.failures, int(values.get('failed', '0')))
