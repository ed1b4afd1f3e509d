"""Capture from live topics, and calibrated transforms on topics, over a real ROS graph."""

import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

import rclpy
from geometry_msgs.msg import PoseStamped
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy
from rclpy.qos import QoSProfile

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.rehearsal import Rehearsal
from structrl_ros.calibration.transforms import pose_from_matrix
from structrl_ros.cli import calibrate_sources
from structrl_ros.cli.calibrate_sources import Wish
from structrl_ros.cli.calibrate_sources import capture
from structrl_ros.cli.calibrate_sources import live_source
from structrl_ros.errors import CalibrationError
from structrl_ros.errors import MessageError
from structrl_ros.nodes.calibration_inbox import CalibrationInbox
from structrl_ros.nodes.static_transforms import StaticTransforms
from structrl_ros.wire import topics
from structrl_ros.wire import transform_codecs
from structrl_ros.wire.image_codecs import image_to_message
from structrl_ros.wire.image_codecs import intrinsics_to_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import publisher_qos
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.task_codecs import HealthLevel
from structrl_ros.wire.task_codecs import health_to_message

pytestmark = pytest.mark.ros


class Cell:
    """An arm with a camera that goes on to the next view when it is told to."""

    def __init__(self, rig, views):
        self.views, self.at = views, 0
        self.pictures = [image_to_message(rig.picture(view), 0, 'wrist') for view in views]
        self.info = rig.intrinsics
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('cell', context=self.context)
        names = (
            topics.EE_POSE,
            topics.image_topic('left_wrist'),
            topics.camera_info_topic('left_wrist'),
            topics.DIAGNOSTICS,
        )
        self.publishers = {
            name: self.node.create_publisher(message_type(name), name, publisher_qos(name))
            for name in names
        }
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        pose, image, info, health = self.publishers.values()
        step = 0
        while not self.ended.wait(0.02):
            step += 1
            stamp_ns = time.time_ns()
            message = PoseStamped(header=header_to_message(stamp_ns, 'link0'))
            x, y, z, qx, qy, qz, qw = pose_from_matrix(self.views[self.at].base_gripper).tolist()
            p, q = message.pose.position, message.pose.orientation
            (p.x, p.y, p.z), (q.x, q.y, q.z, q.w) = (x, y, z), (qx, qy, qz, qw)
            pose.publish(message)
            if step % 5 == 0:
                picture = self.pictures[self.at]
                picture.header = header_to_message(stamp_ns - 5_000_000, 'wrist')
                image.publish(picture)
                info.publish(intrinsics_to_message(self.info, stamp_ns, 'wrist'))
            if step % 50 == 1:
                name, values = 'camera_node: left_wrist', {'serial': '4711'}
                health.publish(health_to_message(stamp_ns, name, HealthLevel.OK, '', values))

    def close(self):
        self.ended.set()
        self.thread.join(5)
        self.context.try_shutdown()


def test_live_capture_takes_a_sample_at_every_new_view(tmp_path):
    rig = Rehearsal(Setup.EYE_IN_HAND, seed=6)
    cell = Cell(rig, rig.views(3))
    told = []

    def tell(offer, gate):
        told.append(offer)
        if offer.accepted:
            cell.at = min(cell.at + 1, 2)

    try:
        wish = Wish(Setup.EYE_IN_HAND, Board(), 'left_wrist', 3, 'hand')
        with CalibrationInbox('left_wrist') as inbox:
            source = live_source(inbox)
            while not inbox.serial:
                inbox.wait(0.1)
            source = live_source(inbox)
            folder = capture(tmp_path / 's', wish, source, tell)
    finally:
        cell.close()
    assert len(folder.samples) == 3
    assert (folder.rig.serial, folder.rig.base_frame) == ('4711', 'link0')
    assert folder.rig.camera_frame == 'wrist'
    assert folder.rig.intrinsics.fx == rig.intrinsics.fx
    for sample, view in zip(folder.samples, cell.views, strict=True):
        assert np.allclose(sample.pose, pose_from_matrix(view.base_gripper), atol=1e-9)
    assert any('moves' in offer.reason for offer in told)


