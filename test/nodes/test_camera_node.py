"""camera_node over a real ROS graph: every backend, and what happens when a camera fails."""

import array
import io
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image as Picture

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.qos import ReliabilityPolicy
from ros_domains import claimed_domain
from sensor_msgs.msg import CameraInfo
from sensor_msgs.msg import CompressedImage
from sensor_msgs.msg import Image
from software_realsense import CENTRE
from software_realsense import FOCAL
from software_realsense import SERIAL
from software_realsense import picture
from software_realsense import record

from structrl_ros.camera_types import Intrinsics
from structrl_ros.camera_types import project
from structrl_ros.errors import ParameterError
from structrl_ros.intrinsics_file import intrinsics_to_document
from structrl_ros.nodes.camera_node import CameraNode
from structrl_ros.nodes.topic_camera import info_topic_of
from structrl_ros.params.camera import CameraParameters
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.image_codecs import intrinsics_from_message
from structrl_ros.wire.image_codecs import intrinsics_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import recorder_qos
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_from_message

pytestmark = pytest.mark.ros
ROLE = 'left_wrist'
LENS = Intrinsics(64, 48, 60.0, 61.0, 31.0, 24.5)


class Ear:
    """Hears what a camera_node of one role says; spins itself and the node."""

    def __init__(self, number):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=claimed_domain(number))
        self.node = rclpy.create_node('ear', context=self.context)
        self.images, self.infos, self.depths, self.health = [], [], [], []
        kept = {
            topics.image_topic(ROLE): self.images,
            topics.camera_info_topic(ROLE): self.infos,
            topics.depth_topic(ROLE): self.depths,
        }
        for topic, found in kept.items():
            self.node.create_subscription(
                message_type(topic), topic, found.append, recorder_qos(topic)
            )
        self.node.create_subscription(
            message_type(topics.DIAGNOSTICS),
            topics.DIAGNOSTICS,
            lambda m: self.health.extend(health_from_message(m)),
            recorder_qos(topics.DIAGNOSTICS),
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.spin, daemon=True)
        self.thread.start()

    def spin(self):
        while self.context.ok():
            try:
                self.executor.spin_once(timeout_sec=0.05)
            except ExternalShutdownException:
                return

    def wait(self, true, limit_s=20.0):
        end = time.monotonic() + limit_s
        while not (value := true()):
            assert time.monotonic() < end, (self.health[-3:], len(self.images))
            time.sleep(0.01)
        return value

    def level(self, level):
        return [entry for entry in list(self.health) if entry[1] is level]

    def stamps(self):
        return [stamp_from_header(m.header) for m in list(self.images)]

    def close(self):
        self.context.try_shutdown()
        self.thread.join(5)
        self.executor.shutdown()


@contextmanager
def camera(backend, source='', **changes):
    """Run a camera_node in this process; yields the node and what is heard of it."""
    ear = Ear(7)
    given = {'frozen_after_s': 0.0, 'reconnect_s': 0.1, **changes}
    values = {'role': ROLE, 'backend': backend, 'source': str(source), **given}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    node = CameraNode(context=ear.context, parameter_overrides=overrides)
    ear.executor.add_node(node)
    try:
        yield node, ear
    finally:
        node.close()
        ear.close()


def folder_of(path, count=40, size=(64, 48)):
    path.mkdir()
    for number in range(count):
        image = np.zeros((size[1], size[0], 3), np.uint8)
        image[..., 0], image[..., 2] = 5 * number, 90
        Picture.fromarray(image).save(path / f'{number:03d}.png')
    return path


def lens_file(path, lens=LENS):
    path.write_text(yaml.safe_dump(intrinsics_to_document(lens)))
    return str(path)


