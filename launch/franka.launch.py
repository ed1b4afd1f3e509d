"""Carry out a sentence on a Franka: `ros2 launch structrl_ros franka.launch.py --show-args`."""

from launch import LaunchDescription

from structrl_ros.nodes.graph_launch import describe_graph


def generate_launch_description() -> LaunchDescription:
    return describe_graph('franka')
