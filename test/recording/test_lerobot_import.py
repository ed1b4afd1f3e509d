"""Datasets back to bags: ours without a loss, those of others by a mapping, LIBERO's files."""

import json

import h5py
import numpy as np
import pytest
from arm_runs import noise_picture
from arm_runs import with_arm
from scipy.spatial.transform import Rotation

from structrl_ros.errors import BagError
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.lerobot.export import export_bags
from structrl_ros.recording.lerobot.importing import import_dataset
from structrl_ros.recording.lerobot.layout import Feature
from structrl_ros.recording.lerobot.libero_file import import_libero_file
from structrl_ros.recording.lerobot.mapping import FeatureMap
from structrl_ros.recording.lerobot.reader import DatasetReader
from structrl_ros.recording.lerobot.sources import ExportRequest
from structrl_ros.recording.lerobot.writer import DatasetWriter
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Reward

_MADE = []


def export(place, out, *bags, **options):
    export_bags(ExportRequest(bags=bags, out=place / out, **options))
    return place / out


@pytest.fixture
def place(synthetic_run, tmp_path_factory):
    """Two runs, their dataset `data` with exact pictures, and the bag of that; made once."""
    if not _MADE:
        folder = tmp_path_factory.mktemp('imported')
        first = with_arm(synthetic_run)(chunks=4, done_at=(1, 2, 3, 4))
        first.acts = ((2, 0), (2, 3), (4, 7), (5, 0))
        first.write(folder / 'a')
        second = with_arm(synthetic_run)(chunks=3, done_at=(1, 2, 9, 9), success=False)
        second.observe = 'chunk'
        second.write(folder / 'b')
        bags = (folder / 'a/bag', folder / 'b/bag')
        export(folder, 'data', *bags, pictures='images', fill=True)
        report = import_dataset(folder / 'data', folder / 'again', FeatureMap())
        assert (report.episodes, report.steps) == (2, 56)
        _MADE.append(folder)
    return _MADE[0]


def test_dataset_to_bag_to_dataset_is_equal_to_the_last_bit(place, tmp_path):
    export(tmp_path, 'data', place / 'again', pictures='images', fill=True)
    first, second = (DatasetReader(f / 'data') for f in (place, tmp_path))
    assert first.info.features == second.info.features
    for before, after in zip(first.episodes(), second.episodes(), strict=True):
        assert before.task == after.task
        assert before.subtasks == after.subtasks and any(before.subtasks)
        for key, values in before.columns.items():
            if key != 'actor':  # the bag was played by `replay`
                assert values.dtype == after.columns[key].dtype
                assert np.array_equal(values, after.columns[key]), key
        assert set(after.columns['actor']) == {3}
        for key, pictures in before.pictures.items():
            for one, two in zip(pictures(), after.pictures[key](), strict=True):
                assert np.array_equal(one, two)


def test_bag_of_a_dataset_holds_the_chunks_rewards_and_takeovers_of_the_run(place):
    was, now = read_events(place / 'a/bag'), read_events(place / 'again')
    mine = now.of_episode(1)
    for before, after in zip(was.of(ChunkDone), mine.of(ChunkDone), strict=True):
        assert np.array_equal(before.executed, after.executed)
        told = ('stamp_ns', 'chunk', 'terminated', 'truncated', 'success')
        assert [getattr(before, n) for n in told] == [getattr(after, n) for n in told]
    assert [r.value for r in was.of(Reward)] == [r.value for r in mine.of(Reward)]
    assert was.of(Reward)[-1].episode_return == pytest.approx(mine.of(Reward)[-1].episode_return)
    assert [i.active for i in mine.of(Intervention)] == [True, False, True, False]
    assert {c.source for c in mine.of(ActionChunk)} == {'replay'}
    assert was.of(Plan)[0] == mine.of(Plan)[0]
    start, end = (e for e in now.of(Episode) if e.episode == 2)
    assert (start.ended, end.ended, end.success, end.end_reason) == (
        False,
        True,
        False,
        'horizon reached',
    )


