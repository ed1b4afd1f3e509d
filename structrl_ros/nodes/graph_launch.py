"""The launch description of a node graph, for the files in `launch/`.

Needs `launch` and `launch_ros` of a ROS 2 installation, which are no wheels; without one,
`structrl up GRAPH` starts the same processes from the same YAML.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.actions import OpaqueFunction
from launch.actions import Shutdown
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from structrl_ros.params.graph import RESPAWN_LIMIT
from structrl_ros.params.graph import NodeSpec
from structrl_ros.params.graph import additional_environment
from structrl_ros.params.graph import graph_document
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph_document import Argument


def describe_graph(name: str) -> LaunchDescription:
    """Return the launch description of a graph: its arguments, then its nodes."""
    arguments = graph_document(name).arguments
    names = [argument.name for argument in arguments]
    start = OpaqueFunction(function=_start, args=[name, names])
    return LaunchDescription([*(_declare(argument) for argument in arguments), start])


def _start(context: LaunchContext, name: str, arguments: list[str]) -> list[Node]:
    values = {argument: context.launch_configurations[argument] for argument in arguments}
    return [_describe_node(spec) for spec in load_graph(name, values).nodes]


def _declare(argument: Argument) -> DeclareLaunchArgument:
    choices = {'choices': list(argument.choices)} if argument.choices else {}
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        **choices,
    )


def _describe_node(spec: NodeSpec) -> Node:
    return Node(
        package='structrl_ros',
        executable=spec.executable,
        name=spec.name,
        namespace=spec.namespace,
        parameters=[{key: _typed(value) for key, value in spec.parameters.items()}],
        remappings=list(spec.remappings.items()),
        respawn=spec.respawn,
        respawn_delay=spec.respawn_delay_s,
        respawn_max_retries=RESPAWN_LIMIT,
        on_exit=None if spec.respawn else Shutdown(reason=f'{spec.name} ended'),
        additional_env=additional_environment(),
        output='screen',
    )


def _typed(value: Any) -> Any:
    """Keep text as text: launch would read '3' as a number."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value
