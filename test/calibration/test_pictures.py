"""Boards in rendered pictures: accuracy, what is refused, samples, lens, verification."""

from functools import cache

import numpy as np
import pytest
from PIL import Image

cv2 = pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

from structrl_ros.calibration.board import Board  # noqa: E402
from structrl_ros.calibration.capture import Gate  # noqa: E402
from structrl_ros.calibration.detection import MAX_EDGE_PX  # noqa: E402
from structrl_ros.calibration.detection import BoardDetector  # noqa: E402
from structrl_ros.calibration.detection import Detection  # noqa: E402
from structrl_ros.calibration.detection import board_pose  # noqa: E402
from structrl_ros.calibration.detection import motion_px  # noqa: E402
from structrl_ros.calibration.document import read_calibration  # noqa: E402
from structrl_ros.calibration.document import write_calibration  # noqa: E402
from structrl_ros.calibration.hand_eye import Setup  # noqa: E402
from structrl_ros.calibration.hand_eye import carrier_poses  # noqa: E402
from structrl_ros.calibration.lens import check_lens  # noqa: E402
from structrl_ros.calibration.pose_track import PoseAt  # noqa: E402
from structrl_ros.calibration.pose_track import PoseTrack  # noqa: E402
from structrl_ros.calibration.procedure import calibrate  # noqa: E402
from structrl_ros.calibration.procedure import fit  # noqa: E402
from structrl_ros.calibration.refinement import View  # noqa: E402
from structrl_ros.calibration.rehearsal import CAMERA  # noqa: E402
from structrl_ros.calibration.rehearsal import Rehearsal  # noqa: E402
from structrl_ros.calibration.samples import Rig  # noqa: E402
from structrl_ros.calibration.samples import SampleFolder  # noqa: E402
from structrl_ros.calibration.samples import read_samples  # noqa: E402
from structrl_ros.calibration.transforms import difference  # noqa: E402
from structrl_ros.calibration.transforms import pose_from_matrix  # noqa: E402
from structrl_ros.calibration.verification import verify  # noqa: E402
from structrl_ros.calibration.view_reading import read_views  # noqa: E402
from structrl_ros.camera_types import Intrinsics  # noqa: E402
from structrl_ros.camera_types import project  # noqa: E402
from structrl_ros.errors import CalibrationError  # noqa: E402
from structrl_ros.intrinsics_file import intrinsics_from_document  # noqa: E402
from structrl_ros.intrinsics_file import intrinsics_to_document  # noqa: E402

#: Sensor noise that moves a corner by 0.3 pixels (checked below).
NOISY = 25.0
BARREL = Intrinsics(640, 480, 605.0, 606.0, 321.3, 243.8, (-0.18, 0.06, 0.001, -0.0005, 0.0))


def rendered(path, setup, seed, count, intrinsics=CAMERA):
    """Return a folder of samples as capture writes it, and the poses it shows."""
    made = Rehearsal(setup, seed=seed, intrinsics=intrinsics)
    rig = Rig(setup, made.board, intrinsics, 'left_wrist', '123', camera_frame='cam_optical')
    folder = SampleFolder(path, rig)
    poses = made.views(count)
    for at, pose in enumerate(poses):
        folder.add(made.picture(pose), at * 10**9, pose_from_matrix(pose.base_gripper))
    return folder, poses


@cache
def seen_from(seed):
    """Return what detection sees in twenty noisy pictures; both setups see the same."""
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=seed)
    detector = BoardDetector(rig.board)
    poses = rig.views(20)
    return poses, [detector.detect(rig.picture(pose, noise_levels=NOISY)) for pose in poses]


@pytest.mark.parametrize('setup', list(Setup))
def test_rendered_pictures_with_noise_give_the_transform(setup):
    errors, noise = [], []
    for seed in range(3):
        shown, detections = seen_from(seed)
        rig = Rehearsal(setup, seed=seed, arm_noise_mm=0.1, arm_noise_deg=0.05)
        views = []
        for pose, same, seen in zip(rig.views(20), shown, detections, strict=True):
            assert (pose.camera_board == same.camera_board).all()
            carrier = carrier_poses(setup, pose.base_gripper[None])[0]
            views.append(View(carrier, seen.points, seen.corners, board_pose(seen, CAMERA)))
            noise.append(seen.corners - rig.corners(pose)[1][seen.ids])
        found, _ = fit(views, CAMERA, setup)
        errors.append(difference(found.camera, rig.true_camera))
    mm, deg = np.median(errors, axis=0)
    assert mm < 1.5
    assert deg < 0.15
    assert 0.2 < np.concatenate(noise).std() < 0.45


