"""What a tabletop task is: fixtures, free objects, stages and goal, in frozen dataclasses.

The YAML files in `tasks/` hold the numbers; `task_files.py` reads and checks them. The kinematic
twin and the MuJoCo world build the same scene from the same `Task`.

Lengths in metres, angles in radians. Base frame: the robot's base at the origin, x ahead, y left,
z up, the table top at z = 0. A fixture's own frame has its origin at the pose of the fixture, on
what it stands on, turned by its yaw. At yaw 0 the gripper points down and its fingers open along
x, and so the hand is wide along x; a thing is gripped across its own x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated
from typing import Any
from typing import Literal

from annotated_types import Ge
from annotated_types import Gt
from annotated_types import Le

#: Slots of every tabletop task: unused ones are zero in views and features.
FIXTURE_SLOTS = 4
OBJECT_SLOTS = 4
PREDICATE_SLOTS = 8
TASK_SLOTS = 12

Range = tuple[float, float]
Pair = tuple[float, float]
Triple = tuple[float, float, float]
Length = Annotated[float, Gt(0.0), Le(1.0)]
Size = tuple[Length, Length, Length]
FixtureKind = Literal['lidded_box', 'drawer', 'button', 'knob', 'bowl', 'basket', 'peg']
Shape = Literal['box', 'sphere', 'ring']
PredicateKind = Literal['open', 'close', 'turnon', 'press', 'in', 'on', 'grasp']

_STRICT: dict[str, Any] = {'extra': 'forbid', 'allow_inf_nan': False}


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a thing may stand at reset: each number is drawn from its range.

    `x` and `y` are of its centre in the base frame, `z` is the height of its foot.
    """

    __pydantic_config__ = _STRICT
    x: Range
    y: Range
    yaw: Range = (0.0, 0.0)
    z: float = 0.0


@dataclass(frozen=True, slots=True)
class Region:
    """Where a thing counts as `in` or `on` a fixture; it moves with the fixture's joint.

    Attributes:
        name: Argument of the predicate, for example 'lunch_box_1_contain_region'.
        centre: Of its floor, in the fixture's frame.
        half: A thing is inside if its centre is nearer than this in the fixture's x and y.
        height: Its centre must be lower than this above the floor.
        place: Where things are let go, as an offset in x and y from `centre`; each object adds
            its own `place`.
    """

    __pydantic_config__ = _STRICT
    name: str
    centre: Triple
    half: tuple[Length, Length]
    height: Length
    place: Pair = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Joint:
    """The one joint of a lid, drawer, button or knob; 0 at reset.

    Attributes:
        limit: Largest value: radians for lid and knob, metres for drawer and button.
        done: From this value on it is open, pressed or turned on.
        closed: Up to this value it is closed.
        hinge: A point of a lid's axis in the fixture's frame (the axis is its y).
    """

    __pydantic_config__ = _STRICT
    limit: Annotated[float, Gt(0.0)]
    done: Annotated[float, Gt(0.0)]
    closed: Annotated[float, Ge(0.0)]
    hinge: Triple | None = None


@dataclass(frozen=True, slots=True)
class Handle:
    """What the gripper takes hold of, in the fixture's frame with the joint at 0.

    `yaw` is the gripper's yaw relative to the fixture, `grip` says that the fingers must close on
    it; otherwise open fingers straddle it.
    """

    __pydantic_config__ = _STRICT
    offset: Triple
    yaw: float = 0.0
    grip: bool = False


@dataclass(frozen=True, slots=True)
class Fixture:
    """A thing that is used where it stands; `free` ones can be pushed about (a bowl).

    `size` is the outer extent in its own x, y, z. What must be there for each kind is in
    `task_files.NEEDS`.
    """

    __pydantic_config__ = _STRICT
    name: str
    kind: FixtureKind
    pose: Pose
    size: Size
    region: Region | None = None
    joint: Joint | None = None
    handle: Handle | None = None
    free: bool = False

    @property
    def has_lid(self) -> bool:
        """Whether what is in it can be shut in by its joint."""
        return self.kind in ('lidded_box', 'drawer')


