"""A disk that stands still for a while under a recording."""

import contextlib
import threading
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from rclpy.executors import ExternalShutdownException  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from ros_domains import claimed_domain  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from structrl_ros.nodes.recorder_node import RecorderNode  # noqa: E402
from structrl_ros.recording import bag_parts  # noqa: E402
from structrl_ros.recording.bag_reader import BagReader  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402

pytestmark = pytest.mark.ros

SENT = 5000


class StandingDisk:
    """Every write waits until `free` is set; `stood` is set once one has waited for a second."""

    def __init__(self, monkeypatch):
        self.free, self.stood = threading.Event(), threading.Event()
        self.free.set()
        write = bag_parts._DiskFile.write

        def slowly(file, data):
            if not self.free.is_set() and not self.free.wait(1.0):
                self.stood.set()
                self.free.wait(60.0)
            return write(file, data)

        monkeypatch.setattr(bag_parts._DiskFile, 'write', slowly)


def wait(true, what):
    end = time.monotonic() + 60.0
    while not true():
        assert time.monotonic() < end, f'no {what} within 60 s'
        time.sleep(0.01)


def test_a_disk_that_stands_still_loses_messages_by_count_names_itself_and_stops_nothing(
    monkeypatch, tmp_path
):
    disk, context = StandingDisk(monkeypatch), rclpy.Context()
    rclpy.init(context=context, domain_id=claimed_domain())
    directory = Parameter('directory', value=str(tmp_path / 'bag'))
    recorder = RecorderNode(context=context, parameter_overrides=[directory])
    arm = rclpy.create_node('arm', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(recorder)

    def spin():
        with contextlib.suppress(ExternalShutdownException):
            while context.ok():
                executor.spin_once(timeout_sec=0.05)

    thread = threading.Thread(target=spin, daemon=True)
    try:
        thread.start()
        states = arm.create_publisher(JointState, topics.JOINT_STATES, qos_profile_sensor_data)
        wait(states.get_subscription_count, 'recorder')
        sent = 0

        def publish(count=1):
            nonlocal sent
            for _ in range(count):
                sent += 1
                states.publish(JointState(name=[str(sent)], position=[0.0] * 100))
            return True

        wait(lambda: publish() and recorder._bags.counts[f'/{topics.JOINT_STATES}'] > 5, 'state')
        disk.free.clear()
        wait(lambda: publish() and disk.stood.is_set(), 'write that waits')
        publish(SENT)
        disk.free.set()
        wait(lambda: publish() and recorder._bags.missing, 'count of what is missing')
        assert recorder._bags.error == ''
        assert float(recorder._bags.numbers()['slowest_write_s']) >= 1.0
        assert ' missing (the disk took ' in recorder._bags.summary
        before = recorder._bags.counts.total()
        wait(lambda: publish() and recorder._bags.counts.total() > before + 5, 'recording goes on')
    finally:
        disk.free.set()
        context.try_shutdown()
        thread.join(60.0)
        recorder.close()
        arm.destroy_node()
        recorder.destroy_node()
    reader = BagReader(tmp_path / 'bag')
    assert not reader.is_cut
    name = f'/{topics.JOINT_STATES}'
    numbers = [int(m.name[0]) for *_, m in reader.messages([name])]
    assert numbers == sorted(set(numbers))
    assert reader.missing[name] > 0
    assert len(numbers) + reader.missing[name] == numbers[-1] - numbers[0] + 1
