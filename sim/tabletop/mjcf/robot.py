"""A Franka Panda without meshes: published kinematics, bodies of capsules and boxes.

Joint frames, limits, torques and estimated masses are those of `control/robots/panda.json`, shapes
are our own. The arm's weight is compensated, as the real controller does. Only what can touch
something collides: forearm, wrist, hand and fingers.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from structrl_ros.control.robot_description import Link
from structrl_ros.control.robot_description import RobotDescription
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.rotations import pose_from_transform
from structrl_ros.sim.tabletop.mjcf.elements import ARM
from structrl_ros.sim.tabletop.mjcf.elements import NOTHING
from structrl_ros.sim.tabletop.mjcf.elements import Numbers
from structrl_ros.sim.tabletop.mjcf.elements import add
from structrl_ros.sim.tabletop.mjcf.elements import box
from structrl_ros.sim.tabletop.mjcf.elements import capsule
from structrl_ros.sim.tabletop.mjcf.elements import settings
from structrl_ros.types import Float64

JOINTS = tuple(f'panda_joint{i}' for i in range(1, 8))
FINGERS = ('panda_finger_joint1', 'panda_finger_joint2')
PADS = ('left_pad', 'right_pad')
TCP = 'tcp'

#: Distance of each finger from the middle when open, metres.
FINGER_OPEN = 0.04
#: Servo of each joint: stiffness (Nm/rad), and its damping over its stiffness (s).
SERVO_TIME_S = 0.1
STIFFNESS = (4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0)
ARMATURE = 0.1
GRIP_STIFFNESS = 4000.0
GRIP_DAMPING = 400.0
#: Set point of shut fingers: beyond zero, so that thin things are held with full force too.
FINGER_SHUT = -0.02


@dataclass(frozen=True, slots=True)
class Grip:
    """What holds an object between the fingers.

    Attributes:
        force_n: Largest force of the gripper, newtons.
        friction: Sliding friction of the pads.
        condim: 4 adds friction against turning about the contact normal.
    """

    force_n: float = 70.0
    friction: float = 1.5
    condim: int = 4


Point = tuple[float, float, float]
#: Capsules of a link: start, end, radius, material, whether it collides.
_SHAPES: tuple[tuple[tuple[Point, Point, float, str, bool], ...], ...] = (
    (
        ((0.0, 0.0, -0.19), (0.0, 0.0, -0.06), 0.062, 'shell', False),
        ((0.0, -0.05, 0.0), (0.0, 0.05, 0.0), 0.062, 'shell', False),
    ),
    (
        ((0.0, 0.0, -0.05), (0.0, 0.0, 0.05), 0.060, 'shell', False),
        ((0.0, -0.06, 0.0), (0.0, -0.17, 0.0), 0.056, 'shell', False),
    ),
    (
        ((0.0, 0.0, -0.14), (0.0, 0.0, -0.05), 0.056, 'shell', False),
        ((0.03, 0.0, -0.03), (0.0825, 0.0, 0.0), 0.055, 'shell', False),
    ),
    (
        ((0.0, 0.0, -0.05), (0.0, 0.0, 0.05), 0.055, 'shell', False),
        ((-0.03, 0.05, 0.0), (-0.0825, 0.12, 0.0), 0.052, 'shell', False),
    ),
    (
        ((0.0, 0.0, -0.26), (0.0, 0.03, -0.12), 0.050, 'shell', True),
        ((0.0, 0.06, -0.12), (0.0, 0.05, -0.01), 0.036, 'shell', True),
    ),
    (
        ((0.0, 0.0, -0.05), (0.0, 0.0, 0.03), 0.050, 'shell', True),
        ((0.03, 0.0, 0.0), (0.088, 0.03, 0.0), 0.045, 'shell', True),
    ),
    (
        ((0.0, 0.0, -0.02), (0.0, 0.0, 0.075), 0.042, 'shell', True),
        ((0.0, 0.0, 0.088), (0.0, 0.0, 0.095), 0.034, 'joint', False),
    ),
)


def add_robot(world: Element, grip: Grip) -> None:
    """Append the arm with its hand to the world, its base at the origin looking along x."""
    base = add(world, 'body', name='panda_link0', pos=(0.0, 0.0, 0.0))
    seen = {**NOTHING, 'group': 1}
    box(base, (-0.055, 0.0, 0.045), (0.085, 0.075, 0.045), material='shell', **seen)
    capsule(base, (0.0, 0.0, 0.05), (0.0, 0.0, 0.10), 0.07, material='shell', **seen)
    panda = load_robot('panda')
    body = base
    for number, shapes in enumerate(_SHAPES):
        body = _add_link(body, panda, number)
        for start, end, radius, material, collides in shapes:
            bits = ARM if collides else NOTHING
            capsule(body, start, end, radius, material=material, mass=0.0, group=1, **bits)
    _add_hand(body, panda, grip)


def add_actuators(root: Element, grip: Grip) -> None:
    """Append the joints' position servos and the gripper's, which pulls both fingers."""
    tendon = add(add(root, 'tendon'), 'fixed', name='fingers')
    for finger in FINGERS:
        add(tendon, 'joint', joint=finger, coef=0.5)
    add(
        add(root, 'equality'),
        'joint',
        joint1=FINGERS[0],
        joint2=FINGERS[1],
        solimp=(0.95, 0.99, 0.001),
        solref=(0.005, 1.0),
    )
    actuators = add(root, 'actuator')
    efforts = load_robot('panda').effort.tolist()
    for joint, stiffness, torque in zip(JOINTS, STIFFNESS, efforts, strict=True):
        add(
            actuators,
            'position',
            name=joint,
            joint=joint,
            kp=stiffness,
            kv=SERVO_TIME_S * stiffness,
            forcerange=(-torque, torque),
        )
    add(
        actuators,
        'position',
        name='gripper',
        tendon='fingers',
        kp=GRIP_STIFFNESS,
        kv=GRIP_DAMPING,
        ctrlrange=(FINGER_SHUT, FINGER_OPEN),
        forcerange=(-grip.force_n, grip.force_n),
    )


def _add_link(parent: Element, panda: RobotDescription, number: int) -> Element:
    """Append the link behind a joint (from 0)."""
    name = f'panda_link{number + 1}'
    body = add(parent, 'body', name=name, gravcomp=1, **_pose(panda.origins[number]))
    _add_inertia(body, panda.links[number])
    limits = panda.limits.position_low[number], panda.limits.position_high[number]
    turn = settings(axis=(0.0, 0.0, 1.0), armature=ARMATURE, damping=1.0)
    add(body, 'joint', name=JOINTS[number], range=limits, **turn)
    return body


def _add_inertia(body: Element, link: Link) -> None:
    add(body, 'inertial', pos=link.centre, mass=link.mass, diaginertia=link.inertia)


def _pose(matrix: Float64) -> dict[str, Numbers]:
    x, y, z, qx, qy, qz, qw = pose_from_transform(matrix).tolist()
    return {'pos': (x, y, z), 'quat': (qw, qx, qy, qz)}


def _add_hand(link7: Element, panda: RobotDescription, grip: Grip) -> None:
    """Append hand and fingers; in the hand's frame z points to the tips, the fingers move in y."""
    tool = panda.tool('hand').copy()
    reach, tool[2, 3] = float(tool[2, 3]), 0.0
    hand = add(link7, 'body', name='hand', gravcomp=1, **_pose(panda.flange @ tool))
    add(hand, 'inertial', pos=(0.0, 0.0, 0.03), mass=0.73, diaginertia=(0.001, 0.0025, 0.0017))
    box(hand, (0.0, 0.0, 0.035), (0.026, 0.102, 0.031), material='shell', group=1, **ARM)
    box(hand, (0.0, 0.0, 0.062), (0.018, 0.085, 0.006), material='joint', group=1, **NOTHING)
    add(hand, 'site', name=TCP, pos=(0.0, 0.0, reach), size=0.004, group=4)
    add(
        hand,
        'camera',
        name='left_wrist',
        pos=(0.09, 0.0, 0.035),
        xyaxes=(0.0, 1.0, 0.0, 0.94, 0.0, 0.342),
        fovy=80.0,
    )
    for side, (joint, pad) in enumerate(zip(FINGERS, PADS, strict=True)):
        turned = (1.0, 0.0, 0.0, 0.0) if side == 0 else (0.0, 0.0, 0.0, 1.0)
        _add_finger(hand, joint, pad, turned, grip)


