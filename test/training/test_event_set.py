"""The corpus of failure events: what is kept, one split a scene, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.learning.eligibility import select_feedback
from structrl_ros.sim.events.reviewer import SimulatorEvents
from structrl_ros.training.event_card import write_event_card
from structrl_ros.training.event_episode import SPLITS
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.event_episode import split_of
from structrl_ros.training.event_play import event_scenes
from structrl_ros.training.event_run import EventRequest
from structrl_ros.training.event_run import make_events
from structrl_ros.training.event_set import part_path
from structrl_ros.training.event_set import read_split
from structrl_ros.training.learned_policy import shipped_checkpoint

pytestmark = [pytest.mark.sim, pytest.mark.torch]


def request(out: Path, **changes: object) -> EventRequest:
    asked = EventRequest(
        out=out,
        policy=str(shipped_checkpoint('tabletop')),
        name='shipped',
        tasks=('pack_lunch',),
        scenes=4,
        offsets=(0.03, 0.04),
    )
    return dataclasses.replace(asked, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope='module')
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[EventEpisode]]:
    out = tmp_path_factory.mktemp('events') / 'set'
    episodes = make_events(request(out), lambda name, count: None)
    write_event_card(out, episodes)
    return out, episodes


def test_a_scene_is_in_one_split_whoever_played_it(made: tuple[Path, list[EventEpisode]]) -> None:
    out, episodes = made
    assert len(episodes) == 8
    scenes = {
        split: {episode.scene for episode in read_split(out, split)}
        for split in SPLITS
        if (out / 'data' / f'{split}.parquet').is_file()
    }
    assert sum(map(len, scenes.values())) == 4
    assert sum(len(read_split(out, split)) for split in scenes) == 8


def test_three_splits_of_many_scenes_are_as_large_as_they_should_be() -> None:
    starts = event_scenes('pack_lunch', 2000, 0)
    assert len({start.seed for start in starts}) == 2000
    found = [split_of(start.task, start.seed, start.initial_state) for start in starts]
    shares = [found.count(split) / 2000 for split in SPLITS]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.04)
    assert event_scenes('pack_lunch', 5, 0) == starts[:5]


def test_a_row_tells_label_states_and_what_an_event_model_is_given(
    made: tuple[Path, list[EventEpisode]],
) -> None:
    failed = [episode for episode in made[1] if not episode.success]
    assert failed
    for episode in failed:
        rollout = episode.rollout()
        assert rollout.states.shape[0] == rollout.chunks + 1 == len(rollout.proprioception)
        assert episode.label.outcome == 'failure'
        once_a_chunk = SimulatorEvents().review(rollout)
        assert once_a_chunk.outcome == 'failure'
    assert any(select_feedback(e.label, e.chunks).boundary is not None for e in failed)


def test_a_second_run_plays_nothing_again_and_other_settings_are_refused(
    made: tuple[Path, list[EventEpisode]],
) -> None:
    out, episodes = made
    told: list[str] = []
    assert make_events(request(out), lambda name, count: told.append(name)) == episodes
    assert told == []
    with pytest.raises(ParameterError, match='frames'):
        make_events(request(out, frames=4), lambda name, count: None)


def test_pictures_are_those_of_the_boundaries_they_name(tmp_path: Path) -> None:
    pytest.importorskip('mujoco')
    asked = request(tmp_path / 'set', scenes=1, offsets=(0.03,), frames=3, size_px=32)
    (episode,) = make_events(asked, lambda name, count: None)
    rollout = episode.rollout()
    assert rollout.frame_chunks[0] == 0
    assert rollout.frame_chunks[-1] == episode.chunks
    assert rollout.views['head'].shape == (3, 32, 32, 3)
    assert np.ptp(rollout.views['head'].astype(int), axis=0).max() > 20


def test_a_cut_part_and_a_missing_split_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match='it has none'):
        read_split(tmp_path, 'test')
    asked = request(tmp_path / 'set', scenes=1, offsets=(0.03,))
    make_events(asked, lambda name, count: None)
    path = part_path(tmp_path / 'set', 'shipped-0.03-pack_lunch-1')
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DatasetError, match='shipped-0'):
        make_events(asked, lambda name, count: None)
