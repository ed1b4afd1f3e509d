"""What an image editor is asked for: a prompt of fixed blocks (Robo-Dopamine 2.0, Eq. 26).

The paper says which blocks there are and what each must hold, not their words; words and the lists
of things are ours. Of two views of one state only the block of the view differs, so that both are
told the same change.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.operators import Operator
from structrl_ros.training.image_edit_words import OPERATORS
from structrl_ros.training.image_edit_words import Branches

#: Changes with every change of a word; kept in the record of each request.
PROMPT_VERSION = 1

_TASKS = {
    Primitive.GRASP_LIFT: 'The robot goes for the {target}, grasps it or lifts it.',
    Primitive.PLACE_TRANSFER: 'The robot carries the {target} to where it belongs, or lets it go '
    'there. What it is put on or in must stay recognisable.',
    Primitive.OPEN: 'The robot opens the {target}; how far it is open must stay as it is.',
    Primitive.CLOSE: 'The robot closes the {target}; how far it is open must stay as it is.',
    Primitive.TOGGLE_ON: 'The robot switches the {target} on; its state must stay as it is.',
    Primitive.TOGGLE_OFF: 'The robot switches the {target} off; its state must stay as it is.',
    Primitive.PUSH_MOVE: 'The robot pushes the {target}; how far it has come must stay as it is.',
}
_HEAD_CHECKS = {
    Operator.EMPTY_GRASP: 'First of all clear the space between the fingers, under them and '
    'along the path they take, as this view projects it.',
    Operator.WRONG_OBJECT: 'Check that the {target} is nowhere within reach of an empty gripper.',
    Operator.NON_RELEASE: 'Check that the gripper is seen to hold something.',
}
_SIDES = {'left_wrist': 'left', 'right_wrist': 'right'}


class Hold(StrEnum):
    """What the events of the episode say about the gripper in a frame."""

    UNKNOWN = 'unknown'
    HELD = 'held'
    RELEASED = 'released'


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is changed in one state, whichever camera looks.

    Attributes:
        instruction: Sentence of the episode.
        target: Phrase of the thing acted on, '' if it is not known.
        target_colour: Colour that the instruction names, '' if none.
        primitive: The primitive that is active.
        operator: What is done.
        variant: With what: the wrong object, the occluder, the colour; see `draw_variant`.
        hold: Whether the target is held, where that is known.
    """

    instruction: str
    target: str
    target_colour: str
    primitive: Primitive
    operator: Operator
    variant: str
    hold: Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Which images are sent.

    Attributes:
        role: Camera role.
        frame: The frame to edit.
        references: Frames of the references, rising, all of them other than `frame`.
        total: Frames of the episode.
        size_px: Side of the images.
    """

    role: str
    frame: int
    references: tuple[int, ...]
    total: int
    size_px: int


def make_edit_prompt(change: Change, shown: Shown) -> str:
    """Return the prompt: input, scene, task, target, operator, view, physics, output (Eq. 26)."""
    blocks = [*shared_blocks(change, shown), _view(change, shown.role), _PHYSICS, _OUTPUT]
    return '\n\n'.join(blocks)


def shared_blocks(change: Change, shown: Shown) -> list[str]:
    """Return the blocks that are the same for every view of a state."""
    return [_input(shown), _scene(change, shown), _task(change), _target(change), _change(change)]


def _input(shown: Shown) -> str:
    count = len(shown.references)
    if count:
        numbers = 'Image 1 is a reference' if count == 1 else f'Images 1 to {count} are references'
        images = (
            f'{numbers}, to be read only and never to be given back. Image {count + 1}, the last '
            'one, is the only image to edit.'
        )
    else:
        images = 'One image is attached, which is the image to edit.'
    return (
        f'This is an edit of an image, not the making of a new one. {images} Keep its size of '
        f'{shown.size_px} x {shown.size_px} pixels, its camera, field of view, crop, perspective, '
        'exposure, white balance, colour temperature, sharpness, noise, depth of field and traces '
        'of compression. Do not enhance, denoise or restyle it, and leave alone every part that '
        'the change does not need.'
    )


def _scene(change: Change, shown: Shown) -> str:
    listed = ', '.join(map(str, shown.references))
    references = (
        f' The references are its frames {listed}, in this order and through the same camera; '
        'take from them what the target is, where it was first, and how things went on, but '
        'neither their camera pose nor their layout.'
        if shown.references
        else ''
    )
    return (
        f'The image to edit is frame {shown.frame} of {shown.total} (counted from 0) of an '
        f'episode in which a robot did this well: "{change.instruction}".{references}'
    )


def _task(change: Change) -> str:
    return _TASKS[change.primitive].format(target=change.target or 'thing that it acts on')


def _target(change: Change) -> str:
    named = (
        f'The target is the {change.target}.'
        if change.target
        else 'The target is what the robot acts on.'
    )
    colour = (
        f' The instruction names the colour {change.target_colour}: what has it keeps it, and '
        'nothing that is changed may take it.'
        if change.target_colour
        else ''
    )
    return (
        f'{named}{colour} Where several things look like the target, treat all of them alike, '
        'unless the change is about one that the instruction names.'
    )


def _change(change: Change) -> str:
    branches = OPERATORS[change.operator]
    words = [branches.always, *_held(branches, change.hold)]
    nature = _FAILS if change.operator.is_negative else _KEEPS
    text = ' '.join(word for word in words if word)
    target = change.target or 'target'
    return f'The change: {text.format(target=target, variant=change.variant)} {nature}'


def _held(branches: Branches, hold: Hold) -> list[str]:
    if hold is Hold.HELD:
        return [branches.held]
    if hold is Hold.RELEASED:
        return [branches.released]
    conditions = (
        ('If the gripper is empty or on its way: ', branches.approaching),
        ('If it holds the {target}: ', branches.held),
        ('If it has let go of it: ', branches.released),
    )
    return [condition + branch for condition, branch in conditions if branch]


def _view(change: Change, role: str) -> str:
    target = change.target or 'target'
    side = _SIDES.get(role)
    if side is None:
        check = _HEAD_CHECKS.get(change.operator, '').format(target=target)
        return (
            'The camera looks at the whole scene from outside. The scene must stay one whole, '
            f'and the change lie where this view projects the way of the gripper. {check}'
        ).rstrip()
    return (
        f"The camera sits at the robot's {side} wrist and sees things close up. Edit only the "
        f'gripper, the {target} and what is next to them. Do not show surfaces that are hidden '
        'from here, take no geometry from another camera, and do not draw what the other wrist '
        f'would see. Keep the {side} finger as far as it is seen, its line of contact and its '
        'reflections. What is in the gripper ends behind the edges of the fingers as depth '
        'demands; where the robot hides the place, it goes on hiding it. If this view cannot '
        'show the change, give the image back as it is.'
    )


_FAILS = (
    'After it the image must show, beyond doubt, a state in which the task goes wrong, at the '
    'same moment and in the same pose of the robot.'
)
_KEEPS = (
    'It is about looks alone: the target, the robot, what touches what, and how far the task has '
    'come stay exactly as they are.'
)
_PHYSICS = (
    'The robot arm does not move, turn or change its shape: joints, links and the pose of the '
    'hand are those of the image, and so is the opening of the gripper, but for the least that '
    'must be redrawn where its content comes or goes. What is moved, taken away, added, replaced '
    'or set in front must fit the perspective, what supports and touches it, the light and the '
    'direction of shadows, its material, and what hides what. Fill what is freed with the '
    'surroundings: no double edges, no smears, no holes, no broken fingers.'
)
_OUTPUT = (
    'Answer with exactly one image, the edited last one: no text, no second proposal, no step in '
    'between. The change must be recognisable, but a real and consistent look counts more than '
    'a strong effect.'
)