def _add_finger(
    hand: Element, joint: str, pad: str, quat: tuple[float, float, float, float], grip: Grip
) -> None:
    """Append a finger; its pad's inner face lies at y = 0 of its own frame."""
    name = joint.replace('_joint', '')
    finger = add(hand, 'body', name=name, pos=(0.0, 0.0, 0.0584), quat=quat, gravcomp=1)
    add(finger, 'inertial', pos=(0.0, 0.01, 0.02), mass=0.05, diaginertia=(3e-5, 3e-5, 1e-5))
    add(
        finger,
        'joint',
        name=joint,
        type='slide',
        axis=(0.0, 1.0, 0.0),
        range=(0.0, FINGER_OPEN),
        armature=ARMATURE,
        damping=10.0,
    )
    box(finger, (0.0, 0.0095, 0.013), (0.010, 0.0065, 0.013), material='shell', group=1, **ARM)
    rub = settings(friction=(grip.friction, 0.02, 0.0005), condim=grip.condim, priority=1)
    box(
        finger,
        (0.0, 0.0055, 0.041),
        (0.010, 0.0055, 0.0135),
        name=pad,
        material='joint',
        group=1,
        solref=(0.005, 1.0),
        solimp=(0.95, 0.99, 0.001),
        **rub,
        **ARM,
    )