@dataclass(frozen=True, slots=True)
class FreeObject:
    """A thing to be moved. `place` is its own offset from the place of a region, in x and y.

    `size` is the extent in its own x, y, z: a sphere has three equal ones, a `ring` is a square
    block with a square hole from top to bottom, `hole` wide.
    """

    __pydantic_config__ = _STRICT
    name: str
    shape: Shape
    size: Size
    pose: Pose
    place: Pair = (0.0, 0.0)
    hole: Annotated[float, Ge(0.0)] = 0.0

    @property
    def symmetry(self) -> int:
        """Turns about z by 2 pi / symmetry look and grip the same; 0 means any turn."""
        if self.shape == 'sphere':
            return 0
        return 4 if self.size[0] == self.size[1] else 2

    @property
    def half_height(self) -> float:
        """Height of its centre above what it lies on."""
        return self.size[2] / 2.0


@dataclass(frozen=True, slots=True)
class Start:
    """Where the gripper begins, as ranges of its tool centre point."""

    __pydantic_config__ = _STRICT
    x: Range = (0.38, 0.46)
    y: Range = (-0.06, 0.06)
    z: Range = (0.26, 0.34)
    yaw: Range = (-0.1, 0.1)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A statement about the scene that is true or false, with the slots that it is about.

    `fixture` and `target` are slots or -1: `target` is the object of `in`, `on` and `grasp`.
    """

    name: str
    kind: PredicateKind
    fixture: int
    target: int


@dataclass(frozen=True)
class Task:
    """A tabletop task.

    Attributes:
        version: Of the file; it rises when a change makes results incomparable.
        index: Place in the one-hot of the features, 0 to `TASK_SLOTS` - 1, one a task.
        name: How bodies call it.
        instruction: The sentence; the rule planner turns it into subtasks that ground completely.
        horizon: Low-level steps of 0.1 s.
        start: Where the gripper begins.
        fixtures: Up to `FIXTURE_SLOTS`.
        objects: Up to `OBJECT_SLOTS`.
        stages: The static decomposition: predicates that any order within a stage may make true.
        goal: All of them at once are success.
    """

    __pydantic_config__ = _STRICT
    version: Annotated[int, Ge(1)]
    index: Annotated[int, Ge(0), Le(TASK_SLOTS - 1)]
    name: str
    instruction: str
    horizon: Annotated[int, Ge(1), Le(2000)]
    fixtures: tuple[Fixture, ...]
    objects: tuple[FreeObject, ...]
    stages: tuple[tuple[str, ...], ...]
    goal: tuple[str, ...]
    start: Start = Start()

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """What a body publishes: goal, grasps of what has to be moved, then the other stages."""
        staged = [name for stage in self.stages for name in stage]
        goal = [self.bind(name) for name in self.goal]
        moved = dict.fromkeys(p.target for p in goal if p.kind in ('in', 'on'))
        grasps = [f'grasp({self.objects[slot].name})' for slot in moved]
        names = dict.fromkeys((*self.goal, *grasps, *staged))
        return tuple(self.bind(name) for name in names)

    @cached_property
    def predicate_names(self) -> tuple[str, ...]:
        """Names of `predicates`, in order."""
        return tuple(p.name for p in self.predicates)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Everyday names of what is in the scene, as a planner is given them."""
        names = [f.region.name for f in self.fixtures if f.kind == 'drawer' and f.region]
        parts = [n.split('_')[-2] + ' drawer' for n in names]
        things = [*(o.name for o in self.objects), *(f.name for f in self.fixtures)]
        return tuple(dict.fromkeys([*(_spoken(n) for n in things), *parts]))

    def bind(self, name: str) -> Predicate:
        """Return the predicate of a name like 'in(apple_1, bowl_1_contain_region)'.

        Raises:
            KeyError: If kind or arguments are not of this task.
        """
        kind, _, rest = name.partition('(')
        arguments = [a.strip() for a in rest.removesuffix(')').split(',')]
        objects = {o.name: slot for slot, o in enumerate(self.objects)}
        fixtures = {f.name: slot for slot, f in enumerate(self.fixtures)}
        fixtures |= {f.region.name: slot for slot, f in enumerate(self.fixtures) if f.region}
        match kind, arguments:
            case ('grasp', [thing]):
                return Predicate(name, kind, -1, objects[thing])
            case ('in' | 'on', [thing, place]):
                return Predicate(name, kind, fixtures[place], objects[thing])
            case ('open' | 'close' | 'turnon' | 'press', [thing]):
                return Predicate(name, kind, fixtures[thing], -1)
        raise KeyError(name)


def _spoken(name: str) -> str:
    """Return 'lunch box' for 'lunch_box_1'."""
    noun, _, number = name.rpartition('_')
    return (noun if number.isdecimal() else name).replace('_', ' ')