def test_clock_and_receipt_never_go_back_over_episodes_of_several_bags(place):
    reader = BagReader(place / 'again')
    receipts, clocks = [], []
    for topic, _, receipt_ns, message in reader.messages():
        receipts.append(receipt_ns)
        if topic == '/clock':
            clocks.append(message.clock.sec * 10**9 + message.clock.nanosec)
    assert receipts == sorted(receipts)
    assert clocks == sorted(clocks)
    assert len(set(clocks)) == len(clocks)


def test_video_comes_back_within_its_error(place, tmp_path):
    export(tmp_path, 'film', place / 'a/bag', pictures='video')
    import_dataset(tmp_path / 'film', tmp_path / 'bag', FeatureMap())
    topic = '/observation/head/image'
    both = [
        [decode_image(m) for *_, m in BagReader(bag).messages([topic])]
        for bag in (place / 'again', tmp_path / 'bag')
    ]
    errors = [np.abs(a.astype(int) - b).mean() for a, b in zip(both[0][:32], both[1], strict=True)]
    assert max(errors) < 70  # noise; real pictures: docs/lerobot.md


def foreign(place, *, names=None, video=False):
    """Write a dataset with other names, as others have them."""
    size = 96
    features = {
        'observation.state': Feature('float32', (8,), names),
        'action': Feature('float32', (7,)),
        'observation.images.top': Feature('video' if video else 'image', (size, size, 3)),
    }
    place.mkdir()
    writer = DatasetWriter(place, features, fps=10, robot='panda', codec='h264')
    for number in range(2):
        length = 10 + number
        state = np.zeros((length, 8), dtype=np.float32)
        state[:, 0] = np.arange(length) / 10
        state[:, 3:6] = [0.0, 0.0, np.pi / 2]
        state[:, 6:] = [0.02, -0.02]
        action = np.zeros((length, 7), dtype=np.float32)
        action[:, 6] = np.arange(length) % 2
        pictures = {'observation.images.top': [noise_picture(i, size) for i in range(length)]}
        writer.add_episode(
            f'task {number}', {'observation.state': state, 'action': action}, pictures, {}
        )
    writer.close({})
    return place


LIBERO_STATE = ('ee.x', 'ee.y', 'ee.z', 'ee.rx', 'ee.ry', 'ee.rz', 'finger_left', 'finger_right')


@pytest.mark.parametrize('video', [False, True])
def test_dataset_with_other_names_becomes_a_bag_by_a_mapping(tmp_path, video):
    root = foreign(tmp_path / 'data', video=video)
    how = FeatureMap(
        keys={'head': 'observation.images.top'},
        state_names=LIBERO_STATE,
        action_space='ee_delta_pose',
        gripper=(1.0, 0.0),
        chunk_length=4,
    )
    report = import_dataset(root, tmp_path / 'bag', how)
    assert (report.episodes, report.steps, report.cameras) == (2, 21, ('head',))
    events = read_events(tmp_path / 'bag')
    assert [len(c.actions) for c in events.of(ActionChunk)] == [4, 4, 2, 4, 4, 3]
    assert {c.step_period for c in events.of(ActionChunk)} == {0.1}
    assert events.of(ActionChunk)[0].actions[:, 6].tolist() == [1.0, -1.0, 1.0, -1.0]
    assert [e.instruction for e in events.of(Episode)] == ['task 0', 'task 0', 'task 1', 'task 1']
    messages = {}
    for topic, _, _, message in BagReader(tmp_path / 'bag').messages():
        messages.setdefault(topic, []).append(message)
    pose = messages['/observation/ee_pose'][3].pose
    assert pose.position.x == pytest.approx(0.3)
    assert pose.orientation.z == pytest.approx(np.sqrt(0.5))
    joints = messages['/observation/joint_states'][0]
    assert joints.name == ['finger_left', 'finger_right']
    assert np.allclose(joints.position, [0.02, 0.02])
    first = decode_image(messages['/observation/head/image'][0]).astype(int)
    assert np.abs(first - noise_picture(0, 96)).mean() < (70 if video else 1e-9)


