"""Fine checkpoints of a motion, as predicates over a `WorldView`: for the density ladder alone.

They are data: the name says what is measured and from where on it is true, so that a world
publishes exactly those that it is asked for (StructRL, Appendix C.1 and C.3). None of them belongs
to a task's own predicates, and none enters the features.

    near(X, d)         the gripper is within d metres of an object's centre or a fixture's handle
    back(F, d)         near the handle of what has been open, once all that belongs in it is in it
    gripping(X)        within 3 cm of an object, the fingers less than 0.8 open: they are closing
    lifted(X, h)       held, and h metres above where it lies on the table
    carried(X, R, d)   held, and within d metres, seen from above, of where it is let go in R
    above(X, R)        held, and over the region R, seen from above
    lowered(X, R, h)   as above, and its centre within h metres of where it comes to rest
    moved(F, s)        the joint has come s of the way to open, pressed or turned on
    closing(F, s)      it has been open, and its joint is back at s of that way or less
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.sim.tabletop.geometry import to_local
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.subtasks.grounding import split_predicate
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

PLACED = ('in', 'on')
GRIPPING_M = 0.03
GRIPPING_OPENING = 0.8


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint bound to a task: slots of the thing and the place (-1: none), a threshold."""

    name: str
    kind: str
    thing: int
    place: int
    threshold: float
    is_fixture: bool


def bind_checkpoints(task: Task, names: Sequence[str]) -> tuple[Checkpoint, ...]:
    """Return those of the names that are checkpoints, bound to a task; its own are passed over.

    Raises:
        ParameterError: If a name is neither a predicate of the task nor a checkpoint.
    """
    own = set(task.predicate_names)
    return tuple(_bind(task, name) for name in dict.fromkeys(names) if name not in own)


def evaluate(task: Task, checkpoints: Sequence[Checkpoint], view: WorldView) -> Bool:
    """Return which checkpoints hold now, shape (B, K)."""
    truth = np.zeros((len(view.tcp), len(checkpoints)), dtype=np.bool_)
    for column, checkpoint in enumerate(checkpoints):
        truth[:, column] = _MEASURES[checkpoint.kind](task, checkpoint, view)
    return truth


def _near(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    return _distance(checkpoint, view) < checkpoint.threshold


def _back(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    slot = checkpoint.thing
    inside = [i for i, p in enumerate(task.predicates) if p.kind in PLACED and p.fixture == slot]
    is_filled = view.reached[:, slot] & view.truth[:, inside].all(axis=1)
    return np.asarray(is_filled & _near(task, checkpoint, view), dtype=np.bool_)


def _gripping(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    is_near = _distance(checkpoint, view) < GRIPPING_M
    return np.asarray(is_near & (view.opening < GRIPPING_OPENING), dtype=np.bool_)


def _lifted(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    slot = checkpoint.thing
    height = view.objects[:, slot, 2] - task.objects[slot].half_height
    return view.held[:, slot] & (height > checkpoint.threshold)


def _carried(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    slot = checkpoint.thing
    off = view.objects[:, slot, :2] - view.places[:, checkpoint.place, :2]
    return view.held[:, slot] & (np.linalg.norm(off, axis=1) < checkpoint.threshold)


def _above(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    slot, place = checkpoint.thing, checkpoint.place
    fixture = task.fixtures[place]
    region = fixture.region
    assert region is not None
    stands = view.fixtures[:, place], view.fixture_yaws[:, place]
    x, y, _ = to_local(*stands, view.objects[:, slot])
    if fixture.kind == 'drawer':
        x = x + view.joints[:, place]
    over = np.abs(x - region.centre[0]) < region.half[0]
    over &= np.abs(y - region.centre[1]) < region.half[1]
    return view.held[:, slot] & over


def _lowered(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    slot = checkpoint.thing
    rest = view.places[:, checkpoint.place, 2] + task.objects[slot].half_height
    is_low = view.objects[:, slot, 2] - rest < checkpoint.threshold
    return _above(task, checkpoint, view) & is_low


def _moved(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    return _way(task, checkpoint, view) >= checkpoint.threshold


def _closing(task: Task, checkpoint: Checkpoint, view: WorldView) -> Bool:
    is_back = _way(task, checkpoint, view) <= checkpoint.threshold
    return view.reached[:, checkpoint.thing] & is_back


def _distance(checkpoint: Checkpoint, view: WorldView) -> Float64:
    points = view.handles if checkpoint.is_fixture else view.objects
    off = points[:, checkpoint.thing] - view.tcp
    distance: Float64 = np.linalg.norm(off, axis=1)
    return distance


def _way(task: Task, checkpoint: Checkpoint, view: WorldView) -> Float64:
    joint = task.fixtures[checkpoint.thing].joint
    assert joint is not None
    return view.joints[:, checkpoint.thing] / joint.done


_Measure = Callable[[Task, Checkpoint, WorldView], Bool]
_MEASURES: Mapping[str, _Measure] = {
    'near': _near,
    'back': _back,
    'gripping': _gripping,
    'lifted': _lifted,
    'carried': _carried,
    'above': _above,
    'lowered': _lowered,
    'moved': _moved,
    'closing': _closing,
}
#: Arguments of each kind: t object or fixture with a handle, o object, j fixture with a joint,
#: r region, n number.
_FORMS: Mapping[str, str] = {
    'near': 'tn',
    'back': 'jn',
    'gripping': 'o',
    'lifted': 'on',
    'carried': 'orn',
    'above': 'or',
    'lowered': 'orn',
    'moved': 'jn',
    'closing': 'jn',
}


def _bind(task: Task, name: str) -> Checkpoint:
    kind, arguments = split_predicate(name)
    form = _FORMS.get(kind, '')
    slots: dict[str, int] = {}
    try:
        if len(form) != len(arguments) or not form:
            raise KeyError(kind)
        for letter, argument in zip(form, arguments, strict=True):
            slots[letter] = _slot(task, letter, argument)
        threshold = float(arguments[-1]) if form[-1] == 'n' else 0.0
        if not 0.0 <= threshold < np.inf:
            raise ValueError(name)
    except (KeyError, ValueError):
        raise ParameterError(
            f'{name}: no predicate or checkpoint of {task.name}; kinds of checkpoints: '
            f'{", ".join(_FORMS)}'
        ) from None
    objects = {thing.name for thing in task.objects}
    is_fixture = arguments[0] not in objects
    thing = slots.get('t', slots.get('o', slots.get('j', -1)))
    return Checkpoint(name, kind, thing, slots.get('r', -1), threshold, is_fixture)


def _slot(task: Task, letter: str, argument: str) -> int:
    """Return the slot of an argument, 0 for a number.

    Raises:
        KeyError: If the task has no such thing.
    """
    objects = {thing.name: slot for slot, thing in enumerate(task.objects)}
    regions = {f.region.name: slot for slot, f in enumerate(task.fixtures) if f.region}
    handles = {f.name: slot for slot, f in enumerate(task.fixtures) if f.handle}
    joints = {f.name: slot for slot, f in enumerate(task.fixtures) if f.joint}
    inside = {f.region.name: s for s, f in enumerate(task.fixtures) if f.region and f.joint}
    match letter:
        case 'n':
            return 0
        case 'o':
            return objects[argument]
        case 'r':
            return regions[argument]
        case 'j':
            return (joints | inside)[argument]
    return (objects | handles | {n: s for n, s in inside.items() if task.fixtures[s].handle})[
        argument
    ]
