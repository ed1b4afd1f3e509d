"""Trials on a Ray cluster; the package structrl_ros and the checkpoints are there, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from structrl_ros.errors import ParameterError
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
from structrl_ros.training.ray_cluster import RayActors
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
            SimulationError: If Ray is missing, nothing answers, or there are fewer CPUs.
        """
        policies = folder.policies()
        prints = {c: policy_fingerprint(p, folder.protocol.body) for c, p in policies.items()}
        given = (document_of_protocol(folder.protocol), policies, prints)
        self._cluster = RayActors(PlayerActor, given, address=address, actors=actors)

    def play(self, next_trial: NextTrial) -> Iterator[EpisodeRecord]:
        """Hand out trials and give records as they come.

        Raises:
            StructRLError: What an actor failed with, or that it died.
        """
        running: dict[Any, Any] = {}
        for actor in self._cluster.actors:
            if (trial := next_trial()) is not None:
                running[actor.play.remote(trial)] = actor
        while running:
            (done,), _ = self._cluster.ray.wait(list(running), num_returns=1)
            actor = running.pop(done)
            (record,) = self._cluster.get([done])
            yield record_from_json(record)
            if (trial := next_trial()) is not None:
                running[actor.play.remote(trial)] = actor

    def close(self) -> None:
        """End the actors, and the cluster if it was started here; a second call does nothing."""
        self._cluster.close()