def test_what_a_foreign_dataset_does_not_tell_is_asked_for(tmp_path):
    root = foreign(tmp_path / 'data')
    told = {'state_names': LIBERO_STATE, 'action_space': 'ee_delta_pose'}
    cases = [
        ({}, DatasetError, r'give --action-space \(ee_delta_pose\)'),
        (
            {**told, 'state_names': ()},
            DatasetError,
            r'8 entries and the names none; .*--state-nam',
        ),
        ({**told, 'state_names': tuple('abcdefgh')}, DatasetError, 'no gripper; name its entries'),
        ({**told, 'state_names': ('ee.x', *'abcde', 'gripper', '-')}, DatasetError, 'no pose'),
        (
            {**told, 'keys': {'action': 'actions'}},
            DatasetError,
            'the dataset has no actions; it h',
        ),
        (
            {**told, 'keys': {'head': 'action'}},
            DatasetError,
            'pictures of the dataset: observation',
        ),
    ]
    for options, kind, words in cases:
        with pytest.raises(kind, match=words):
            import_dataset(root, tmp_path / 'bag', FeatureMap(**options))
        assert not (tmp_path / 'bag').exists()
    with pytest.raises(ParameterError, match='map foot; allowed: state, action'):
        FeatureMap(keys={'foot': 'x'})


