"""Bags to a LeRobotDataset v3.0: what was executed and seen at every step, and only that."""

import json

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from arm_runs import STEP_NS
from arm_runs import noise_picture
from arm_runs import state_at
from arm_runs import with_arm

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.lerobot.export import export_bags
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.recording.lerobot.sources import ExportRequest
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import Reward

SECOND = 1_000_000_000


@pytest.fixture
def run(synthetic_run):
    made = with_arm(synthetic_run)(chunks=6, done_at=(1, 3, 4, 6))
    made.acts = ((2, 0), (2, 3), (6, 7), (7, 0))
    return made


@pytest.fixture
def exported(run, tmp_path_factory):
    """The folder of the run's bag and of its dataset `data`, with exact pictures; made once."""
    if not _MADE:
        place = tmp_path_factory.mktemp('exported')
        run.write(place)
        report = export(place, pictures='images')
        assert (report.episodes, report.frames, report.successes) == (1, 48, 1)
        _MADE.append(place)
    return _MADE[0]


_MADE = []


def export(tmp_path, out='data', **options):
    bag = options.pop('bags', (tmp_path / 'bag',))
    return export_bags(ExportRequest(bags=bag, out=tmp_path / out, **options))


def frames(root):
    return pq.read_table(root / 'data/chunk-000/file-000.parquet')


