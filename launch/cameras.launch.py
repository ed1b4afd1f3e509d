"""The cameras of a cell: `ros2 launch structrl_ros cameras.launch.py --show-args`."""

from launch import LaunchDescription

from structrl_ros.nodes.graph_launch import describe_graph


def generate_launch_description() -> LaunchDescription:
    return describe_graph('cameras')