def test_damaged_datasets_are_one_clear_line(place, tmp_path):
    def attempt(words, out='bag'):
        with pytest.raises(DatasetError, match=words):
            import_dataset(tmp_path / 'data', tmp_path / out, FeatureMap())
        assert not (tmp_path / out).exists()

    def write(name, data):
        path = tmp_path / 'data' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def whole(name):
        return (place / 'data' / name).read_bytes()

    frames = 'data/chunk-000/file-000.parquet'
    rows = 'meta/episodes/chunk-000/file-000.parquet'
    attempt('no dataset: .*info.json')
    info = json.loads(whole('meta/info.json'))
    write('meta/info.json', json.dumps({**info, 'codebase_version': 'v2.1'}).encode())
    attempt(r"codebase_version 'v2.1'; allowed: 'v3.0'; LeRobot's own converter")
    write('meta/info.json', b'{"codebase_version":')
    attempt('info.json is no JSON')
    write('meta/info.json', whole('meta/info.json'))
    attempt('tasks.parquet is missing')
    for name in ('meta/tasks.parquet', 'meta/subtasks.parquet'):
        write(name, whole(name))
    attempt('meta/episodes holds no parquet file')
    write(rows, whole(rows)[:-100])
    attempt('file-000.parquet is cut or no parquet file')
    write(rows, whole(rows))
    attempt(r'data/chunk-000/file-000.parquet is missing')
    write(frames, whole(frames)[: len(whole(frames)) // 2])
    attempt('file-000.parquet is cut or no parquet file')
    write(frames, whole(frames))
    assert import_dataset(tmp_path / 'data', tmp_path / 'bag', FeatureMap()).episodes == 2
    with pytest.raises(BagError, match='exists already'):
        import_dataset(tmp_path / 'data', tmp_path / 'bag', FeatureMap())


def test_cut_video_is_one_clear_line(tmp_path):
    root = foreign(tmp_path / 'data', names=LIBERO_STATE, video=True)
    film = root / 'videos/observation.images.top/chunk-000/file-000.mp4'
    how = FeatureMap(keys={'head': 'observation.images.top'}, action_space='ee_delta_pose')
    film.write_bytes(film.read_bytes()[:2000])
    with pytest.raises(DatasetError, match=r'file-000\.mp4 is cut or no video'):
        import_dataset(root, tmp_path / 'bag', how)
    film.unlink()
    with pytest.raises(DatasetError, match=r'file-000\.mp4 is missing'):
        import_dataset(root, tmp_path / 'bag', how)
    assert not (tmp_path / 'bag').exists()


def libero_file(path):
    """Write a file of the layout of LIBERO's demonstrations."""
    model = '<mujoco><worldbody><body name="robot0_base" pos="-0.6 0 0.9"/></worldbody></mujoco>'
    with h5py.File(path, 'w') as file:
        data = file.create_group('data')
        data.attrs['problem_info'] = json.dumps({'language_instruction': 'open the drawer'})
        for number in (0, 1, 10):
            group = data.create_group(f'demo_{number}')
            group.attrs['model_file'] = model
            length = 9 + number
            group['actions'] = np.full((length, 7), 0.1 * number)
            group['rewards'] = np.eye(length, dtype=np.uint8)[-1]
            group['dones'] = np.eye(length, dtype=np.uint8)[-1]
            seen = group.create_group('obs')
            seen['joint_states'] = np.tile(np.arange(7.0), (length, 1))
            seen['gripper_states'] = np.tile([0.03, -0.03], (length, 1))
            seen['ee_states'] = np.tile([-0.2, 0.1, 1.1, np.pi, 0.0, 0.0], (length, 1))
            picture = np.zeros((length, 8, 8, 3), dtype=np.uint8)
            picture[:, 0] = 255  # OpenGL's lowest row
            seen['agentview_rgb'] = picture
            seen['eye_in_hand_rgb'] = picture
    return path


def test_libero_demonstrations_become_episodes_in_the_frame_of_the_base(tmp_path):
    report = import_libero_file(libero_file(tmp_path / 'x_demo.hdf5'), tmp_path / 'bag')
    assert (report.episodes, report.steps) == (3, 9 + 10 + 19)
    assert report.cameras == ('head', 'left_wrist')
    events = read_events(tmp_path / 'bag')
    assert {e.instruction for e in events.of(Episode)} == {'open the drawer'}
    assert [e.success for e in events.of(Episode) if e.ended] == [True] * 3
    assert events.of(ChunkDone)[-1].executed[0] == pytest.approx(np.ones(7))
    found = {}
    for topic, _, _, message in BagReader(tmp_path / 'bag').messages():
        found.setdefault(topic, message)
    pose = found['/observation/ee_pose'].pose
    place = (pose.position.x, pose.position.y, pose.position.z)
    assert place == pytest.approx((0.4, 0.1, 0.2))
    q = pose.orientation
    expected = Rotation.from_rotvec([np.pi, 0, 0]) * Rotation.from_euler('z', -np.pi / 2)
    turn = Rotation.from_quat([q.x, q.y, q.z, q.w])
    assert (turn.inv() * expected).magnitude() < 1e-9
    assert found['/observation/joint_states'].position[-2:].tolist() == [0.03, 0.03]
    picture = decode_image(found['/observation/head/image'])
    assert picture[-1].min() == 255 and picture[:-1].max() == 0


def test_file_that_is_none_of_liberos_is_one_clear_line(tmp_path):
    with pytest.raises(DatasetError, match=r'demo\.hdf5 is missing'):
        import_libero_file(tmp_path / 'demo.hdf5', tmp_path / 'bag')
    (tmp_path / 'demo.hdf5').write_bytes(b'no HDF5')
    with pytest.raises(DatasetError, match='is cut or no LIBERO file'):
        import_libero_file(tmp_path / 'demo.hdf5', tmp_path / 'bag')
    path = libero_file(tmp_path / 'other.hdf5')
    with h5py.File(path, 'a') as file:
        del file['data/demo_1/obs/ee_states']
    with pytest.raises(DatasetError, match=r'is cut or no LIBERO file: .*ee_states'):
        import_libero_file(path, tmp_path / 'bag')
    assert not (tmp_path / 'bag').exists()
