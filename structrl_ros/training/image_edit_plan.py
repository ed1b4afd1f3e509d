"""Which views of which frames of an episode an image editor is asked to change, and how."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.naming import fold
from structrl_ros.progress.manipulation import Manipulation
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.manipulation import parse_manipulation
from structrl_ros.progress.operators import Edit
from structrl_ros.progress.operators import Operator
from structrl_ros.progress.operators import active_primitives
from structrl_ros.progress.operators import admitted_operators
from structrl_ros.progress.operators import plan_edit
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.image_edit_client import EditRequest
from structrl_ros.training.image_edit_prompt import Change
from structrl_ros.training.image_edit_prompt import Hold
from structrl_ros.training.image_edit_prompt import Shown
from structrl_ros.training.image_edit_prompt import make_edit_prompt
from structrl_ros.training.image_edit_words import draw_variant
from structrl_ros.types import UInt8

#: Most references of a request (Eq. 23).
MOST_REFERENCES = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """What a person chooses of it.

    Attributes:
        operators: Only these, () for all that an instruction admits.
        references: K, most frames that are sent beside the one to edit, 0 to 13.
        sent_px: Side at which pictures are sent and must come back, 0: that of the set.
        seed: Of what operators bring.
    """

    operators: tuple[Operator, ...] = ()
    references: int = MOST_REFERENCES
    sent_px: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ParameterError: If one is out of range.
        """
        if not 0 <= self.references <= MOST_REFERENCES or self.sent_px < 0:
            raise ParameterError(
                f'references {self.references}, sent_px {self.sent_px}; '
                f'allowed: 0 to {MOST_REFERENCES}, from 0'
            )


