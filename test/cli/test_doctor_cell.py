"""`structrl doctor` on a cell: its cameras, and the age and origin of its calibrations."""

import threading
from datetime import UTC
from datetime import datetime
from datetime import timedelta

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from structrl_ros.cli import doctor_cameras
from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor_cell import CellRequest
from structrl_ros.cli.doctor_cell import examine_cell
from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError

cv2 = pytest.importorskip('cv2')


def examine(*, calibrations=(), old_days=30.0, **arguments):
    request = CellRequest(arguments, calibrations=calibrations, old_days=old_days)
    findings = {finding.subject: finding for finding in examine_cell(request)}
    for finding in findings.values():
        assert finding.state is State.GOOD or finding.remedy
    return findings


@pytest.fixture(scope='module')
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp('video') / 'head.avi'
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*'MJPG'), 30.0, (64, 48))
    for shade in range(0, 200, 2):
        writer.write(np.full((48, 64, 3), shade, np.uint8))
    writer.release()
    return str(path)


@pytest.fixture
def cell(tmp_path):
    """Lay parameters over the camera of the head."""

    def write(**parameters):
        path = tmp_path / 'cell.yaml'
        path.write_text(yaml.safe_dump({'camera_head': {'ros__parameters': parameters}}))
        return str(path)

    return write


@pytest.fixture
def calibration(tmp_path):
    """Write a calibration of the head as `structrl calibrate solve` does."""

    def write(days=3.0, serial='8123', mm=1.2, deg=0.1):
        date = datetime.now(UTC) - timedelta(days=days)
        place = {'xyz': [0.5, 0.0, 0.6], 'quat_xyzw': [0.0, 1.0, 0.0, 0.0]}
        document = {
            'setup': 'eye_to_hand',
            'parent': 'base_link',
            'child': 'head_camera_optical',
            **place,
            'method': 'park',
            'date': date.isoformat(timespec='seconds'),
            'camera': {'role': 'head', 'serial': serial},
            'poses': 20,
            'residuals': {'heldout': {'mm_median': mm, 'deg_median': deg}},
            'board': {'parent': 'ee', **place},
        }
        path = tmp_path / 'head.yaml'
        path.write_text(yaml.safe_dump(document))
        return str(path)

    return write


LENS = {
    'image_width': 64,
    'image_height': 48,
    'camera_matrix': {'data': [60.0, 0.0, 32.0, 0.0, 60.0, 24.0, 0.0, 0.0, 1.0]},
}


def test_frames_of_a_configured_camera_are_measured(video, cell, tmp_path):
    lens = tmp_path / 'lens.yaml'
    lens.write_text(yaml.safe_dump(LENS))
    overlay = cell(width=64, height=48, intrinsics=str(lens), loop=True, max_age_s=60.0)
    found = examine(head='file', head_source=video, params_file=overlay)
    camera = found['Camera head']
    assert camera.state is State.GOOD, camera
    assert f'file {video}: 64 x 48, ' in camera.detail


def test_a_camera_without_intrinsics_or_of_another_size_is_told_with_a_remedy(video, cell):
    plain = examine(
        head='file', head_source=video, params_file=cell(width=0, height=0, max_age_s=60.0)
    )
    assert plain['Camera head'].state is State.DOUBTFUL
    assert 'without intrinsics' in plain['Camera head'].detail
    assert 'calibrate intrinsics' in plain['Camera head'].remedy
    other = examine(head='file', head_source=video)
    assert other['Camera head'].state is State.MISSING
    assert '640 x 480' in other['Camera head'].detail


def test_devices_that_are_not_there_are_told_with_those_that_are(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_cameras, 'DEVICES', tmp_path)
    (tmp_path / 'video4').touch()
    found = examine(
        head='opencv', head_source='0', left_wrist='file', left_wrist_source='/no/such.mp4'
    )
    assert found['Camera head'].state is State.MISSING
    assert found['Camera head'].detail.endswith(f'no {tmp_path}/video0; there: {tmp_path}/video4')
    assert 'v4l2-ctl' in found['Camera head'].remedy
    assert found['Camera left_wrist'].detail == 'file /no/such.mp4: no such file'


