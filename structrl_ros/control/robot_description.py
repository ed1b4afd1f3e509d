"""What an arm is: its frames, limits and tools, from `robots/NAME.json`, each with its source.

Frames: the joint's frame is the frame before it, moved by `origin`, then turned about its own z by
the joint's position. `flange` follows the last joint, a tool's `ee` follows the flange.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from structrl_ros.control.joint_limits import JointLimits
from structrl_ros.control.rotations import transform
from structrl_ros.errors import ParameterError
from structrl_ros.types import Float64

FOLDER = 'robots'


@dataclass(frozen=True, slots=True)
class Link:
    """A homogeneous box with the mass of a link: an estimate, for simulation alone.

    Attributes:
        mass: kg.
        centre: Centre of the box in the frame of its joint, metres, shape (3,).
        box: Its edges along that frame's axes, metres, shape (3,).
    """

    mass: float
    centre: tuple[float, float, float]
    box: tuple[float, float, float]

    @property
    def inertia(self) -> tuple[float, float, float]:
        """Principal moments about the centre, kg m^2."""
        x, y, z = (edge * edge for edge in self.box)
        return tuple(self.mass * s / 12.0 for s in (y + z, x + z, x + y))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class CartesianLimits:
    """Limits of the end effector's own motion: SI units, translation and rotation."""

    velocity: float
    acceleration: float
    jerk: float


@dataclass(frozen=True, eq=False, slots=True)
class RobotDescription:
    """An arm of J joints.

    Attributes:
        name: 'fr3' or 'panda'.
        joint_names: Without prefix, length J.
        origins: Transforms of each joint's frame to the frame before it, shape (J, 4, 4).
        flange: Transform of the flange to the last joint's frame, shape (4, 4).
        tools: Transforms of the tool's `ee` to the flange, by name, each (4, 4).
        limits: Joint limits of the vendor.
        translation: Cartesian limits of the vendor.
        rotation: Cartesian limits of the vendor.
        effort: Largest joint torques, Nm, shape (J,).
        armature: Estimated inertia of motor and gear at each joint, kg m^2, shape (J,).
        links: Estimated bodies of the J links, then of the hand.
        ready: A posture far from all limits, rad, shape (J,).
        sources: Where each part of the data comes from.
    """

    name: str
    joint_names: tuple[str, ...]
    origins: Float64
    flange: Float64
    tools: Mapping[str, Float64]
    limits: JointLimits
    translation: CartesianLimits
    rotation: CartesianLimits
    effort: Float64
    armature: Float64
    links: tuple[Link, ...]
    ready: Float64
    sources: Mapping[str, str]

    def tool(self, name: str) -> Float64:
        """Return the transform of a tool's `ee` to the flange, shape (4, 4).

        Raises:
            ParameterError: If there is no such tool.
        """
        if name not in self.tools:
            raise ParameterError(f'unknown tool {name!r}; known: {", ".join(sorted(self.tools))}')
        return self.tools[name]


def robot_names() -> tuple[str, ...]:
    """Return the names of the arms that are described."""
    folder = resources.files(__package__) / FOLDER
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith('.json')))


def load_robot(name: str) -> RobotDescription:
    """Return the description of an arm.

    Raises:
        ParameterError: If no arm of that name is described.
    """
    if name not in robot_names():
        raise ParameterError(f'unknown arm {name!r}; known: {", ".join(robot_names())}')
    text = (resources.files(__package__) / FOLDER / f'{name}.json').read_text(encoding='utf-8')
    data: dict[str, Any] = json.loads(text)
    joints = data['joints']
    return RobotDescription(
        name=data['name'],
        joint_names=tuple(joint['name'] for joint in joints),
        origins=np.array([_transform(joint['origin']) for joint in joints]),
        flange=_transform(data['flange']),
        tools={key: _transform(value) for key, value in data['tools'].items()},
        limits=_limits(joints),
        translation=CartesianLimits(**data['cartesian']['translation']),
        rotation=CartesianLimits(**data['cartesian']['rotation']),
        effort=_column(joints, 'effort'),
        armature=_column(joints, 'armature'),
        links=tuple(_link(x) for x in (*(joint['link'] for joint in joints), data['hand'])),
        ready=np.array(data['ready'], dtype=np.float64),
        sources=data['sources'],
    )


def _limits(joints: list[dict[str, Any]]) -> JointLimits:
    return JointLimits(
        position_low=np.array([joint['position'][0] for joint in joints]),
        position_high=np.array([joint['position'][1] for joint in joints]),
        velocity=_column(joints, 'velocity'),
        acceleration=_column(joints, 'acceleration'),
        jerk=_column(joints, 'jerk'),
        upper_curve=_curve(joints, 'upper'),
        lower_curve=_curve(joints, 'lower'),
    )


def _curve(joints: list[dict[str, Any]], side: str) -> Float64 | None:
    if not all('velocity_curve' in joint for joint in joints):
        return None
    curves = [joint['velocity_curve'][side] for joint in joints]
    return np.array([[c['offset'], c['gain'], c['position']] for c in curves], dtype=np.float64)


def _column(joints: list[dict[str, Any]], key: str) -> Float64:
    return np.array([joint[key] for joint in joints], dtype=np.float64)


def _link(data: dict[str, Any]) -> Link:
    x, y, z = data['centre']
    a, b, c = data['box']
    return Link(float(data['mass']), (x, y, z), (a, b, c))


def _transform(data: dict[str, Any]) -> Float64:
    w, x, y, z = data['quat_wxyz']
    quat = np.array([x, y, z, w], dtype=np.float64)
    return transform(np.array(data['xyz'], dtype=np.float64), quat / np.linalg.norm(quat))
