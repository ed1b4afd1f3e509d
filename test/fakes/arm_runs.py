"""Synthetic runs that also record the arm and its camera, at every step or once a chunk."""

import numpy as np

from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.encoding import encode
from structrl_ros.recording.encoding import encode_image
from structrl_ros.recording.encoding import encode_joints
from structrl_ros.recording.encoding import encode_pose
from structrl_ros.types import Intervention

SECOND = 1_000_000_000
JOINTS = (*(f'joint{i}' for i in range(1, 8)), 'finger_joint1', 'finger_joint2')
SENSOR = TopicQos(depth=5)
STEP_NS = SECOND // 20


def state_at(stamp_ns):
    """Return joints with fingers, and the pose, of a motion that is a function of time alone."""
    t = (stamp_ns - SECOND) / SECOND
    half = 0.1 * t
    joints = [*(0.1 * i + 0.01 * t for i in range(7)), 0.04 - 0.001 * t, 0.04 - 0.001 * t]
    return joints, [0.5 + 0.01 * t, 0.0, 0.3, 0.0, 0.0, np.sin(half), np.cos(half)]


def noise_picture(stamp_ns, side=64):
    """Return a picture that no codec keeps exactly."""
    return np.random.default_rng(stamp_ns).integers(0, 256, (side, side, 3), dtype=np.uint8)


def with_arm(base):
    """Return a class of synthetic runs with `observe`: 'step', 'chunk' or 'never'."""

    class ArmRun(base):
        observe = 'step'
        has_images = True
        acts = ()  # (chunk, step) where an operator takes over, and where he lets go
        wrong_chunk = 0  # its actions have six values

        def _play(self):
            self.writer.add_topic(
                '/observation/joint_states', 'sensor_msgs/msg/JointState', SENSOR
            )
            self.writer.add_topic('/observation/ee_pose', 'geometry_msgs/msg/PoseStamped', SENSOR)
            self.writer.add_topic('/intervention', 'structrl_msgs/msg/Intervention', SENSOR)
            self.observe_at(SECOND)
            super()._play()

        def _chunk(self, k):
            begin = SECOND + int((k - 1) * self.chunk_s * SECOND)
            for step in range(8):
                if (k, step) in self.acts:
                    active = self.acts.index((k, step)) % 2 == 0
                    now = begin + step * STEP_NS
                    value = Intervention(now, 1, active, 'mouse', np.zeros(7, dtype=np.float32))
                    self._send('/intervention', encode(value))
                if self.observe == 'step' or (self.observe == 'chunk' and step == 0):
                    self.observe_at(begin + step * STEP_NS)
            super()._chunk(k)

        def observe_at(self, stamp_ns):
            if self.observe == 'never':
                return
            joints, pose = state_at(stamp_ns)
            data = encode_joints(stamp_ns, JOINTS, joints, 'base_link')
            super()._send('/observation/joint_states', data)
            super()._send('/observation/ee_pose', encode_pose(stamp_ns, pose, 'base_link'))
            data = encode_image(stamp_ns, noise_picture(stamp_ns), 'head_optical')
            self._send('/observation/head/image', data, is_own=True)

        def _send(self, topic, data, is_own=False):
            if topic == '/observation/head/image' and not (is_own and self.has_images):
                return
            super()._send(topic, data)

        def _put(self, topic, value):
            if topic == '/chunk_done' and value.chunk == self.wrong_chunk:
                fields = {f: getattr(value, f) for f in value.__dataclass_fields__}
                value = type(value)(**{**fields, 'executed': value.executed[:, :6]})
            super()._put(topic, value)

    return ArmRun
