"""Claims of LEAP sets that scripted experts play: key frames at events, a run that goes on."""

import pytest
from typer.testing import CliRunner

pytest.importorskip('mujoco')

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.sim.registry import make_body
from structrl_ros.training.leap_episode import picture_pixels
from structrl_ros.training.leap_set import read_split
from structrl_ros.training.leap_simulated import FrameSettings
from structrl_ros.training.leap_simulated import SkillRecorder
from structrl_ros.training.leap_simulated import tasks_of
from structrl_ros.training.leap_store import load_episodes
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.sim


def leap(*words):
    result = CliRunner().invoke(app, ['data', 'leap', *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_a_run_that_was_stopped_goes_on_to_the_same_set(tmp_path):
    words = ('--task', 'apple_in_bowl', '--task', 'peg_insertion', '--size', 48)
    leap(tmp_path / 'once', '--tabletop', 2, *words)
    leap(tmp_path / 'twice', '--tabletop', 1, *words)
    first = {p.name: p.stat().st_mtime_ns for p in (tmp_path / 'twice/episodes').iterdir()}
    leap(tmp_path / 'twice', '--tabletop', 2, *words)
    again = {p.name: p.stat().st_mtime_ns for p in (tmp_path / 'twice/episodes').iterdir()}
    assert len(first) == 2 and len(again) == 4
    assert {name: again[name] for name in first} == first
    for split in ('train', 'test'):
        rows = read_split(tmp_path / 'once', split)
        assert rows and read_split(tmp_path / 'twice', split) == rows
    card = (tmp_path / 'once/README.md').read_text()
    assert 'tabletop: Apache-2.0' in card and '| test | tabletop | choice |' in card
    with pytest.raises(ParameterError, match='made with size_px 48, now 64'):
        leap(tmp_path / 'once', '--tabletop', 2, '--size', 64)


def test_key_frames_show_the_moments_of_the_events():
    settings = FrameSettings(size_px=48, picture='png')
    recorder = SkillRecorder('tabletop', settings)
    episode = recorder.record(EpisodeStart('apple_in_bowl', 0, 3))
    recorder.close()
    assert episode.phrases == ('grasp apple', 'place apple in bowl')
    assert episode.scene == 'tabletop: apple, bowl'
    body = make_body('tabletop', image_size=48)
    body.reset('apple_in_bowl', 0, 3)
    assert (picture_pixels(episode.boundaries[0][0]) == body.render('head')).all()
    body.close()
    shown = [*episode.boundaries, *episode.middle_frames]
    assert len({frame for frame in shown if frame}) == 5
    for middle, begin, end in zip(
        episode.middles, episode.moments, episode.moments[1:], strict=False
    ):
        assert begin < middle < end


def test_a_camera_that_a_body_does_not_have_is_refused():
    with pytest.raises(ParameterError, match='camera right_wrist; tabletop has head, left_wrist'):
        SkillRecorder('tabletop', FrameSettings(roles=('right_wrist',)))


@pytest.mark.slow
def test_libero_episodes_become_skills(tmp_path):
    leap(tmp_path / 'set', '--libero', 1, '--task', 'goal/7', '--task', 'goal/8', '--size', 64)
    episodes = load_episodes(tmp_path / 'set')
    assert [episode.phrases for episode in episodes] == [
        ('turn on flat stove',),
        ('grasp akita black bowl', 'place akita black bowl on plate'),
    ]
    assert len({episode.scene for episode in episodes}) == 1
    assert len(tasks_of('libero')) == 39
    ways = {row.way for row in read_split(tmp_path / 'set', 'train')}
    assert 'joined' in ways
