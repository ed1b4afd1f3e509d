"""From tasks to counterfactual episodes: record, look, edit, write."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.ports import StateBody
from structrl_ros.sim.counterfactual.stage import CounterfactualStage
from structrl_ros.sim.registry import make_body
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import write_episode
from structrl_ros.training.source_trajectory import read_source
from structrl_ros.training.source_trajectory import record_states
from structrl_ros.world_types import EpisodeStart


def make_episodes(
    out: Path,
    body_name: str,
    episodes: Sequence[tuple[str, int]],
    *,
    frames: int,
    size_px: int,
    seed: int,
    test_share: float,
    on_failure: Callable[[str], None] = lambda _: None,
) -> Iterator[SourceRecord]:
    """Yield the record of each episode as soon as its files are written.

    Args:
        out: Folder of the set.
        body_name: Body with a MuJoCo scene.
        episodes: Task and initial state of each.
        frames: Frames of an episode, evenly spread.
        size_px: Side of the pictures.
        seed: Of the scene and of what operators draw.
        test_share: Share of episodes in the split `test`.
        on_failure: Told of an episode in which the expert failed; it is left out.

    Raises:
        ParameterError: If the body has no state vector or no scene that operators know.
        SimulationError: If a task is unknown.
    """
    body = make_body(body_name)
    if not isinstance(body, StateBody):
        body.close()
        raise ParameterError(f'body {body_name!r}; allowed: libero, tabletop')
    try:
        for task, initial_state in episodes:
            start = EpisodeStart(task, seed, initial_state)
            try:
                info, states = record_states(body, start, frames)
            except TrainingError as error:
                on_failure(str(error))
                continue
            stage = CounterfactualStage(body, size_px)
            try:
                source = read_source(stage, body_name, start, info, states)
                yield write_episode(
                    out, stage, source, seed=seed, size_px=size_px, test_share=test_share
                )
            finally:
                stage.close()
    finally:
        body.close()
