"""Run a node that colcon installed until it says that an episode began, then stop it.

Usage: run_installed.py INSTALL_BASE, in a shell that has sourced its setup file.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import rclpy
from rclpy.node import Node

import structrl_ros
from structrl_ros.params.graph import load_graph
from structrl_ros.params.share import share_path
from structrl_ros.wire import topics
from structrl_ros.wire.body_codecs import episode_from_message
from structrl_ros.wire.qos import message_type
from structrl_ros.wire.qos import subscriber_qos

PATIENCE_S = 60.0


def main() -> None:
    base = Path(sys.argv[1]).resolve()
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    for path in (Path(structrl_ros.__file__), share_path('launch', 'graphs', 'deploy.yaml')):
        if not path.resolve().is_relative_to(base):
            sys.exit(f'{path} is not what colcon installed under {base}')
    nodes = load_graph('deploy', {'body': 'kinematic', 'record': 'bag'}).nodes
    executables = base / 'structrl_ros' / 'lib' / 'structrl_ros'
    absent = [node.executable for node in nodes if not (executables / node.executable).is_file()]
    if absent:
        sys.exit(f'not installed: {", ".join(absent)}')
    command = [str(executables / 'sim_node'), '--ros-args', '-r', '__ns:=/installed']
    process = subprocess.Popen([*command, '-p', 'body:=kinematic', '-p', 'lockstep:=true'])
    try:
        body = wait_for_episode(process)
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(10.0)
    if status != 0:
        sys.exit(f'sim_node ended with status {status} after SIGINT')
    print(f'installed sim_node began an episode on body {body} and ended cleanly')


def wait_for_episode(process: subprocess.Popen) -> str:
    """Return the name of the body that the first episode runs on."""
    rclpy.init()
    node = Node('run_installed', namespace='installed')
    received = []
    kind, profile = message_type(topics.EPISODE), subscriber_qos(topics.EPISODE)
    node.create_subscription(kind, topics.EPISODE, received.append, profile)
    deadline = time.monotonic() + PATIENCE_S
    while not received and time.monotonic() < deadline and process.poll() is None:
        rclpy.spin_once(node, timeout_sec=0.2)
    node.destroy_node()
    rclpy.try_shutdown()
    if not received:
        sys.exit(f'no episode within {PATIENCE_S:.0f} s; sim_node status {process.poll()}')
    return episode_from_message(received[0]).body


if __name__ == '__main__':
    main()