def test_a_file_is_published_as_the_contract_has_it(tmp_path):
    source = folder_of(tmp_path / 'a')
    with camera('file', source, rate_hz=40.0, intrinsics=lens_file(tmp_path / 'lens.yaml')) as (
        node,
        ear,
    ):
        ear.wait(lambda: len(ear.images) >= 10 and len(ear.infos) >= 10)
        ear.wait(lambda: len(ear.level(HealthLevel.OK)) >= 3)
        qos = node.get_publishers_info_by_topic(f'/{topics.image_topic(ROLE)}')[0].qos_profile
    infos = {stamp_from_header(info.header): info for info in ear.infos}
    message = next(m for m in ear.images if stamp_from_header(m.header) in infos)
    stamp_ns, image = image_from_message(message)
    assert isinstance(message.data, array.array)
    assert message.header.frame_id == 'left_wrist_camera_optical'
    assert message.encoding == 'rgb8'
    assert image.shape == (48, 64, 3)
    assert image[0, 0].tolist()[1:] == [0, 90]
    assert abs(stamp_ns - time.time_ns()) < 30e9
    assert all(a < b for a, b in pairwise(ear.stamps()))
    assert qos.reliability == ReliabilityPolicy.RELIABLE
    assert intrinsics_from_message(infos[stamp_ns]).fx == 60.0
    # The last of them may tell of the second in which the file was opened again.
    name, _, text, values = max(
        ear.level(HealthLevel.OK), key=lambda health: float(health[3]['rate_hz'])
    )
    assert name == 'camera_node: left_wrist'
    assert 'Hz, newest frame is' in text
    assert values['serial'] == str(source)
    assert 10.0 < float(values['rate_hz']) < 44.0
    assert float(values['age_s']) < 0.5
    assert {'lost', 'frozen', 'repeated', 'delay_ms', 'reconnects'} <= set(values)


def test_crop_and_resize_change_the_intrinsics_with_the_picture(tmp_path):
    lens = lens_file(tmp_path / 'lens.yaml')
    with camera(
        'file', folder_of(tmp_path / 'a'), intrinsics=lens, crop=[16, 8, 32, 32], resize=[96, 96]
    ) as (_, ear):
        ear.wait(lambda: ear.images and ear.infos)
    assert (ear.images[0].width, ear.images[0].height) == (96, 96)
    found = intrinsics_from_message(ear.infos[0])
    point = np.array([0.05, 0.02, 0.5])
    want = (project(LENS, point) - (16, 8) + 0.5) * 3 - 0.5
    assert project(found, point) == pytest.approx(want)


def test_a_camera_unplugged_for_five_seconds_is_reported_and_opened_again(tmp_path):
    source, away = folder_of(tmp_path / 'a'), tmp_path / 'away'
    with camera('file', source, rate_hz=20.0, loop=True) as (_, ear):
        ear.wait(lambda: len(ear.images) >= 5)
        source.rename(away)
        ear.wait(lambda: ear.level(HealthLevel.ERROR))
        time.sleep(0.3)
        before = len(ear.images)
        time.sleep(5.0 - 0.3)
        assert len(ear.images) == before  # nothing old is published again
        name, _, text, _ = ear.level(HealthLevel.ERROR)[-1]
        assert name == 'camera_node: left_wrist'
        assert text.startswith('lost: ')
        ear.wait(lambda: float(ear.level(HealthLevel.ERROR)[-1][3]['age_s']) > 4.0)
        away.rename(source)
        ear.wait(lambda: len(ear.images) >= before + 5)
        ear.wait(lambda: ear.health[-1][1] is HealthLevel.OK)
        values = ear.health[-1][3]
    assert values['reconnects'] == '1'
    assert int(values['failures']) > 20
    assert all(a < b for a, b in pairwise(ear.stamps()))


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    pytest.importorskip('pyrealsense2', exc_type=ImportError, reason='needs pyrealsense2, libusb')
    path = tmp_path_factory.mktemp('realsense') / 'soft.db3'
    record(path, 20)
    return path


def test_a_realsense_is_published_with_depth_on_this_machines_clock(recording):
    began_ns = time.time_ns()
    with camera('realsense', recording, width=320, height=240, depth=True, loop=True) as (_, ear):
        ear.wait(lambda: len(ear.images) >= 8 and len(ear.depths) >= 8)
        ear.wait(lambda: ear.level(HealthLevel.OK))
        values = ear.level(HealthLevel.OK)[-1][3]
    stamps = ear.stamps()
    assert all(began_ns < s < time.time_ns() for s in stamps)  # the device counts from 1 s on
    assert all(a < b for a, b in pairwise(stamps))
    for depth in ear.depths:
        message = next(i for i in ear.images if i.header.stamp == depth.header.stamp)
        _, image = image_from_message(message)
        number = next(n for n in range(1, 21) if image[0, 0, 0] == (7 * n) % 256)
        assert (image == picture(number)).all()
        assert depth.encoding == '16UC1'
        levels = np.frombuffer(depth.data, np.uint16).reshape(240, 320)
        assert np.median(levels) == 800 + number
    info = intrinsics_from_message(ear.infos[0])
    assert (info.fx, info.fy, info.cx, info.cy) == (*FOCAL, *CENTRE)
    assert values['serial'] == SERIAL