def test_a_folder_of_pictures_gives_the_views_and_names_those_without_a_board(tmp_path):
    folder, poses = rendered(tmp_path, Setup.EYE_TO_HAND, 2, 3)
    Image.fromarray(np.full((480, 640, 3), 90, np.uint8)).save(tmp_path / '001.png')
    read = read_views(folder)
    assert read.images == ['000.png', '002.png']
    assert read.refused == ['001.png: 0 corners of the board are seen; allowed: at least 6']
    for view, pose in zip(read.views, (poses[0], poses[2]), strict=True):
        assert np.allclose(view.carrier, np.linalg.inv(pose.base_gripper), atol=1e-9)
        assert difference(view.camera_board, pose.camera_board)[0] < 1.0


def test_a_lens_with_distortion_is_undone():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3, intrinsics=BARREL)
    errors = []
    for pose in rig.views(6):
        seen = BoardDetector(rig.board).detect(rig.picture(pose))
        assert np.abs(seen.corners - rig.corners(pose)[1][seen.ids]).max() < 0.4
        errors.append(difference(board_pose(seen, BARREL), pose.camera_board))
    assert np.median(errors, axis=0)[0] < 0.6
    assert np.median(errors, axis=0)[1] < 0.3


def blurred(picture, length):
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1.0 / length
    return cv2.filter2D(picture, -1, kernel)


def test_the_width_of_edges_grows_with_blur_of_any_direction():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3)
    detector, pose = BoardDetector(rig.board), rig.views(1)[0]
    sharp = detector.detect(rig.picture(pose, blur_px=0.7)).edge_px
    soft = detector.detect(rig.picture(pose, blur_px=1.6)).edge_px
    moved = detector.detect(blurred(rig.picture(pose), 5)).edge_px
    assert sharp < 0.75 * MAX_EDGE_PX
    assert soft == pytest.approx(2.5 * 1.6, rel=0.15)
    assert moved > 1.5 * sharp


def test_motion_is_the_mean_way_of_the_corners_that_both_see():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3)
    picture = rig.picture(rig.views(1)[0])
    before = BoardDetector(rig.board).detect(picture)
    after = BoardDetector(rig.board).detect(np.roll(picture, (3, 4), (0, 1)))
    assert motion_px(before, after) == pytest.approx(5.0, abs=0.1)
    assert motion_px(before, before) == 0.0


def at(pose, mm=0.0, deg=0.0):
    return PoseAt(pose_from_matrix(pose.base_gripper), mm, deg)


def test_the_gate_takes_sharp_still_new_views_and_says_why_it_refuses_others():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3)
    gate = Gate(rig.board, rig.setup)
    first, second, *more = rig.views(6)
    picture = rig.picture(first)
    empty = np.full_like(picture, 90)
    half = picture.copy()
    half[:, 200:] = 90
    steps = [
        (picture, at(first), 'waiting for a second picture'),
        (picture, at(first, 0.9), 'the arm moves: 0.9 mm, 0.00 degrees; allowed: 0.5 mm'),
        (picture, at(first, 0.0, 0.3), 'the arm moves: 0.0 mm, 0.30 degrees'),
        (
            np.roll(picture, 2, 1),
            at(first),
            'the board moves by 2.0 pixels a picture; allowed: 0.7',
        ),
        (empty, at(first), '0 corners of the board are seen; allowed: at least 6'),
        (half, at(first), ' corners of the board are seen; allowed: at least 6'),
        (picture, at(first), 'waiting for a second picture'),
        (picture, at(first), ''),
        (picture, at(first), 'this view is there already; turn the hand about x of the gripper'),
        (rig.picture(second), at(second), 'the board moves by'),
        (blurred(rig.picture(second), 7), at(second), 'blurred: edges are '),
        (rig.picture(second), at(second), ''),
    ]
    for step, (image, pose, reason) in enumerate(steps):
        offer = gate.offer(image, pose)
        assert offer.accepted is (reason == ''), (step, offer)
        assert reason in offer.reason, step
    assert gate.spread.poses == 2
    assert '13 more poses' in gate.advice
    for pose in more:
        assert gate.offer(rig.picture(pose), at(pose), sequence=False).accepted
    assert gate.spread.poses == 6


