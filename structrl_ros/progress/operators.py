"""OOD operators: which an instruction admits, and in which frames (Robo-Dopamine 2.0, App. A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from structrl_ros.errors import ParameterError
from structrl_ros.progress.manipulation import Manipulation
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.source_progress import source_progress


class Operator(StrEnum):
    """One counterfactual change of an observation: four that fail the task, four that do not."""

    WRONG_OBJECT = 'wrong_object'
    EMPTY_GRASP = 'empty_grasp'
    NON_RELEASE = 'non_release'
    TARGET_REPLACEMENT = 'target_replacement'
    FOREGROUND_OCCLUSION = 'foreground_occlusion'
    BACKGROUND_CHANGE = 'background_change'
    DISTRACTOR_CHANGE = 'distractor_change'
    NON_TARGET_COLOUR = 'non_target_colour'

    @property
    def is_negative(self) -> bool:
        """Whether the edited state fails the task (Phi = -g) rather than keeps it (Phi = g)."""
        return self in NEGATIVE

    @property
    def is_persistent(self) -> bool:
        """Whether it lasts from the first frame on, as a nuisance of the scene does."""
        return self in _PERSISTENT


NEGATIVE = frozenset(
    {
        Operator.WRONG_OBJECT,
        Operator.EMPTY_GRASP,
        Operator.NON_RELEASE,
        Operator.TARGET_REPLACEMENT,
    }
)
ROBUST = frozenset(Operator) - NEGATIVE
_PERSISTENT = ROBUST - {Operator.FOREGROUND_OCCLUSION}
#: Edits after which the target is another thing.
_OF_IDENTITY = frozenset({Operator.WRONG_OBJECT, Operator.TARGET_REPLACEMENT})
_ADMITTED = {
    Primitive.GRASP_LIFT: frozenset(
        {Operator.WRONG_OBJECT, Operator.EMPTY_GRASP, Operator.TARGET_REPLACEMENT}
    ),
    Primitive.PLACE_TRANSFER: frozenset(
        {Operator.WRONG_OBJECT, Operator.NON_RELEASE, Operator.TARGET_REPLACEMENT}
    ),
}

#: Progress p in which an edit of a primitive means something, both ends included.
VALID_PROGRESS = {
    Primitive.GRASP_LIFT: (0.18, 0.80),
    Primitive.PLACE_TRANSFER: (0.28, 0.95),
    Primitive.OPEN: (0.15, 0.85),
    Primitive.CLOSE: (0.15, 0.85),
    Primitive.TOGGLE_ON: (0.10, 0.75),
    Primitive.TOGGLE_OFF: (0.10, 0.75),
    Primitive.PUSH_MOVE: (0.12, 0.85),
}
#: Progress at which a composite instruction goes over to its second primitive.
_SWITCHES = {
    (Primitive.GRASP_LIFT, Primitive.PLACE_TRANSFER): 0.45,
    (Primitive.OPEN, Primitive.PLACE_TRANSFER): 0.45,
    (Primitive.PLACE_TRANSFER, Primitive.CLOSE): 0.65,
    (Primitive.TOGGLE_ON, Primitive.PLACE_TRANSFER): 0.35,
    (Primitive.TOGGLE_OFF, Primitive.PLACE_TRANSFER): 0.35,
}
#: Progress from which a transfer is in its release. The paper has a release subphase and gives no
#: number; this is ours, for trajectories of which no event tells.
RELEASE_PROGRESS = 0.75


@dataclass(frozen=True, slots=True)
class Edit:
    """Where one operator changes one trajectory.

    Attributes:
        operator: What is changed.
        primitive: The primitive that is active at the onset.
        start: First frame i_start (Eq. 21).
        stop: End of the interval S_z (Eq. 22), exclusive.
        total: Frames T of the source.
    """

    operator: Operator
    primitive: Primitive
    start: int
    stop: int
    total: int

    @property
    def frames(self) -> range:
        """The frames that are edited."""
        return range(self.start, self.stop)


def admitted_operators(manipulation: Manipulation) -> tuple[Operator, ...]:
    """Return the operators that an instruction admits, in the order of `Operator` (Appendix A).

    Negative ones need a grasp or a transfer. Where several objects may rightly be the target,
    edits of its identity are left out as long as another negative one stays.
    """
    negative = frozenset[Operator]().union(
        *(_ADMITTED.get(primitive, frozenset()) for primitive in manipulation.primitives)
    )
    if manipulation.has_many_objects and negative - _OF_IDENTITY:
        negative -= _OF_IDENTITY
    return tuple(operator for operator in Operator if operator in negative | ROBUST)


def active_primitives(manipulation: Manipulation, total: int) -> tuple[Primitive, ...]:
    """Return the primitive of each of `total` frames by progress p_i = i / (T - 1) (Eq. 20).

    A pair of primitives that the paper names switches where it says; others share the trajectory
    evenly, which is ours. Where the events of a trajectory are known, use them instead.

    Raises:
        ParameterError: If there are fewer than two frames.
    """
    progress = _progress(total)
    primitives = _phases(manipulation)
    if len(primitives) == 2 and primitives in _SWITCHES:
        switch = _SWITCHES[(primitives[0], primitives[1])]
        return tuple(primitives[p >= switch] for p in progress)
    count = len(primitives)
    return tuple(primitives[min(int(p * count), count - 1)] for p in progress)


def plan_edit(
    operator: Operator,
    manipulation: Manipulation,
    active: Sequence[Primitive],
    released: Sequence[bool] | None = None,
    earliest: int = 0,
) -> Edit | None:
    """Return where an operator changes a trajectory, None if it has no frame that is eligible.

    Onset by Eq. 21; then to the end (Eq. 22), or, for several subgoals, to the end of the
    segment of the primitive that is active at the onset. Persistent operators begin at frame 0
    and last. A negative edit never begins at frame 0, as Eq. 6 asks.

    Args:
        operator: One that the instruction admits.
        manipulation: The parsed instruction.
        active: Primitive of each frame, length T.
        released: Whether each frame lies in the release of a transfer, length T; None takes
            progress from `RELEASE_PROGRESS` on.
        earliest: First frame that may be the onset; 0 is the paper's rule. Persistent operators
            do not heed it.

    Raises:
        ParameterError: If the instruction does not admit the operator, or lengths differ.
    """
    admitted = admitted_operators(manipulation)
    if operator not in admitted:
        raise ParameterError(
            f'operator {operator.value!r} for {manipulation.instruction!r}; allowed: '
            + ', '.join(admitted)
        )
    total = len(active)
    progress = _progress(total)
    if released is not None and len(released) != total:
        raise ParameterError(f'released: {len(released)} frames; allowed: {total}, as active')
    release = [p >= RELEASE_PROGRESS for p in progress] if released is None else list(released)
    if operator.is_persistent:
        return Edit(operator, active[0], 0, total, total)
    for i in range(max(earliest, 1 if operator.is_negative else 0), total):
        if _is_eligible(operator, active[i], progress[i], release[i]):
            stop = _segment_end(active, i) if manipulation.is_multi_stage else total
            return Edit(operator, active[i], i, stop, total)
    return None


def _is_eligible(operator: Operator, primitive: Primitive, p: float, is_release: bool) -> bool:
    """G_z(pi, p) = EDIT of Eq. 21."""
    lowest, highest = VALID_PROGRESS[primitive]
    if operator.is_negative and operator not in _ADMITTED.get(primitive, frozenset()):
        return False
    if operator == Operator.NON_RELEASE and not is_release:
        return False
    return lowest <= p <= highest


def _segment_end(active: Sequence[Primitive], start: int) -> int:
    return next((i for i in range(start, len(active)) if active[i] != active[start]), len(active))


def _phases(manipulation: Manipulation) -> tuple[Primitive, ...]:
    """Primitives as the composites name them; a grasp in the middle belongs to its placement."""
    kept: list[Primitive] = []
    for i, primitive in enumerate(manipulation.primitives):
        is_carried = manipulation.primitives[i + 1 : i + 2] == (Primitive.PLACE_TRANSFER,)
        if primitive == Primitive.GRASP_LIFT and kept and is_carried:
            continue
        kept.append(primitive)
    if kept[:1] == [Primitive.GRASP_LIFT] and kept[1:] == [
        Primitive.PLACE_TRANSFER,
        Primitive.CLOSE,
    ]:
        return tuple(kept[1:])
    return tuple(kept)


def _progress(total: int) -> list[float]:
    if total < 2:
        raise ParameterError(f'{total} frames; allowed: 2 and more')
    return [source_progress(i, total) for i in range(total)]