def test_a_realsense_recording_that_ends_is_lost_and_begins_again(recording):
    with camera('realsense', recording, width=320, height=240) as (_, ear):
        ear.wait(lambda: ear.level(HealthLevel.ERROR))
        assert 'has ended' in ear.level(HealthLevel.ERROR)[0][2]
        ear.wait(lambda: ear.health[-1][3]['reconnects'] != '0')
        first = len(ear.images)
        ear.wait(lambda: len(ear.images) > first + 3)
    assert all(a < b for a, b in pairwise(ear.stamps()))


def test_a_jump_of_a_realsenses_clock_never_turns_the_stamps_back(tmp_path):
    pytest.importorskip('pyrealsense2', exc_type=ImportError, reason='needs pyrealsense2, libusb')
    path = tmp_path / 'jump.db3'
    stamps = [1000 + 33 * n for n in range(10)] + [4000 + 33 * n for n in range(10)]
    record(path, 20, stamps_ms=stamps)
    with camera('realsense', path, width=320, height=240, reconnect_s=30.0) as (_, ear):
        ear.wait(lambda: ear.level(HealthLevel.ERROR))
        values = ear.level(HealthLevel.ERROR)[0][3]
    assert all(a < b for a, b in pairwise(ear.stamps()))
    reds = [image_from_message(message)[1][0, 0, 0] for message in ear.images]
    numbers = [next(n for n in range(1, 21) if red == (7 * n) % 256) for red in reds]
    assert min(numbers) < 10 < max(numbers)  # from before and from after the jump
    assert numbers == sorted(set(numbers))
    assert int(values['clock_jumps']) <= 1


def test_a_frozen_picture_is_withheld_and_reported(tmp_path):
    pytest.importorskip('pyrealsense2', exc_type=ImportError, reason='needs pyrealsense2, libusb')
    path = tmp_path / 'frozen.db3'
    record(path, 40, pictures=[picture(min(n, 10)) for n in range(40)])
    with camera(
        'realsense', path, width=320, height=240, frozen_after_s=0.2, reconnect_s=30.0
    ) as (_, ear):
        ear.wait(lambda: any('frozen' in text for _, _, text, _ in ear.level(HealthLevel.ERROR)))
        ear.wait(lambda: any('ended' in text for _, _, text, _ in ear.level(HealthLevel.ERROR)))
        values = ear.health[-1][3]
    assert int(values['frozen']) >= 10
    assert len(ear.images) <= 40 - int(values['frozen'])


def test_frames_of_a_wrong_size_are_not_published(tmp_path):
    with camera('file', folder_of(tmp_path / 'a'), width=640, height=480) as (_, ear):
        ear.wait(lambda: ear.level(HealthLevel.ERROR))
        text = ear.level(HealthLevel.ERROR)[0][2]
    assert text == 'wrong size: frame is 64 x 48; allowed: 640 x 480'
    assert ear.images == []


class Talker:
    """A driver of another package, on topics of its own."""

    def __init__(self, ear, kind, topic, reliability=ReliabilityPolicy.BEST_EFFORT):
        qos = QoSProfile(depth=5, reliability=reliability)
        self.node = rclpy.create_node('driver', context=ear.context)
        self.publisher = self.node.create_publisher(kind, topic, qos)
        self.info = self.node.create_publisher(CameraInfo, info_topic_of(topic), qos)
        self.ear = ear

    def until(self, true, message, info=None):
        def again():
            stamp_ns = time.time_ns()
            if info is not None:
                self.info.publish(intrinsics_to_message(info, stamp_ns, 'driver'))
            message.header = header_to_message(stamp_ns, 'driver')
            self.publisher.publish(message)
            time.sleep(0.02)
            return true()

        self.ear.wait(again)


def padded_bgr(image):
    rows = np.hstack([image[..., ::-1].reshape(48, -1), np.full((48, 5), 9, np.uint8)])
    return Image(
        height=48,
        width=64,
        encoding='bgr8',
        step=rows.shape[1],
        data=array.array('B', rows.tobytes()),
    )


def jpeg(image):
    buffer = io.BytesIO()
    Picture.fromarray(image).save(buffer, 'JPEG', quality=95)
    return CompressedImage(format='jpeg', data=array.array('B', buffer.getvalue()))


COLOUR = np.full((48, 64, 3), (200, 40, 90), np.uint8)