def test_poses_are_interpolated_and_gaps_and_future_are_not():
    track = PoseTrack()
    turned = np.array([0.1, 0.0, 0.0, 0.0, 0.0, np.sin(0.1), np.cos(0.1)])
    track.add(0, np.array([0.0, 0, 0, 0, 0, 0, 1]))
    track.add(100_000_000, turned)
    middle = track.at(50_000_000)
    assert np.allclose(middle.pose, [0.05, 0, 0, 0, 0, np.sin(0.05), np.cos(0.05)])
    assert middle.moved_mm == pytest.approx(50.0)
    assert middle.moved_deg == pytest.approx(np.degrees(0.1))
    assert np.allclose(track.at(100_000_000).pose, turned)
    assert track.at(100_000_001) is None
    assert track.at(-1) is None
    track.add(400_000_000, turned)
    assert track.at(200_000_000) is None
    track.add(5, turned)  # the clock went back
    assert track.newest_ns == 5
    assert track.at(400_000_000) is None


def test_a_folder_of_samples_survives_and_broken_ones_are_refused(tmp_path):
    folder, poses = rendered(tmp_path / 'a', Setup.EYE_TO_HAND, 1, 2, BARREL)
    again = read_samples(tmp_path / 'a')
    assert again.rig == folder.rig
    assert np.allclose(again.samples[1].pose, pose_from_matrix(poses[1].base_gripper))
    images = [image for _, image in again.pictures()]
    assert images[0].shape == (480, 640, 3)
    Image.fromarray(images[0][:100]).save(tmp_path / 'a' / '001.png')
    with pytest.raises(CalibrationError, match=r'001.png is 640 x 100; allowed: 640 x 480'):
        list(again.pictures())
    text = (tmp_path / 'a' / 'samples.yaml').read_text()
    for old, new, line in (
        ('setup: eye_to_hand', 'setup: eye', "'eye' is not a valid Setup"),
        ('columns: 7', 'columns: 2', 'board has 2 x 5 squares'),
        ('pose:', 'pse:', "KeyError: 'pose'"),
        ('image_width: 640', 'image_width: 0', 'intrinsics 0 x 480'),
    ):
        assert old in text
        (tmp_path / 'a' / 'samples.yaml').write_text(text.replace(old, new))
        with pytest.raises(CalibrationError) as error:
            read_samples(tmp_path / 'a')
        assert line in str(error.value)
        assert '\n' not in str(error.value)
    with pytest.raises(CalibrationError, match='No such file or directory'):
        read_samples(tmp_path / 'b')


def test_the_file_of_a_calibration_tells_where_it_comes_from(tmp_path):
    rig = Rehearsal(Setup.EYE_TO_HAND, seed=1)
    views = rig.seen_views(rig.views(6), 0.2)
    result = calibrate(views, CAMERA, rig.setup, rig.board.centre)
    cell = Rig(rig.setup, rig.board, CAMERA, 'head', '4711', 'panda_link0', 'panda_hand', 'cam')
    path = tmp_path / 'cell' / 'head.yaml'
    write_calibration(path, result, cell, '2026-11-30T12:00:00+00:00')
    read = read_calibration(path)
    assert (read.camera.parent, read.camera.child) == ('panda_link0', 'cam')
    assert (read.board.parent, read.serial) == ('panda_hand', '4711')
    assert np.allclose(read.camera.pose, pose_from_matrix(result.found.camera), atol=1e-6)
    told = read.provenance
    assert told['poses'] == 6
    assert told['method'] == 'park'
    assert told['board']['dictionary'] == 'DICT_5X5_100'
    assert told['residuals']['heldout']['mm_median'] > 0
    assert told['standard_error']['mm'] == pytest.approx(result.quality.error_mm, abs=1e-4)
    assert path.read_text().startswith('# Written by structrl calibrate solve')
    wrong = path.read_text().replace('xyz: [', 'xyz: [.nan, ', 1)
    path.write_text(wrong)
    with pytest.raises(CalibrationError, match='three numbers and a unit quaternion'):
        read_calibration(path)
    path.write_text('parent: a')
    with pytest.raises(CalibrationError, match="KeyError: 'board'"):
        read_calibration(path)


