"""`structrl calibrate` as a user types it, without a robot, and from a bag."""

import re

import numpy as np
import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')
pytest.importorskip('rosbags', reason='needs rosbags: requirements/core.txt')

import cv2

from structrl_ros.calibration.document import read_calibration
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.rehearsal import CAMERA
from structrl_ros.calibration.rehearsal import Rehearsal
from structrl_ros.calibration.samples import read_samples
from structrl_ros.calibration.transforms import difference
from structrl_ros.calibration.transforms import matrix_from_pose
from structrl_ros.calibration.transforms import pose_from_matrix
from structrl_ros.cli.main import app
from structrl_ros.errors import CalibrationError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.message_types import message_types

SECOND = 1_000_000_000


def typed(*words):
    """Run a command and return what it printed; its error is raised as it is."""
    done = CliRunner().invoke(app, ['calibrate', *map(str, words)], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, ' '.join(done.output.split())


@pytest.fixture(scope='module')
def rehearsed(tmp_path_factory):
    folder = tmp_path_factory.mktemp('rehearsed') / 'samples'
    _, text = typed('rehearse', folder, '--poses', 12, '--seed', 3, '--setup', 'eye_to_hand')
    return folder, text


def test_board_writes_a_page_in_true_size(tmp_path):
    code, text = typed('board', tmp_path / 'board.pdf')
    assert code == 0
    assert 'page of 297 x 210 mm; print at 100 %' in text
    _, text = typed('board', tmp_path / 'board.png', '--dpi', 300)
    assert 'pixels at 299.72 dpi' in text
    wrong = tmp_path / 'wrong.yaml'
    wrong.write_text('columns: 2')
    with pytest.raises(CalibrationError, match=r'wrong.yaml: board has 2 x 5 squares'):
        typed('board', tmp_path / 'board.png', '--board', wrong)


def test_solve_finds_the_truth_of_a_rehearsal_and_writes_where_it_comes_from(rehearsed, tmp_path):
    folder, said = rehearsed
    path = tmp_path / 'cell' / 'head.yaml'
    code, text = typed('solve', folder, '--write', path)
    assert code == 0
    numbers = re.search(r'in truth xyz (\[.*?\]), quat_xyzw (\[.*?\])', said)
    truth = [*yaml.safe_load(numbers[1]), *yaml.safe_load(numbers[2])]
    found = read_calibration(path)
    mm, deg = difference(matrix_from_pose(found.camera.pose), matrix_from_pose(truth))
    assert mm < 1.5
    assert deg < 0.15
    assert (found.camera.parent, found.camera.child) == ('base_link', 'camera_optical')
    assert found.serial == 'rehearsal 3'
    for words in ('held out', 'standard error (jackknife)', 'estimated noise', 'written:'):
        assert words in text
    assert '3 more poses' in text


@pytest.mark.parametrize(
    'method',
    [
        'shah',
        pytest.param(
            'daniilidis',
            marks=pytest.mark.skipif(
                not hasattr(cv2, 'calibrateHandEye'), reason='OpenCV 5 has no such solver'
            ),
        ),
    ],
)
def test_solve_takes_the_method_and_refinement_that_are_asked_for(rehearsed, tmp_path, method):
    path = tmp_path / 'head.yaml'
    typed('solve', rehearsed[0], '--write', path, '--method', method, '--refinement', 'none')
    told = read_calibration(path).provenance
    assert (told['method'], told['refinement']) == (method, 'none')
    assert 'estimated_noise' not in told
    assert told['moved_by_refinement'] == {'mm': 0.0, 'deg': 0.0}


def test_nothing_is_written_where_nothing_can_be_known(rehearsed, tmp_path):
    folder = tmp_path / 'still'
    folder.mkdir()
    document = yaml.safe_load((rehearsed[0] / 'samples.yaml').read_text())
    for sample in document['samples']:
        sample['pose'] = document['samples'][0]['pose']
        sample['image'] = str(rehearsed[0] / '000.png')
    (folder / 'samples.yaml').write_text(yaml.safe_dump(document))
    path = tmp_path / 'head.yaml'
    with pytest.raises(CalibrationError, match='pure translation'):
        typed('solve', folder, '--write', path)
    assert not path.exists()


def test_intrinsics_are_checked_and_written_as_ros_has_them(rehearsed, tmp_path):
    path = tmp_path / 'camera.yaml'
    code, text = typed('intrinsics', rehearsed[0], '--write', path)
    assert code == 0
    assert 'the given ones are good' in text
    written = yaml.safe_load(path.read_text())
    assert written['image_width'] == 640
    assert written['camera_matrix']['data'][0] == pytest.approx(CAMERA.fx, rel=0.01)
    _, text = typed('solve', rehearsed[0], '--write', tmp_path / 'b.yaml', '--intrinsics', path)
    assert 'written' in text


def test_verify_draws_a_picture_and_says_how_far_the_board_is_off(rehearsed, tmp_path):
    path, picture = tmp_path / 'head.yaml', tmp_path / 'check.png'
    typed('solve', rehearsed[0], '--write', path, '--refinement', 'corners')
    _, text = typed('verify', path, rehearsed[0], picture, '--sample', 2, '--tool', 0, 0, 0.1)
    assert re.search(r'corners of the board are [0-2]\.\d px from where they should be', text)
    before = np.array(Image.open(rehearsed[0] / '002.png'))
    assert (np.array(Image.open(picture)) != before).any()
    with pytest.raises(CalibrationError, match='sample 12; allowed: 0 to 11'):
        typed('verify', path, rehearsed[0], picture, '--sample', 12)


def test_wrong_words_are_refused_with_one_line(tmp_path):
    with pytest.raises(ParameterError, match=r"setup is 'eye'; allowed: eye_in_hand"):
        typed('rehearse', tmp_path / 'a', '--setup', 'eye')
    (tmp_path / 'full').mkdir()
    (tmp_path / 'full' / 'x').write_text('')
    with pytest.raises(CalibrationError, match='is not empty; allowed: a new folder'):
        typed('rehearse', tmp_path / 'full')


def write_bag(path, views, pictures, *, info=True):
    """Record pictures at 10 Hz and poses at 50 Hz: 0.5 s at each view, 0.2 s between two."""
    store = message_types()

    def new(name, **fields):
        return store.types[name](**fields)

    def header(stamp_ns, frame):
        time = new(
            'builtin_interfaces/msg/Time', sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND
        )
        return new('std_msgs/msg/Header', stamp=time, frame_id=frame)

    now = {'ns': SECOND}
    bag = BagWriter(path, now_ns=lambda: now['ns'])
    kinds = {
        '/left/observation/left_wrist/image': 'sensor_msgs/msg/Image',
        '/left/observation/left_wrist/camera_info': 'sensor_msgs/msg/CameraInfo',
        '/left/observation/ee_pose': 'geometry_msgs/msg/PoseStamped',
    }
    for topic, kind in kinds.items():
        bag.add_topic(topic, kind)

    def send(topic, message):
        bag.write(topic, bytes(store.serialize_cdr(message, kinds[topic])))

    image_topic, info_topic, pose_topic = kinds
    for step in range(35 * len(views)):
        now['ns'] = stamp_ns = SECOND + step * 20_000_000
        at, phase = divmod(step, 35)
        pose = pose_from_matrix(views[at].base_gripper)
        if phase >= 25 and at + 1 < len(views):  # on the way to the next view
            pose[:3] += (phase - 24) / 11 * (views[at + 1].base_gripper[:3, 3] - pose[:3])
        x, y, z, qx, qy, qz, qw = pose.tolist()
        point = new('geometry_msgs/msg/Point', x=x, y=y, z=z)
        turn = new('geometry_msgs/msg/Quaternion', x=qx, y=qy, z=qz, w=qw)
        body = new('geometry_msgs/msg/Pose', position=point, orientation=turn)
        stamped = new('geometry_msgs/msg/PoseStamped', header=header(stamp_ns, 'link0'), pose=body)
        send(pose_topic, stamped)
        if step % 5 == 2:
            pixels = pictures[at]
            sent = new(
                'sensor_msgs/msg/Image',
                header=header(stamp_ns - 7_000_000, 'wrist_optical'),
                height=480,
                width=640,
                encoding='rgb8',
                is_bigendian=0,
                step=1920,
                data=pixels.ravel(),
            )
            send(image_topic, sent)
        if info and step % 50 == 0:
            k = CAMERA.matrix.ravel()
            region = new(
                'sensor_msgs/msg/RegionOfInterest',
                **dict.fromkeys(('x_offset', 'y_offset', 'height', 'width'), 0),
                do_rectify=False,
            )
            sent = new(
                'sensor_msgs/msg/CameraInfo',
                header=header(stamp_ns, 'wrist_optical'),
                height=480,
                width=640,
                distortion_model='plumb_bob',
                d=np.zeros(5),
                k=k,
                r=np.eye(3).ravel(),
                p=np.zeros(12),
                binning_x=0,
                binning_y=0,
                roi=region,
            )
            send(info_topic, sent)
    bag.close()


def test_capture_from_a_bag_takes_each_view_once_and_solve_finds_the_truth(tmp_path):
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=6)
    views = rig.views(7)
    write_bag(tmp_path / 'bag', views, [rig.picture(view) for view in views])
    words = ('--role', 'left_wrist', '--setup', 'eye_in_hand', '--namespace', 'left')
    _, text = typed(
        *('capture', tmp_path / 's', '--bag', tmp_path / 'bag', *words),
        *('--poses', 7, '--gripper-frame', 'hand', '--serial', '77'),
    )
    assert '7 samples in' in text
    assert 'the arm moves' in text
    assert 'this view is there already' in text
    taken = read_samples(tmp_path / 's')
    assert (taken.rig.base_frame, taken.rig.gripper_frame) == ('link0', 'hand')
    assert (taken.rig.camera_frame, taken.rig.serial) == ('wrist_optical', '77')
    for sample, view in zip(taken.samples, views, strict=True):
        assert np.allclose(sample.pose, pose_from_matrix(view.base_gripper), atol=1e-9)
    typed('solve', tmp_path / 's', '--write', tmp_path / 'wrist.yaml')
    found = matrix_from_pose(read_calibration(tmp_path / 'wrist.yaml').camera.pose)
    assert difference(found, rig.true_camera)[0] < 0.5


