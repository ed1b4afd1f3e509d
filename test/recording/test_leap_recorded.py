"""Claims of cutting recorded runs into skills: bags by the tracker, data sets by their column."""

import numpy as np
import pytest

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.writer import DatasetWriter
from structrl_ros.training.leap_bags import cut_bag
from structrl_ros.training.leap_datasets import cut_dataset
from structrl_ros.training.leap_episode import picture_pixels
from structrl_ros.training.leap_simulated import FrameSettings

SETTINGS = FrameSettings(picture='png')
SKILLS = ('grasp cube', 'place cube in box')


def test_a_bag_is_cut_where_the_tracker_went_on(synthetic_run, encoders, tmp_path):
    run = synthetic_run()
    run.write(tmp_path)
    [(name, episode)] = cut_bag(tmp_path / 'bag', SETTINGS)
    assert name == episode.name and episode.source == 'bag'
    assert episode.phrases == (
        'grasp alphabet soup',
        'place alphabet soup in basket',
        'grasp tomato sauce',
        'place tomato sauce in basket',
    )
    assert episode.instruction == run.instruction
    seconds = [(moment - 1_000_000_000) / 1e9 for moment in episode.moments]
    assert seconds == pytest.approx([0.0, *(chunk * run.chunk_s for chunk in run.done_at)])
    for moment, frame in zip(seconds, episode.boundaries, strict=True):
        shown = encoders['picture'](moment / run.chunk_s / run.chunks)
        assert (picture_pixels(frame[0]) == shown).all()


def test_a_run_without_success_or_pictures_is_left_out_with_the_reason(synthetic_run, tmp_path):
    synthetic_run(success=False).write(tmp_path)
    [(_, reason)] = cut_bag(tmp_path / 'bag', SETTINGS)
    assert reason == 'it did not end with success'
    with pytest.raises(BagError, match='holds no pictures of right_wrist'):
        list(cut_bag(tmp_path / 'bag', FrameSettings(roles=('right_wrist',))))


def write_dataset(root, phrases):
    root.mkdir()
    features = {
        'observation.state': Feature('float32', (2,)),
        'action': Feature('float32', (2,)),
        'observation.images.head': Feature('image', (12, 12, 3)),
    }
    if phrases:
        features['subtask_index'] = Feature('int64', (1,))
    writer = DatasetWriter(root, features, fps=10, robot='panda', codec='av1')
    count = len(phrases) or 10
    columns = {
        'observation.state': np.zeros((count, 2), np.float32),
        'action': np.zeros((count, 2), np.float32),
    }
    if phrases:
        columns['subtask_index'] = np.array([writer.subtasks.number(p) for p in phrases])
    pictures = [np.full((12, 12, 3), 10 * i, np.uint8) for i in range(count)]
    writer.add_episode(
        'put the cube in the box', columns, {'observation.images.head': pictures}, {}
    )
    writer.close({})
    (root / 'README.md').write_text('---\nlicense: cc-by-4.0\n---\n')


def test_a_data_set_is_cut_where_its_skill_changes(tmp_path):
    write_dataset(tmp_path / 'set', [SKILLS[0]] * 8 + [SKILLS[1]] * 12)
    [(name, episode)] = cut_dataset(tmp_path / 'set', SETTINGS)
    assert name == 'lerobot-set-0'
    assert episode.phrases == SKILLS
    assert episode.moments == (0, 8, 19)
    assert [int(picture_pixels(f[0])[0, 0, 0]) for f in episode.boundaries] == [0, 80, 190]
    assert episode.objects == ('cube', 'box')
    assert episode.licence == 'cc-by-4.0'


def test_a_data_set_that_tells_no_skills_is_refused_and_a_strange_skill_left_out(tmp_path):
    write_dataset(tmp_path / 'none', [])
    with pytest.raises(DatasetError, match='does not tell its skills; allowed: a column subtask'):
        list(cut_dataset(tmp_path / 'none', SETTINGS))
    write_dataset(tmp_path / 'strange', ['dance'] * 5 + ['open box'] * 5)
    [(_, reason)] = cut_dataset(tmp_path / 'strange', SETTINGS)
    assert "'dance': unknown verb" in reason