def test_right_intrinsics_are_good_and_wrong_ones_are_told_from_them():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3, intrinsics=BARREL)
    poses = rig.views(12, (0.5, 0.5, 3.0))
    good = check_lens(rig.seen_views(poses, 0.2), BARREL)
    assert good.is_good
    assert good.given_px == pytest.approx(0.2 * np.sqrt(2), rel=0.2)
    assert good.heldout_px < 0.4
    wrong = []
    for view in rig.seen_views(rig.views(24, (0.6, 0.6, 3.0)), 0.1):
        seen = Detection(np.arange(24), view.corners, view.points, 0.0)
        pose = board_pose(seen, CAMERA)  # the same camera without distortion
        wrong.append(View(view.carrier, view.points, view.corners, pose))
    report = check_lens(wrong, CAMERA)
    assert not report.is_good
    assert report.given_px > 2 * report.estimated_px
    grid = np.stack(np.meshgrid(np.linspace(-0.3, 0.3, 9), np.linspace(-0.2, 0.2, 7), 1.0), -1)
    apart = project(report.estimated, grid) - project(BARREL, grid)
    assert np.abs(apart - apart.mean(axis=(0, 1))).max() < 0.8


def test_too_few_views_and_too_little_of_the_picture_are_refused():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=3, board=Board(5, 3, 12.0, 9.0))
    with pytest.raises(CalibrationError, match='7 views; allowed: at least 8'):
        check_lens(rig.seen_views(rig.views(7), 0.1), CAMERA)
    with pytest.raises(CalibrationError, match='of the picture; allowed: 40% and more'):
        check_lens(rig.seen_views(rig.views(9), 0.1), CAMERA)


def test_intrinsics_survive_their_document_and_broken_ones_are_refused():
    assert intrinsics_from_document(intrinsics_to_document(BARREL, 'x'), 'here') == BARREL
    for document in ({}, [], {**intrinsics_to_document(BARREL), 'camera_matrix': {'data': [1]}}):
        with pytest.raises(CalibrationError, match='here: no intrinsics'):
            intrinsics_from_document(document, 'here')


@pytest.mark.parametrize('setup', list(Setup))
def test_verification_draws_the_tool_and_tells_the_error_of_the_board(tmp_path, setup):
    rig = Rehearsal(setup, seed=1)
    poses = rig.views(6)
    result = calibrate(rig.seen_views(poses, 0.1), CAMERA, setup, rig.board.centre)
    cell = Rig(setup, rig.board, CAMERA)
    write_calibration(tmp_path / 'c.yaml', result, cell, 'now')
    read = read_calibration(tmp_path / 'c.yaml')
    image, pose = rig.picture(poses[0]), pose_from_matrix(poses[0].base_gripper)
    got = verify(read, CAMERA, rig.board, image, pose, np.array([0.0, 0.0, 0.25]))
    assert got.corner_px < 1.0
    assert (got.picture != image).any()
    moved = pose + np.array([0.02, 0, 0, 0, 0, 0, 0])
    assert verify(read, CAMERA, rig.board, image, moved, np.zeros(3)).corner_px > 10.0
    # The tool where the truth puts it, by hand.
    gripper = np.eye(4) if setup is Setup.EYE_IN_HAND else poses[0].base_gripper
    tip = np.linalg.inv(rig.true_camera) @ gripper @ np.array([0.0, 0.0, 0.25, 1.0])
    if tip[2] > 0:
        want = CAMERA.matrix @ tip[:3] / tip[2]
        assert np.abs(got.tool_px - want[:2]).max() < 3.0
    else:
        assert got.tool_px is None
