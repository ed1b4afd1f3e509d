"""Pictures of the twin, drawn in numpy: the table from above, and what is below the hand."""

from __future__ import annotations

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.geometry import handle_position
from structrl_ros.sim.tabletop.task_data import Fixture
from structrl_ros.sim.tabletop.task_data import FreeObject
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.twin.state import TwinState
from structrl_ros.sim.twin.things import WIDTH
from structrl_ros.types import Float64
from structrl_ros.types import UInt8
from structrl_ros.world_types import Bool

ROLES = ('head', 'left_wrist')
TABLE = (196, 178, 150)
GRIPPER = (240, 240, 245)
HANDLE = (40, 40, 46)
INSIDE = (84, 60, 40)
FIXTURES = ((140, 98, 57), (96, 116, 140), (150, 130, 60), (110, 90, 120))
OBJECTS = ((200, 44, 40), (48, 130, 64), (44, 74, 180), (224, 174, 40))
#: Middle and width of the part of the table that a picture shows, metres.
MIDDLE = (0.46, 0.0)
HEAD_WIDTH = 1.0
WRIST_WIDTH = 0.35


class _Canvas:
    """A picture with the place of each of its pixels on the table, the far edge up."""

    def __init__(self, centre: tuple[float, float], width: float, size: int) -> None:
        steps = width * (0.5 - (np.arange(size) + 0.5) / size)
        self.x, self.y = centre[0] + steps[:, None], centre[1] + steps[None, :]
        self.image = np.empty((size, size, 3), dtype=np.uint8)
        self.image[:] = TABLE

    def disc(self, at: Float64, radius: float, colour: tuple[int, int, int]) -> None:
        off = (self.x - at[0]) ** 2 + (self.y - at[1]) ** 2
        self.image[off < radius**2] = colour

    def box(
        self, at: Float64, yaw: float, half: tuple[float, float], colour: tuple[int, int, int]
    ) -> None:
        self.image[self._is_in_box(at, yaw, half)] = colour

    def _is_in_box(self, at: Float64, yaw: float, half: tuple[float, float]) -> Bool:
        x, y = self.x - at[0], self.y - at[1]
        cos, sin = np.cos(yaw), np.sin(yaw)
        inside: Bool = (np.abs(cos * x + sin * y) < half[0]) & (
            np.abs(cos * y - sin * x) < half[1]
        )
        return inside


def draw(state: TwinState, task: Task, role: str, size: int) -> UInt8:
    """Return the picture of a camera role for the first lane, uint8 RGB (size, size, 3).

    `head` looks at the whole table, `left_wrist` at what is below the hand.

    Raises:
        SimulationError: If the role is unknown.
    """
    if role not in ROLES:
        raise SimulationError(f'no camera {role!r}; allowed: {", ".join(ROLES)}')
    at = state.tcp[0]
    if role == 'head':
        canvas = _Canvas(MIDDLE, HEAD_WIDTH, size)
    else:
        canvas = _Canvas((float(at[0]), float(at[1])), WRIST_WIDTH, size)
    for slot, fixture in enumerate(task.fixtures):
        _draw_fixture(canvas, state, fixture, slot)
    order = np.argsort(state.objects[0, : len(task.objects), 2], kind='stable')
    for slot in order.tolist():
        _draw_object(canvas, state, task.objects[slot], slot)
    for slot, fixture in enumerate(task.fixtures):
        _draw_handle(canvas, state, fixture, slot)
    yaw = float(state.yaw[0])
    spread = 0.010 + float(state.opening[0]) * WIDTH / 2.0
    way = np.array([np.cos(yaw), np.sin(yaw), 0.0]) * spread
    for finger in (at - way, at + way):
        canvas.disc(finger, 0.010 + 0.02 * float(at[2]), GRIPPER)
    return canvas.image


def _draw_fixture(canvas: _Canvas, state: TwinState, fixture: Fixture, slot: int) -> None:
    at, yaw = state.fixtures[0, slot], float(state.fixture_yaws[0, slot])
    joint = float(state.joints[0, slot])
    colour = FIXTURES[slot % len(FIXTURES)]
    half = (fixture.size[0] / 2.0, fixture.size[1] / 2.0)
    region = fixture.region
    if fixture.kind == 'drawer' and region is not None:
        tray = at.copy()
        tray[:2] -= np.array([np.cos(yaw), np.sin(yaw)]) * joint
        canvas.box(tray, yaw, (region.half[0] + 0.008, region.half[1] + 0.008), HANDLE)
        canvas.box(tray, yaw, region.half, INSIDE)
        canvas.box(at, yaw, half, colour)
    elif fixture.kind == 'bowl':
        canvas.disc(at, half[0], colour)
        canvas.disc(at, half[0] - 0.012, INSIDE)
    else:
        canvas.box(at, yaw, half, colour)
        if fixture.kind == 'basket' or (fixture.kind == 'lidded_box' and joint > 0.3):
            canvas.box(at, yaw, (half[0] - 0.008, half[1] - 0.008), INSIDE)


def _draw_object(canvas: _Canvas, state: TwinState, thing: FreeObject, slot: int) -> None:
    at, yaw = state.objects[0, slot], float(state.object_yaws[0, slot])
    larger = 1.0 + float(at[2])
    half = (larger * thing.size[0] / 2.0, larger * thing.size[1] / 2.0)
    colour = OBJECTS[slot % len(OBJECTS)]
    if thing.shape == 'sphere':
        canvas.disc(at, half[0], colour)
        return
    canvas.box(at, yaw, half, colour)
    if thing.shape == 'ring':
        canvas.box(at, yaw, (thing.hole / 2.0, thing.hole / 2.0), INSIDE)


def _draw_handle(canvas: _Canvas, state: TwinState, fixture: Fixture, slot: int) -> None:
    if fixture.handle is None:
        return
    stands = state.fixtures[:1, slot], state.fixture_yaws[:1, slot], state.joints[:1, slot]
    yaw = float(state.fixture_yaws[0, slot] + fixture.handle.yaw)
    if fixture.kind == 'knob':
        yaw += float(state.joints[0, slot])
    at = handle_position(fixture, *stands)[0]
    if fixture.kind == 'button':
        canvas.disc(at, 0.02, OBJECTS[0])
    else:
        canvas.box(at, yaw, (0.006, 0.03), HANDLE)