def test_a_realsense_that_is_not_plugged_in_is_told():
    pytest.importorskip('pyrealsense2')
    camera = examine(head='realsense', head_source='8123')['Camera head']
    assert camera.state is State.MISSING
    assert 'realsense 8123: ' in camera.detail
    assert 'udev' in camera.remedy


def test_a_camera_whose_driver_dies_or_hangs_does_not_take_the_doctor_with_it(video, monkeypatch):
    monkeypatch.setattr(doctor_cameras, 'PROBE_SECONDS', 0.01)
    camera = examine(head='file', head_source=video)['Camera head']
    assert (camera.state, 'no answer within' in camera.detail) == (State.MISSING, True)


@pytest.mark.ros
def test_a_camera_of_another_node_is_heard():
    import rclpy
    from rclpy.context import Context
    from sensor_msgs.msg import Image

    context, over = Context(), threading.Event()
    rclpy.init(context=context)
    node = rclpy.create_node('driver', context=context)
    sender = node.create_publisher(Image, 'zed/rgb/image_raw', 5)
    picture = Image(height=48, width=64, encoding='rgb8', step=192, data=bytes(48 * 192))

    def send():
        while not over.wait(0.05):
            picture.header.stamp = node.get_clock().now().to_msg()
            sender.publish(picture)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        camera = examine(head='ros_topic', head_source='/zed/rgb/image_raw')['Camera head']
    finally:
        over.set()
        thread.join()
        node.destroy_node()
        rclpy.try_shutdown(context=context)
    assert 'ros_topic /zed/rgb/image_raw: 64 x 48, ' in camera.detail


def test_a_young_calibration_tells_where_it_comes_from(calibration):
    finding = examine(calibrations=[calibration()])['Calibration head.yaml']
    assert finding.state is State.GOOD
    assert finding.detail.startswith('3 days old (')
    words = 'head_camera_optical in base_link by park, 20 poses of 8123, held out 1.2 mm 0.10 deg'
    assert finding.detail.endswith(words)


@pytest.mark.parametrize(
    ('changes', 'words', 'remedy'),
    [
        ({'days': 40.0}, 'older than 30 days', 'calibrate verify'),
        ({'days': -3.0}, 'from the future', 'timedatectl'),
        ({'mm': 9.0}, 'residuals are large', 'more poses'),
    ],
)
def test_a_doubtful_calibration_says_why_and_how_to_mend_it(calibration, changes, words, remedy):
    finding = examine(calibration=calibration(**changes))['Calibration head.yaml']
    assert finding.state is State.DOUBTFUL
    assert words in finding.detail
    assert remedy in finding.remedy


def test_the_limit_of_the_age_can_be_chosen(calibration):
    path = calibration(days=40.0)
    assert examine(calibrations=[path], old_days=60.0)['Calibration head.yaml'].state is State.GOOD


def test_a_calibration_of_another_camera_is_told(calibration, monkeypatch):
    monkeypatch.setattr(doctor_cameras, 'probe', lambda values: {'error': 'not plugged in'})
    found = examine(head='realsense', head_source='9999', calibration=calibration())
    finding = found['Calibration head.yaml']
    assert finding.state is State.DOUBTFUL
    assert 'it is of camera 8123, the head camera is 9999' in finding.detail


def test_no_calibration_and_what_is_none_are_told(tmp_path):
    nothing = tmp_path / 'empty.yaml'
    nothing.write_text('{}')
    found = examine(calibrations=[str(nothing), str(tmp_path / 'none.yaml')])
    assert found['Calibration empty.yaml'].state is State.MISSING
    assert 'no file' in found['Calibration none.yaml'].detail
    assert 'calibrate solve' in found['Calibration none.yaml'].remedy


def test_arguments_are_those_of_the_graph():
    with pytest.raises(ParameterError, match="unknown argument 'haed'"):
        examine(haed='realsense')


def test_command_takes_the_arguments_of_the_graph_and_ends_with_one(tmp_path):
    words = ['head:=file', 'head_source:=/no/such.mp4', f'calibration:={tmp_path}/none.yaml']
    told = CliRunner().invoke(app, ['doctor', *words])
    assert told.exit_code == 1
    assert 'to mend: Camera head, Calibration none.yaml' in ' '.join(told.output.split())