def test_every_executed_step_is_a_frame_with_what_it_saw(exported):
    table = frames(exported / 'data')
    state = np.array(table.column('observation.state').to_pylist(), dtype=np.float32)
    for i in range(48):
        joints, pose = state_at(SECOND + i * STEP_NS)
        assert np.array_equal(state[i], np.array([*joints, *pose], dtype=np.float32))
    action = np.array(table.column('action').to_pylist(), dtype=np.float32)
    expected = np.repeat(0.01 * np.arange(1, 7), 8).astype(np.float32)
    assert np.array_equal(action, np.repeat(expected[:, None], 7, axis=1))
    assert table.column('time_ns').to_pylist() == [i * STEP_NS for i in range(48)]
    assert np.allclose(table.column('timestamp').to_pylist(), np.arange(48) / 20.0)
    assert table.column('chunk').to_pylist() == [1 + i // 8 for i in range(48)]


def test_reward_of_a_chunk_is_paid_at_its_last_step_to_the_last_bit(exported):
    reward = np.array(frames(exported / 'data').column('next.reward').to_pylist())
    ledger = [v.value for v in read_events(exported / 'bag').of(Reward)]
    assert reward[7::8].tolist() == ledger
    assert np.count_nonzero(reward) == np.count_nonzero(ledger) > 0


def test_end_success_and_takeover_are_flags_of_single_steps(exported):
    table = frames(exported / 'data')
    last = [False] * 47 + [True]
    assert table.column('next.done').to_pylist() == last
    assert table.column('next.success').to_pylist() == last
    assert table.column('next.truncated').to_pylist() == [False] * 48
    acted = [i for i, on in enumerate(table.column('intervention').to_pylist()) if on]
    assert acted == [8, 9, 10, 47]  # first step of a chunk, inside it, and the very last one
    assert set(table.column('actor').to_pylist()) == {0}  # the policy's chunks


def test_subtask_and_stage_follow_the_verdicts_not_the_chunks(exported):
    episode = next(DatasetReader(exported / 'data').episodes())
    phrases = list(dict.fromkeys(episode.subtasks))
    assert phrases[:4] == [
        'grasp alphabet soup',
        'place alphabet soup in basket',
        'grasp tomato sauce',
        'place tomato sauce in basket',
    ]
    stages = episode.columns['stage']
    assert [stages[episode.subtasks.index(p)] for p in phrases[:4]] == [0, 1, 2, 3]


def test_images_are_exact_and_a_video_is_near_and_in_step(exported, tmp_path):
    export(tmp_path, 'film', bags=(exported / 'bag',), pictures='video')
    exact = next(DatasetReader(exported / 'data').episodes()).pictures
    for i, pixels in enumerate(exact['observation.images.head']()):
        assert np.array_equal(pixels, noise_picture(SECOND + i * STEP_NS))
    with av.open(
        str(tmp_path / 'film/videos/observation.images.head/chunk-000/file-000.mp4')
    ) as f:
        decoded = [(float(p.time), p.to_ndarray(format='rgb24')) for p in f.decode(video=0)]
    assert len(decoded) == 48
    for i, (at_s, pixels) in enumerate(decoded):
        assert abs(at_s - i / 20.0) < 1e-6
        own = np.abs(pixels.astype(int) - noise_picture(SECOND + i * STEP_NS)).mean()
        other = np.abs(pixels.astype(int) - noise_picture(SECOND + (i + 1) * STEP_NS)).mean()
        assert own < 0.9 * other  # noise is the worst case: colour is halved in resolution


def test_statistics_are_those_of_the_columns(exported):
    stats = json.loads((exported / 'data/meta/stats.json').read_text())
    action = np.array(frames(exported / 'data').column('action').to_pylist())
    assert np.allclose(stats['action']['mean'], action.mean(axis=0))
    assert np.allclose(stats['action']['std'], action.std(axis=0))
    assert stats['action']['max'] == action.max(axis=0).tolist()
    assert stats['action']['count'] == [48]
    pixels = np.stack([noise_picture(SECOND + i * STEP_NS) for i in range(48)]) / 255.0
    camera = stats['observation.images.head']
    assert np.shape(camera['mean']) == (3, 1, 1)
    assert np.allclose(np.ravel(camera['mean']), pixels.mean(axis=(0, 1, 2)))
    assert np.allclose(np.ravel(camera['std']), pixels.std(axis=(0, 1, 2)))
    assert np.allclose(np.ravel(camera['q50']), np.median(pixels, axis=(0, 1, 2)), atol=1 / 255)
    row = pq.read_table(exported / 'data/meta/episodes/chunk-000/file-000.parquet').to_pylist()[0]
    assert row['stats/action/mean'] == stats['action']['mean']


def test_two_bags_become_one_dataset_whose_videos_share_a_file(run, synthetic_run, tmp_path):
    run.write(tmp_path / 'a')
    other = with_arm(synthetic_run)(chunks=4, done_at=(1, 2, 3, 99), success=False)
    other.instruction = 'do something else'
    other.write(tmp_path / 'b')
    bags = (tmp_path / 'a/bag', tmp_path / 'b/bag')
    report = export(tmp_path, bags=bags)
    assert (report.episodes, report.frames, report.successes) == (2, 80, 1)
    first, second = DatasetReader(tmp_path / 'data').episodes()
    assert (first.task, second.task) == (run.instruction, 'do something else')
    assert second.columns['index'].tolist() == list(range(48, 80))
    assert second.columns['next.truncated'][-1] and not second.columns['next.success'].any()
    film = np.array(list(second.pictures['observation.images.head']()), dtype=int)
    assert len(film) == 32
    assert (
        np.abs(film[0] - noise_picture(SECOND)).mean()
        < 0.9 * np.abs(film[0] - noise_picture(SECOND + STEP_NS)).mean()
    )
    assert export(tmp_path, 'good', bags=bags, successes=True).episodes == 1
    card = (tmp_path / 'data/README.md').read_text()
    assert '1 of 2 (50.0%, 95 % Wilson interval 9.5% to 90.5%)' in card
    assert 'license: #' in card and '`a/bag`' in card


def test_observations_of_a_lockstep_run_are_refused_with_the_place_or_filled(run, tmp_path):
    run.observe = 'chunk'
    run.write(tmp_path)
    where = r'observation/joint_states is 0.350 s old at the step at 1.350 s; allowed: 0.2 s'
    with pytest.raises(BagError, match=where):
        export(tmp_path)
    assert not (tmp_path / 'data').exists()
    export(tmp_path, pictures='images', fill=True)
    observed = np.array(frames(tmp_path / 'data').column('observed_ns').to_pylist())
    assert observed[:, 0].tolist() == [i // 8 * 8 * STEP_NS for i in range(48)]


def test_what_a_bag_lacks_is_one_clear_line(run, tmp_path):
    run.has_images = False
    run.write(tmp_path / 'blind')
    bags = (tmp_path / 'blind/bag',)
    with pytest.raises(BagError, match='holds no pictures; recorded cameras: none'):
        export(tmp_path, bags=bags, pictures='video')
    assert export(tmp_path, bags=bags).cameras == ()
    run.chunks, run.observe = 0, 'step'
    run.write(tmp_path / 'empty')
    with pytest.raises(BagError, match='no chunk_done: nothing says what was executed'):
        export(tmp_path, 'none', bags=(tmp_path / 'empty/bag',))
    run.observe = 'never'
    run.write(tmp_path / 'armless')
    with pytest.raises(BagError, match='holds no observation/joint_states'):
        export(tmp_path, 'none', bags=(tmp_path / 'armless/bag',))


def test_cut_bag_gives_the_episode_up_to_the_cut_and_says_so(run, tmp_path):
    run.close = False
    run.write(tmp_path).flush()
    report = export(tmp_path, pictures='images')
    assert report.frames == 48
    assert report.notes == [f'{tmp_path / "bag"} was cut: what lies before the cut is taken']


def test_two_dimensions_of_action_are_refused(run, tmp_path):
    run.wrong_chunk = 4
    run.write(tmp_path)
    with pytest.raises(BagError, match='chunk 4 has actions of 6 values, chunks before of 7'):
        export(tmp_path)


def test_nothing_is_overwritten_and_wrong_options_are_refused(run, tmp_path):
    run.write(tmp_path)
    (tmp_path / 'data').mkdir()
    with pytest.raises(DatasetError, match='exists already'):
        export(tmp_path)
    with pytest.raises(ParameterError, match=r"codec 'mpeg'; allowed: av1, h264"):
        export(tmp_path, codec='mpeg')
    with pytest.raises(ParameterError, match='camera nose; allowed: head'):
        export(tmp_path, roles=('nose',))
