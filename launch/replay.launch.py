"""A bag in the place of the body: `ros2 launch structrl_ros replay.launch.py bag:=DIR`."""

from launch import LaunchDescription

from structrl_ros.nodes.graph_launch import describe_graph


def generate_launch_description() -> LaunchDescription:
    return describe_graph('replay')
