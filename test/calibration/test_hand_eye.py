"""Hand-eye solvers, refinement and quality on rigs whose truth is known."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

cv2 = pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

from structrl_ros.calibration.hand_eye import METHODS  # noqa: E402
from structrl_ros.calibration.hand_eye import Setup  # noqa: E402
from structrl_ros.calibration.hand_eye import solve_hand_eye  # noqa: E402
from structrl_ros.calibration.observability import advice  # noqa: E402
from structrl_ros.calibration.observability import motion_spread  # noqa: E402
from structrl_ros.calibration.procedure import calibrate  # noqa: E402
from structrl_ros.calibration.refinement import boards_of  # noqa: E402
from structrl_ros.calibration.refinement import carriers_of  # noqa: E402
from structrl_ros.calibration.refinement import refine  # noqa: E402
from structrl_ros.calibration.rehearsal import Rehearsal  # noqa: E402
from structrl_ros.calibration.rehearsal import RehearsedView  # noqa: E402
from structrl_ros.calibration.transforms import difference  # noqa: E402
from structrl_ros.calibration.transforms import inverse  # noqa: E402
from structrl_ros.calibration.transforms import matrix_from_vector  # noqa: E402
from structrl_ros.calibration.transforms import mean_transform  # noqa: E402
from structrl_ros.calibration.weighting import refine_weighted  # noqa: E402
from structrl_ros.errors import CalibrationError  # noqa: E402

SETUPS = list(Setup)
OPENCV_4 = pytest.mark.skipif(
    not hasattr(cv2, 'calibrateHandEye'),
    reason=f'OpenCV {cv2.__version__} has no hand-eye solvers in Python',
)
OWN = ('park', 'shah')


def noisy(setup, seed, count=20, noise_px=0.3, **arm):
    rig = Rehearsal(setup, seed=seed, **arm)
    return rig, rig.seen_views(rig.views(count), noise_px)


@pytest.mark.parametrize(
    'method', [m if m in OWN else pytest.param(m, marks=OPENCV_4) for m in METHODS]
)
@pytest.mark.parametrize('setup', SETUPS)
def test_every_method_finds_the_truth_without_noise(setup, method):
    rig, views = noisy(setup, 5, 12, 0.0)
    found = solve_hand_eye(method, carriers_of(views), boards_of(views))
    for got, want in ((found.camera, rig.true_camera), (found.board, rig.true_board)):
        mm, deg = difference(got, want)
        assert mm < 1e-2
        assert deg < 1e-3


@OPENCV_4
@pytest.mark.parametrize('setup', SETUPS)
def test_park_equals_opencv_with_noise(setup):
    _, views = noisy(setup, 6, 15, 1.0, arm_noise_mm=0.5, arm_noise_deg=0.2)
    a, b = carriers_of(views), boards_of(views)
    rotation, place = cv2.calibrateHandEye(
        *(a[:, :3, :3], a[:, :3, 3], b[:, :3, :3], b[:, :3, 3]), method=cv2.CALIB_HAND_EYE_PARK
    )
    found = solve_hand_eye('park', a, b).camera
    assert np.allclose(found[:3, :3], rotation, atol=1e-9)
    assert np.allclose(found[:3, 3], np.ravel(place), atol=1e-9)


@OPENCV_4
@pytest.mark.parametrize('setup', SETUPS)
def test_shah_equals_opencv_with_noise(setup):
    _, views = noisy(setup, 7, 15, 1.0, arm_noise_mm=0.5, arm_noise_deg=0.2)
    a, b = inverse(carriers_of(views)), boards_of(views)
    _, _, rotation, place = cv2.calibrateRobotWorldHandEye(
        *(b[:, :3, :3], b[:, :3, 3], a[:, :3, :3], a[:, :3, 3]),
        method=cv2.CALIB_ROBOT_WORLD_HAND_EYE_SHAH,
    )
    camera = np.eye(4)
    camera[:3, :3], camera[:3, 3] = rotation, np.ravel(place)
    found = solve_hand_eye('shah', carriers_of(views), boards_of(views)).camera
    assert np.allclose(found, inverse(camera), atol=1e-8)


def test_an_opencv_without_hand_eye_leaves_park_and_shah(monkeypatch):
    rig, views = noisy(Setup.EYE_IN_HAND, 8, 12, 0.0)
    a, b = carriers_of(views), boards_of(views)
    for name in ('calibrateHandEye', 'calibrateRobotWorldHandEye'):
        monkeypatch.delattr(cv2, name, raising=False)
    for method in OWN:
        assert difference(solve_hand_eye(method, a, b).camera, rig.true_camera)[0] < 1e-3
    with pytest.raises(CalibrationError, match=r'has no calibrateHandEye in Python; allowed: me'):
        solve_hand_eye('tsai', a, b)


@pytest.mark.parametrize('name', ['andreff', 'li', 'Park'])
def test_methods_that_fail_with_noise_are_not_offered(name):
    _, views = noisy(Setup.EYE_IN_HAND, 9, 4, 0.0)
    with pytest.raises(CalibrationError, match=f"unknown method '{name}'; known: park, shah"):
        solve_hand_eye(name, carriers_of(views), boards_of(views))


@pytest.mark.parametrize('setup', SETUPS)
def test_twenty_poses_at_a_third_of_a_pixel_give_one_and_a_half_millimetres(setup):
    errors = []
    for seed in range(7):
        rig, views = noisy(setup, seed, arm_noise_mm=0.1, arm_noise_deg=0.05)
        closed = solve_hand_eye('park', carriers_of(views), boards_of(views))
        plain = refine(closed, views, rig.intrinsics)
        found, noise = refine_weighted(plain, views, rig.intrinsics, setup)
        steps = (closed, plain, found)
        errors.append([difference(step.camera, rig.true_camera) for step in steps])
        assert 0.25 < noise.corner_px < 0.35
        assert 0.04 < noise.arm_mm < 0.25
    closed, plain, found = np.median(errors, axis=0)
    assert found[0] < 1.0  # the requirement is 1.5 mm and 0.15 degrees
    assert found[1] < 0.12
    assert (found < 0.7 * closed).all()
    assert (found < plain).all()


def test_refinement_finds_a_perfect_arm_and_stays_with_it():
    errors, arms = [], []
    for seed in range(3):
        rig, views = noisy(Setup.EYE_IN_HAND, seed)
        start = solve_hand_eye('shah', carriers_of(views), boards_of(views))
        found, noise = refine_weighted(start, views, rig.intrinsics, rig.setup)
        errors.append(difference(found.camera, rig.true_camera))
        arms.append(noise.arm_mm)
    mm, deg = np.median(errors, axis=0)
    assert mm < 0.3
    assert deg < 0.05
    assert max(arms) < 0.03


def test_wrong_corners_and_a_wrong_pose_are_outvoted():
    rig, views = noisy(Setup.EYE_TO_HAND, 3, 14, arm_noise_mm=0.1, arm_noise_deg=0.05)
    views[4].corners[3] += 40.0
    views[11].carrier[:3, 3] += (0.01, -0.008, 0.004)
    result = calibrate(views, rig.intrinsics, rig.setup, rig.board.centre)
    mm, deg = difference(result.found.camera, rig.true_camera)
    assert mm < 1.2
    assert deg < 0.12
    assert result.noise.arm_mm < 0.3
    assert result.quality.fitted.px.argmax() == 11
    assert result.quality.heldout.mm.argmax() == 11


@pytest.mark.parametrize('setup', SETUPS)
def test_the_standard_error_tells_the_error_of_the_result(setup):
    ratios = []
    for seed in range(4):
        rig, views = noisy(setup, 20 + seed, 10, arm_noise_mm=0.2, arm_noise_deg=0.08)
        result = calibrate(views, rig.intrinsics, setup, rig.board.centre, refinement='corners')
        mm, _ = difference(result.found.camera, rig.true_camera)
        ratios.append(mm / result.quality.error_mm)
    assert 0.3 < np.median(ratios) < 2.0


def test_views_that_were_held_out_fit_worse_than_those_that_were_used():
    rig, views = noisy(Setup.EYE_IN_HAND, 2, 10, arm_noise_mm=0.3, arm_noise_deg=0.1)
    result = calibrate(views, rig.intrinsics, rig.setup, rig.board.centre, refinement='corners')
    quality = result.quality
    assert len(quality.heldout.px) == 10
    assert np.mean(quality.heldout.px**2) > np.mean(quality.fitted.px**2)
    assert 0.1 < np.median(quality.heldout.mm) < 5.0
    assert quality.error_mm == pytest.approx(3.0 * np.linalg.norm(quality.spread_mm))


def moved_carriers(rig, motions):
    """Return views in which the carrier moves by each motion from one first pose."""
    first = rig.views(1)[0]
    carrier = rig.true_board @ inverse(first.camera_board) @ inverse(rig.true_camera)
    poses = []
    for motion in motions:
        moved = carrier @ matrix_from_vector(np.array(motion, float))
        camera_board = inverse(rig.true_camera) @ inverse(moved) @ rig.true_board
        gripper = moved if rig.setup is Setup.EYE_IN_HAND else inverse(moved)
        poses.append(RehearsedView(gripper, camera_board))
    return rig.seen_views(poses, 0.0)


@pytest.mark.parametrize(
    ('setup', 'frame'), [(Setup.EYE_IN_HAND, 'gripper'), (Setup.EYE_TO_HAND, 'base')]
)
@pytest.mark.parametrize('axis', [(0, 0, 1), (0.6, 0, 0.8)])
def test_turns_about_one_axis_are_refused_and_the_axis_is_named(setup, frame, axis):
    rig = Rehearsal(setup, seed=4)
    turns = [[*(a * np.array(axis)), 0.01 * a, -0.02 * a, 0.0] for a in np.linspace(-0.3, 0.3, 9)]
    views = moved_carriers(rig, turns)
    with pytest.raises(CalibrationError) as error:
        calibrate(views, rig.intrinsics, setup, rig.board.centre)
    line = str(error.value)
    assert f'all rotations are about one axis ({axis[0]:.2f}, 0.00, {axis[2]:.2f})' in line
    assert f'of the {frame}' in line
    assert '\n' not in line


@pytest.mark.parametrize('setup', SETUPS)
def test_pure_translation_is_refused(setup):
    rig = Rehearsal(setup, seed=4)
    moves = [[0, 0, 0, 0.03 * np.cos(i), 0.03 * np.sin(i), 0.01 * i] for i in range(8)]
    with pytest.raises(CalibrationError, match=r'pure translation: the \w+ turned by 0.0 d'):
        calibrate(moved_carriers(rig, moves), rig.intrinsics, setup, rig.board.centre)


def test_too_few_views_are_refused():
    rig, views = noisy(Setup.EYE_IN_HAND, 1, 3)
    with pytest.raises(CalibrationError, match='3 views can be used; allowed: at least 4'):
        calibrate(views, rig.intrinsics, rig.setup, rig.board.centre)
    with pytest.raises(CalibrationError, match="unknown refinement 'x'; known: weighted"):
        calibrate(
            noisy(Setup.EYE_IN_HAND, 1, 4)[1],
            *(rig.intrinsics, rig.setup, rig.board.centre),
            refinement='x',
        )


def test_a_result_that_hangs_on_single_views_is_refused():
    rig, views = noisy(Setup.EYE_IN_HAND, 1, 5, 15.0, arm_noise_mm=20.0, arm_noise_deg=8.0)
    with pytest.raises(CalibrationError, match='the result depends on single views'):
        calibrate(views, rig.intrinsics, rig.setup, rig.board.centre, refinement='none')


def test_advice_names_the_axes_that_are_missing():
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=4)
    about_z = [[0, 0, a, 0, 0, 0] for a in np.linspace(-0.5, 0.5, 6)]
    words = advice(motion_spread(carriers_of(moved_carriers(rig, about_z))), rig.setup)
    assert words == [
        'turn the hand about x of the gripper (0 of 12 degrees rms)',
        'turn the hand about y of the gripper (0 of 12 degrees rms)',
        '9 more poses',
    ]
    _, views = noisy(Setup.EYE_IN_HAND, 4, 20, 0.0)
    assert advice(motion_spread(carriers_of(views)), rig.setup) == []


def test_the_spread_of_known_turns_is_their_root_mean_square():
    turns = np.array([matrix_from_vector(np.array([a, 0, 0, 0, 0, a])) for a in (0.0, 0.2, 0.4)])
    spread = motion_spread(turns)
    assert spread.own_turn_deg[0] == pytest.approx(np.degrees(np.sqrt((2 * 0.04 + 0.16) / 3)))
    assert np.allclose(spread.axes[0], (1, 0, 0))
    assert spread.move_mm == pytest.approx(1000 * np.sqrt(0.08 / 3))


def test_transforms_invert_and_average():
    turns = Rotation.random(5, random_state=1)
    matrices = np.tile(np.eye(4), (5, 1, 1))
    matrices[:, :3, :3] = turns.as_matrix()
    matrices[:, :3, 3] = np.arange(15).reshape(5, 3)
    assert np.allclose(inverse(matrices) @ matrices, np.eye(4), atol=1e-12)
    near = np.array([matrix_from_vector(np.array([a, 0, 0, a, 0, 0])) for a in (0.1, 0.3)])
    assert (
        difference(mean_transform(near), matrix_from_vector(np.array([0.2, 0, 0, 0.2, 0, 0])))[0]
        < 1e-9
    )
