"""A MuJoCo model of an arm without any mesh, written from its description.

It is what the simulated Franka controller needs (joints `PREFIXjoint1..7`, bodies
`PREFIXlink1..7` with inertia, the flange as `PREFIXlink8`) and what tests compare the kinematics
with. The inertias are the description's estimates.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.etree.ElementTree import SubElement

from structrl_ros.control.robot_description import Link
from structrl_ros.control.robot_description import RobotDescription
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.types import Float64


def mjcf(robot: RobotDescription, *, prefix: str | None = None, tool: str = 'hand') -> str:
    """Return the text of the model.

    Args:
        robot: The arm.
        prefix: Before every name; None takes the arm's name and an underscore.
        tool: Tool whose frame becomes the site `ee`.

    Raises:
        ParameterError: If there is no such tool.
    """
    prefix = f'{robot.name}_' if prefix is None else prefix
    root = Element('mujoco', model=robot.name)
    SubElement(root, 'compiler', angle='radian', autolimits='true')
    SubElement(root, 'option', timestep='0.001', integrator='implicitfast')
    world = SubElement(root, 'worldbody')
    body = SubElement(world, 'body', name=f'{prefix}link0')
    for number, name in enumerate(robot.joint_names):
        body = SubElement(
            body, 'body', {'name': f'{prefix}link{number + 1}', **_pose(robot.origins[number])}
        )
        _inertial(body, robot.links[number])
        SubElement(
            body,
            'joint',
            name=f'{prefix}{name}',
            axis='0 0 1',
            range=_text([robot.limits.position_low[number], robot.limits.position_high[number]]),
            armature=f'{robot.armature[number]:g}',
        )
        _shape(body, robot.links[number])
    flange = SubElement(
        body, 'body', {'name': f'{prefix}link{len(robot.joint_names) + 1}', **_pose(robot.flange)}
    )
    _inertial(flange, robot.links[-1])
    _shape(flange, robot.links[-1])
    SubElement(flange, 'site', {'name': f'{prefix}ee', **_pose(robot.tool(tool))})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _inertial(body: Element, link: Link) -> None:
    SubElement(
        body,
        'inertial',
        mass=f'{link.mass:g}',
        pos=_text(link.centre),
        diaginertia=_text(link.inertia),
    )


def _shape(body: Element, link: Link) -> None:
    """Draw the box; it collides with nothing."""
    SubElement(
        body,
        'geom',
        type='box',
        pos=_text(link.centre),
        size=_text([0.5 * edge for edge in link.box]),
        contype='0',
        conaffinity='0',
        rgba='0.9 0.9 0.9 1',
    )


def _pose(matrix: Float64) -> dict[str, str]:
    x, y, z, qx, qy, qz, qw = pose_from_transform(matrix)
    return {'pos': _text([x, y, z]), 'quat': _text([qw, qx, qy, qz])}


def _text(values: Iterable[float]) -> str:
    return ' '.join(f'{float(v):.17g}' for v in values)