def test_capture_says_what_a_bag_lacks(tmp_path):
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=6)
    views = rig.views(1)
    write_bag(tmp_path / 'bag', views, [rig.picture(views[0])], info=False)
    words = ('--setup', 'eye_in_hand', '--bag', tmp_path / 'bag')
    wrist = ('--role', 'left_wrist', '--namespace', 'left')
    with pytest.raises(CalibrationError, match=r'lacks observation/head/image; topics: /left/obs'):
        typed('capture', tmp_path / 's', '--role', 'head', *words)
    with pytest.raises(CalibrationError, match='no camera_info came'):
        typed('capture', tmp_path / 's', *wrist, *words)
    camera = tmp_path / 'camera.yaml'
    typed('rehearse', tmp_path / 'r', '--poses', 1)
    document = yaml.safe_load((tmp_path / 'r' / 'samples.yaml').read_text())['camera']
    camera.write_text(yaml.safe_dump(document))
    with pytest.raises(CalibrationError, match='1 of 4 samples could be taken'):
        typed('capture', tmp_path / 's', *wrist, *words, '--intrinsics', camera, '--poses', 4)
    with pytest.raises(CalibrationError, match='holds samples already; allowed: a new folder'):
        typed('capture', tmp_path / 's', *wrist, *words, '--intrinsics', camera)