def test_a_capture_that_hears_nothing_says_what_did_not_come(monkeypatch):
    monkeypatch.setattr(calibrate_sources, 'PATIENCE_S', 0.3)
    with (
        CalibrationInbox('head', 'nobody') as inbox,
        pytest.raises(CalibrationError, match='picture did not come, pose did not come'),
    ):
        live_source(inbox)


def heard(kind, topic, count=1):
    """Return what a late subscriber hears of a latched topic."""
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node('late', context=context)
    qos = QoSProfile(depth=5, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    found = []
    node.create_subscription(kind, topic, found.append, qos)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    end = time.monotonic() + 10
    while len(found) < count and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    context.try_shutdown()
    return found


POSE = np.array([0.1, -0.2, 0.3, 0.0, 0.6, 0.0, 0.8])


def test_transforms_reach_late_subscribers_without_tf2_msgs(monkeypatch):
    monkeypatch.setitem(sys.modules, 'tf2_msgs', None)
    context = Context()
    rclpy.init(context=context)
    node = StaticTransforms([('hand', 'wrist_optical', POSE)], context=context)
    assert node.topics == ['calibration/wrist_optical']
    (message,) = heard(TransformStamped, 'calibration/wrist_optical')
    context.try_shutdown()
    assert (message.header.frame_id, message.child_frame_id) == ('hand', 'wrist_optical')
    t, r = message.transform.translation, message.transform.rotation
    assert np.allclose([t.x, t.y, t.z, r.x, r.y, r.z, r.w], POSE)


def test_tf2_msgs_is_used_where_it_is_installed(monkeypatch):
    class TFMessage:
        def __init__(self, transforms):
            self.transforms = transforms

    package = ModuleType('tf2_msgs')
    package.msg = ModuleType('tf2_msgs.msg')
    package.msg.TFMessage = TFMessage
    monkeypatch.setitem(sys.modules, 'tf2_msgs', package)
    monkeypatch.setitem(sys.modules, 'tf2_msgs.msg', package.msg)
    assert transform_codecs.tf_message_type() is TFMessage
    single = transform_codecs.transform_to_message('a', 'b', POSE, 1)
    assert transform_codecs.transforms_to_message([single]).transforms == [single]


def test_transforms_that_are_none_are_refused():
    with pytest.raises(MessageError, match=r'transform has shape \(6,\); allowed: \(7,\)'):
        transform_codecs.transform_to_message('a', 'b', POSE[:6], 1)
    with pytest.raises(MessageError, match='finite'):
        transform_codecs.transform_to_message('a', 'b', POSE * np.nan, 1)


@pytest.mark.skipif(find_spec('tf2_msgs') is not None, reason='goes to /tf_static here')
def test_publish_runs_until_a_signal_and_prints_the_ros_command(tmp_path):
    path = tmp_path / 'wrist.yaml'
    path.write_text(
        'setup: eye_in_hand\nparent: hand\nchild: wrist_optical\nxyz: [0.1, -0.2, 0.3]\n'
        'quat_xyzw: [0.0, 0.6, 0.0, 0.8]\ndate: now\ncamera: {serial: x}\n'
        'board: {parent: base, xyz: [0, 0, 0], quat_xyzw: [0, 0, 0, 1]}\n'
    )
    command = [sys.executable, '-m', 'structrl_ros.cli.main', 'calibrate', 'publish', str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        (message,) = heard(TransformStamped, 'calibration/wrist_optical')
        assert message.transform.translation.z == 0.3
    finally:
        child.terminate()
        said, _ = child.communicate(timeout=20)
    assert child.returncode == 0, said
    assert '--frame-id hand --child-frame-id wrist_optical' in said
    assert 'publishing calibration/wrist_optical; Ctrl-C ends it' in said
