"""A full /dev/shm, in a mount namespace of its own; skipped where none may be made."""

import os
import subprocess
import sys
from functools import cache

import pytest
from ros_domains import claimed_domain

STRUCTRL = 'from structrl_ros.cli.main import main; main()'
MOUNT = 'mount -t tmpfs -o size={} tmpfs /dev/shm'
FILL = ' && { cat /dev/zero > /dev/shm/filler 2>/dev/null; true; }'


def inside(script, *words, **environment):
    """Run `script`, then a Python with these words, in a namespace of mounts."""
    return subprocess.run(
        ['unshare', '-m', 'sh', '-c', f'{script} && exec "$@"', 'sh', sys.executable, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@cache
def is_allowed():
    try:
        return inside(MOUNT.format('1m'), '-c', 'pass').returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture(autouse=True)
def _namespace():
    if not is_allowed():
        pytest.skip('a namespace of mounts is not allowed here')


def full(*words):
    return inside(MOUNT.format('256k') + FILL, *words)


def test_a_command_that_ros_would_kill_is_refused_in_one_line():
    done = full('-c', STRUCTRL, 'run', 'grasp the cup')
    assert done.returncode == 1
    assert done.stderr.startswith('structrl: /dev/shm is full (0 KiB left): ROS would be killed')
    assert done.stderr.count('\n') == 1


def test_a_command_without_ros_works():
    done = full('-c', STRUCTRL, 'plan', 'put the alphabet soup in the basket')
    assert done.returncode == 0, done.stderr


def test_workers_without_room_for_their_pictures_are_one_line_and_leave_nothing():
    code = (
        'import os\n'
        'from structrl_ros.errors import SimulationError\n'
        'from structrl_ros.training.shared_arrays import SharedArrays\n'
        'try:\n'
        '    SharedArrays({"head": ((8, 256, 256, 3), "uint8")})\n'
        'except SimulationError as error:\n'
        '    print(error)\n'
        'print(sorted(os.listdir("/dev/shm")))\n'
    )
    done = full('-c', code)
    line, left = done.stdout.splitlines()
    assert line.startswith('/dev/shm has 0 MiB left, the workers need 2 MiB')
    assert left == "['filler']"


PAIR = """
import subprocess, sys, time
import numpy as np, rclpy
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message, image_to_message
from structrl_ros.wire.qos import message_type, publisher_qos, subscriber_qos
TOPIC = topics.image_topic('head')
rclpy.init()
node = rclpy.create_node(sys.argv[1])
end = time.monotonic() + 60.0
if sys.argv[1] == 'talker':
    talk = node.create_publisher(message_type(TOPIC), TOPIC, publisher_qos(TOPIC))
    message = image_to_message(np.full((480, 640, 3), 7, np.uint8), 1)
    while time.monotonic() < end:
        talk.publish(message)
        time.sleep(0.05)
else:
    other = subprocess.Popen([sys.executable, '-c', sys.argv[2], 'talker'])
    heard = []
    take = lambda m: heard.append(image_from_message(m)[1])
    node.create_subscription(message_type(TOPIC), TOPIC, take, subscriber_qos(TOPIC))
    while not heard and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    other.kill()
    other.wait()
    print('heard', heard[0].shape, int(heard[0].max()))
"""


@pytest.mark.ros
def test_pictures_go_over_udp_where_shared_memory_has_no_room_for_them():
    pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
    pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
    from structrl_ros.params.graph import additional_environment

    surroundings = {**additional_environment(), 'ROS_DOMAIN_ID': str(claimed_domain())}
    done = inside(MOUNT.format('8m'), '-c', PAIR, 'listener', PAIR, **surroundings)
    assert done.returncode == 0, done.stderr
    assert 'heard (480, 640, 3) 7' in done.stdout
    assert 'SHM' in done.stdout + done.stderr, 'Fast DDS says that it goes without'
