"""Play a protocol on a body: `ros2 launch structrl_ros evaluate.launch.py --show-args`."""

from launch import LaunchDescription

from structrl_ros.nodes.graph_launch import describe_graph


def generate_launch_description() -> LaunchDescription:
    return describe_graph('evaluate')
