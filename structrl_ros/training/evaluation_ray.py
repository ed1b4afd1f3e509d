"""Trials on a Ray cluster; the package structrl_ros and the checkpoints are there, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StructRLError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.training.episode_player import EpisodePlayer
from structrl_ros.training.evaluated_policy import policy_fingerprint
from structrl_ros.training.evaluation_folder import EvaluationFolder
from structrl_ros.training.evaluation_run import NextTrial
from structrl_ros.training.protocol_document import document_of_protocol
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.training.ray_rollouts import connect_ray
from structrl_ros.types import JsonObject


class PlayerActor:
    """What runs in a Ray actor: one body, and the policies that it was asked for."""

    def __init__(
        self, document: JsonObject, policies: dict[str, PolicyChoice], prints: dict[str, str]
    ) -> None:
        """Make the body.

        Args:
            document: Of the protocol.
            policies: Code to policy; checkpoints are read by their paths, on this machine.
            prints: Code to fingerprint of the policy.

        Raises:
            ParameterError: If a checkpoint here is another one.
        """
        protocol = protocol_of_document(document)
        for code, choice in policies.items():
            if policy_fingerprint(choice, protocol.body) != prints[code]:
                raise ParameterError(
                    f'policy {code}: another one lies on a machine of the cluster'
                )
        self._player = EpisodePlayer(protocol, policies)

    def play(self, trial: Trial) -> JsonObject:
        """Play an episode and return its record."""
        return self._player.play(trial).to_json()


class RayPlayers:
    """`evaluation_run.Players` on a Ray cluster."""

    def __init__(self, folder: EvaluationFolder, address: str, actors: int) -> None:
        """Connect and start the actors, one CPU each; 0: as many as there are.

        Raises:
            SimulationError: If Ray is missing or nothing answers.
        """
        self._actors: list[Any] = []
        self._ray, self._is_mine = connect_ray(address, actors)
        count = actors or max(1, int(self._ray.cluster_resources().get('CPU', 0)))
        policies = folder.policies()
        prints = {c: policy_fingerprint(p, folder.protocol.body) for c, p in policies.items()}
        remote = self._ray.remote(num_cpus=1)(PlayerActor)
        document = document_of_protocol(folder.protocol)
        self._actors = [remote.remote(document, policies, prints) for _ in range(count)]

    def play(self, next_trial: NextTrial) -> Iterator[EpisodeRecord]:
        """Hand out trials and give records as they come.

        Raises:
            StructRLError: What an actor failed with, or that it died.
        """
        running: dict[Any, Any] = {}
        for actor in self._actors:
            if (trial := next_trial()) is not None:
                running[actor.play.remote(trial)] = actor
        while running:
            (done,), _ = self._ray.wait(list(running), num_returns=1)
            actor = running.pop(done)
            yield record_from_json(self._get(done))
            if (trial := next_trial()) is not None:
                running[actor.play.remote(trial)] = actor

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; a second call does nothing."""
        actors, self._actors = self._actors, []
        for actor in actors:
            self._ray.kill(actor)
        if self._is_mine and self._ray.is_initialized():
            self._ray.shutdown()

    def _get(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, StructRLError):
                raise type(error.cause)(str(error.cause)) from None
            raise SimulationError(f'a Ray actor failed: {error.cause!r}') from None
        except errors.RayError as error:
            line = ' '.join(str(error).split())[:200]
            raise SimulationError(f'a Ray actor died: {line}') from None
