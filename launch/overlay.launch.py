"""A camera over a reference: `ros2 launch structrl_ros overlay.launch.py reference:=FILE`."""

from launch import LaunchDescription

from structrl_ros.nodes.graph_launch import describe_graph


def generate_launch_description() -> LaunchDescription:
    return describe_graph('overlay')