@pytest.mark.parametrize(
    ('transport', 'topic', 'kind', 'message', 'reliability'),
    [
        ('raw', '/zed/rgb/image_rect_color', Image, padded_bgr, ReliabilityPolicy.RELIABLE),
        (
            'compressed',
            '/camera/camera/color/image_raw/compressed',
            CompressedImage,
            jpeg,
            ReliabilityPolicy.BEST_EFFORT,
        ),
    ],
)
def test_pictures_of_other_drivers_become_those_of_the_role(
    transport, topic, kind, message, reliability
):
    with camera('ros_topic', topic, transport=transport, resize=[32, 24]) as (_, ear):
        talker = Talker(ear, kind, topic, reliability)
        talker.until(lambda: ear.images and ear.infos, message(COLOUR), LENS)
        stamp = ear.images[-1].header
    _, image = image_from_message(ear.images[-1])
    assert image.shape == (24, 32, 3)
    assert np.abs(image.astype(int) - COLOUR[0, 0]).max() <= 4
    assert stamp.frame_id == 'left_wrist_camera_optical'
    assert intrinsics_from_message(ear.infos[-1]).fx == pytest.approx(30.0)


def test_a_topic_that_falls_silent_is_stale_and_one_that_cannot_be_read_says_why():
    with camera('ros_topic', '/driver/image', max_age_s=0.2, reset_after_s=0.0) as (_, ear):
        talker = Talker(ear, Image, '/driver/image')
        talker.until(lambda: len(ear.images) >= 3, padded_bgr(COLOUR))
        ear.wait(lambda: ear.level(HealthLevel.STALE))
        wrong = padded_bgr(COLOUR)
        wrong.encoding = 'hsv8'
        talker.until(
            lambda: any('hsv8' in text for _, _, text, _ in ear.level(HealthLevel.STALE)), wrong
        )


def test_intrinsics_stand_beside_the_pictures():
    assert info_topic_of('/camera/color/image_raw') == '/camera/color/camera_info'
    assert info_topic_of('/camera/color/image_raw/compressed') == '/camera/color/camera_info'
    assert info_topic_of('image') == 'camera_info'


def test_the_life_cycle_closes_the_camera_and_opens_it_again(tmp_path):
    with camera('file', folder_of(tmp_path / 'a'), loop=True, autostart=False) as (node, ear):
        time.sleep(0.3)
        assert ear.images == []
        for _ in range(2):
            node.trigger_configure()
            node.trigger_activate()
            before = len(ear.images)
            ear.wait(lambda before=before: len(ear.images) > before + 2)
            node.trigger_deactivate()
            node.trigger_cleanup()
            time.sleep(0.2)
            quiet = len(ear.images)
            time.sleep(0.2)
            assert len(ear.images) == quiet


def test_what_can_be_known_at_configuration_fails_there(tmp_path):
    with camera('file', tmp_path, intrinsics=str(tmp_path / 'none.yaml')) as (node, ear):
        assert node._reader is None
        time.sleep(0.2)
        assert ear.health == []


@pytest.mark.parametrize(
    ('changes', 'line'),
    [
        ({'role': 'nose'}, "parameter 'role' is 'nose'; allowed: head, left_wrist, right_wrist"),
        ({'backend': 'zed'}, "parameter 'backend' is 'zed'; allowed: realsense, opencv"),
        ({'backend': 'file'}, "parameter 'source' must be given for backend file"),
        ({'crop': (1, 2, 3)}, "parameter 'crop' is [1, 2, 3]; allowed: x, y, width, height"),
        ({'resize': (0, 5)}, "parameter 'resize' is [0, 5]; allowed: width, height, or none"),
        ({'width': 640}, 'width is 640, height 0; allowed: both 0, or both a size'),
    ],
)
def test_parameters_that_make_no_camera_are_refused(changes, line):
    with pytest.raises(ParameterError) as error:
        CameraParameters(**{'role': 'head', 'backend': 'realsense', **changes})
    assert line in str(error.value)


def test_the_graph_starts_one_process_a_camera(tmp_path):
    folder = folder_of(tmp_path / 'a')
    words = ['head:=none', 'left_wrist:=file', f'left_wrist_source:={folder}']
    words += ['width:=64', 'height:=48', 'resize:=32,24', 'rate_hz:=20']
    overlay = tmp_path / 'cell.yaml'
    overlay.write_text('camera_left_wrist: {ros__parameters: {loop: true}}\n')
    ear = Ear(8)
    command = [sys.executable, '-m', 'structrl_ros.cli.main', 'up', 'cameras', *words]
    child = subprocess.Popen(
        [*command, f'params_file:={overlay}', '--run-dir', str(tmp_path / 'run')],
        env={**os.environ, 'ROS_DOMAIN_ID': str(claimed_domain(8))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        ear.wait(lambda: len(ear.images) > 45, 30.0)
        assert (ear.images[0].width, ear.images[0].height) == (32, 24)
    finally:
        child.terminate()
        said, _ = child.communicate(timeout=20)
        ear.close()
    assert child.returncode == 0, said
    assert 'up: camera_left_wrist' in said
