"""Runs a protocol: trials to whoever is free, records into the folder, until nothing is open."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Protocol as Port

from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.training.episode_player import EpisodePlayer
from structrl_ros.training.evaluation_folder import EvaluationFolder

#: Gives the next trial, None if there is none to be played now.
NextTrial = Callable[[], Trial | None]


class Players(Port):
    """Who plays trials: this process, several, or a cluster."""

    def play(self, next_trial: NextTrial) -> Iterator[EpisodeRecord]:
        """Ask for trials while somebody is free, and give records as episodes end."""

    def close(self) -> None:
        """Free everything; a second call does nothing."""


class OnePlayer:
    """Plays in this process, one trial after another."""

    def __init__(self, folder: EvaluationFolder) -> None:
        """Make the body."""
        self._player = EpisodePlayer(folder.protocol, folder.policies())

    def play(self, next_trial: NextTrial) -> Iterator[EpisodeRecord]:
        """Play until there is no trial."""
        while (trial := next_trial()) is not None:
            yield self._player.play(trial)

    def close(self) -> None:
        """Free body and policies."""
        self._player.close()


def run_evaluation(
    folder: EvaluationFolder,
    make_players: Callable[[EvaluationFolder], Players],
    *,
    on_record: Callable[[EpisodeRecord], None] = lambda record: None,
) -> EvaluationResults:
    """Play what is open, and return the results; a second call after an interruption goes on.

    With a stopping rule no trial begins after its decision. Those that are under way then are
    kept and do not count.

    Args:
        folder: Of the evaluation.
        make_players: Makes whoever plays; not called if nothing is open.
        on_record: Told of each episode, when it is on the disk.

    Raises:
        StructRLError: If the body, a policy or a worker fails for good; what was played is kept.
    """
    if folder.stand.open:
        players = make_players(folder)
        try:
            _play(folder, players, on_record)
        finally:
            players.close()
            folder.save_results()
    return folder.save_results()


def _play(
    folder: EvaluationFolder, players: Players, on_record: Callable[[EpisodeRecord], None]
) -> None:
    given: set[int] = set()

    def next_trial() -> Trial | None:
        trial = next((t for t in folder.stand.open if t.number not in given), None)
        if trial is not None:
            given.add(trial.number)
        return trial

    for record in players.play(next_trial):
        folder.append(record)
        on_record(record)