@dataclass(frozen=True, slots=True)
class PlannedEdit:
    """One edited trajectory before it is made.

    Attributes:
        dataset: Name of the set that the source is of.
        source: Its record.
        edit: Operator and interval.
        targets: Phrase of the thing acted on in each frame of the source, '' if it is not known.
        colour: Colour of the target that the instruction names, '' if none.
        variant: What the operator brings.
        seed: Of the variant, and of the editor if it takes one.
        active: Primitive of each frame of the source.
        holds: What is known of the gripper in each frame.
    """

    dataset: str
    source: SourceRecord
    edit: Edit
    targets: tuple[str, ...]
    colour: str
    variant: str
    seed: int
    active: tuple[Primitive, ...]
    holds: tuple[Hold, ...]


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One view of one frame of it."""

    planned: PlannedEdit
    frame: int
    role: str
    references: tuple[int, ...]
    request: EditRequest


def plan_image_edits(
    dataset: str, source: SourceRecord, options: EditOptions
) -> list[PlannedEdit]:
    """Return the edits of one episode, in the order of `Operator`.

    Eligibility and onset are those of `progress.operators`, by the phases of the record where it
    has them, else by progress (Eq. 20).

    Raises:
        ParameterError: If the instruction has no action, or the record is no whole one.
    """
    parsed = parse_manipulation(source.instruction)
    active, releases, holds = _phases(source, parsed)
    found = []
    for operator in admitted_operators(parsed):
        if options.operators and operator not in options.operators:
            continue
        edit = plan_edit(operator, parsed, active, releases)
        if edit is None:
            continue
        edit = _within_target(edit, source, parsed)
        words = [options.seed, *source.episode.encode(), *operator.encode()]
        seed = int(np.random.default_rng(words).integers(2**31))
        found.append(
            PlannedEdit(
                dataset,
                source,
                edit,
                tuple(_target(source, parsed, i) for i in range(source.frames)),
                parsed.target_colour,
                draw_variant(operator, source.instruction, seed),
                seed,
                active,
                holds,
            )
        )
    return found


def plan_requests(
    planned: PlannedEdit, pictures: Mapping[str, UInt8], most_references: int
) -> Iterator[PlannedRequest]:
    """Yield the requests of an edit, frame by frame, in each frame one for every camera.

    The views of a frame are told the same change and are shown the same frames, each through its
    own camera (Eq. 24 and 25).

    Args:
        planned: The edit.
        pictures: Of the source by role, as they are sent, shape (T, S, S, 3).
        most_references: K, most frames beside the one to edit.
    """
    source = planned.source
    for frame in planned.edit.frames:
        references = reference_frames(frame, source.frames, most_references)
        change = Change(
            instruction=source.instruction,
            target=planned.targets[frame],
            target_colour=planned.colour,
            primitive=planned.active[frame],
            operator=planned.edit.operator,
            variant=planned.variant,
            hold=planned.holds[frame],
        )
        for role in source.roles:
            shown = Shown(
                role=role,
                frame=frame,
                references=references,
                total=source.frames,
                size_px=pictures[role].shape[1],
            )
            sent = tuple(pictures[role][i] for i in (*references, frame))
            request = EditRequest(make_edit_prompt(change, shown), sent, planned.seed)
            yield PlannedRequest(planned, frame, role, references, request)


def reference_frames(frame: int, total: int, most: int) -> tuple[int, ...]:
    """Return J_i: up to `most` frames other than `frame`, spread over all, rising (Eq. 23)."""
    others = [i for i in range(total) if i != frame]
    if len(others) <= most:
        return tuple(others)
    picks = np.linspace(0, len(others) - 1, most).round().astype(int)
    return tuple(others[i] for i in picks)


def check_pictures(source: SourceRecord, pictures: Mapping[str, UInt8]) -> None:
    """Check that the pictures of a source are what its record says.

    Raises:
        ParameterError: If a role or frame is missing, or a picture has another size.
    """
    wanted = (source.frames, source.size_px, source.size_px, 3)
    for role in source.roles:
        got = pictures[role].shape if role in pictures else None
        if got != wanted:
            raise ParameterError(
                f'{source.file}: pictures of {role!r} have shape {got}; allowed: {wanted}'
            )


def _phases(
    source: SourceRecord, parsed: Manipulation
) -> tuple[tuple[Primitive, ...], list[bool] | None, tuple[Hold, ...]]:
    """Return primitives, releases and what is known of the gripper, frame by frame."""
    if not source.phases:
        unknown = (Hold.UNKNOWN,) * source.frames
        return active_primitives(parsed, source.frames), None, unknown
    if len(source.phases) != source.frames:
        raise ParameterError(
            f'{source.episode}: {len(source.phases)} phases of {source.frames} frames; allowed: '
            'one a frame, or none'
        )
    active = tuple(Primitive(primitive) for primitive, _, _ in source.phases)
    releases = [bool(is_release) for _, _, is_release in source.phases]
    holds = tuple(
        Hold.UNKNOWN
        if primitive is not Primitive.PLACE_TRANSFER
        else Hold.RELEASED
        if is_release
        else Hold.HELD
        for primitive, is_release in zip(active, releases, strict=True)
    )
    return active, releases, holds


def _within_target(edit: Edit, source: SourceRecord, parsed: Manipulation) -> Edit:
    """End a negative segment where another thing becomes the target."""
    if not (parsed.is_multi_stage and edit.operator.is_negative and source.phases):
        return edit
    target = source.phases[edit.start][1]
    stop = next((i for i in edit.frames if source.phases[i][1] != target), edit.stop)
    return Edit(edit.operator, edit.primitive, edit.start, stop, edit.total)


def _target(source: SourceRecord, parsed: Manipulation, frame: int) -> str:
    """Return the phrase of the instruction, or the name of the phase's thing in words."""
    if parsed.target and not (parsed.is_multi_stage and source.phases):
        return parsed.target
    if not source.phases:
        return parsed.target
    words: Sequence[str] = fold(str(source.phases[frame][1])).split()
    return ' '.join(word for word in words if not word.isdecimal())
