"""Words of the operators, and the things that they bring into a scene.

What each operator must do is that of Robo-Dopamine 2.0, Appendix A; the words are ours, and so is
the rule that the thing it brings is drawn once for a trajectory: views of one state are edited one
by one, and could not agree otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structrl_ros.progress.operators import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """Words of one operator, by what the gripper does; '' where there is nothing to say."""

    always: str = ''
    approaching: str = ''
    held: str = ''
    released: str = ''


OPERATORS = {
    Operator.WRONG_OBJECT: Branches(
        always='the robot deals with the wrong object.',
        approaching='in its path, where the {target} is, there is {variant}, and the {target} '
        'lies at a plausible place outside of the path.',
        held='replace what it holds, and nothing else, by {variant}. The {target} lies '
        'elsewhere, if this view shows that place.',
        released='what it has let go is {variant}. The {target} lies where it was first, if this '
        'view shows that place.',
    ),
    Operator.EMPTY_GRASP: Branches(
        always='there is nothing between the fingers.',
        approaching='move the {target}, and whatever else lies between the fingers or in their '
        'path, sideways out of the path.',
        held='take it away without a change of pose or opening of the gripper, and redraw only '
        'fingers, background, shadows and reflections there. The {target} is where the episode '
        'first had it, if this view shows that place.',
        released='the {target} was never brought: it is where the episode first had it, and its '
        'place at the goal is empty.',
    ),
    Operator.NON_RELEASE: Branches(
        always='the robot still holds the {target}.',
        approaching='put the same {target} back between the fingers as they are in this image, '
        'and take the released one away so that there is one of it.',
        held='leave it there, the same in kind and looks.',
        released='put the same {target} back between the fingers as they are in this image, and '
        'take the released one away so that there is one of it.',
    ),
    Operator.TARGET_REPLACEMENT: Branches(
        always='the {target}, and nothing else, is replaced by {variant}: about as large in the '
        'image, at the same place, supported or held the same way, hidden by the same things, '
        'but clearly of another kind and outline. All other things stay.',
    ),
    Operator.FOREGROUND_OCCLUSION: Branches(
        always='{variant} is close to the camera, in front of where the robot and the {target} '
        'meet. It may hide part of them, never the whole image. What it hides is not redrawn.',
    ),
    Operator.BACKGROUND_CHANGE: Branches(
        always='away from where the robot works, {variant}. Make no other change.',
    ),
    Operator.DISTRACTOR_CHANGE: Branches(
        always='{variant}. It is in the background or at the side, never next to the gripper or '
        'the {target}. Nothing that the task needs may go.',
    ),
    Operator.NON_TARGET_COLOUR: Branches(
        always='{variant}, a small and natural change of colour. Nothing comes, goes, moves or '
        'turns, and the {target} keeps its colour.',
    ),
}

_THINGS = (
    'a yellow rubber duck',
    'a green glass bottle',
    'a red tape dispenser',
    'a blue toy car',
    'a white tennis shoe',
    'a purple sponge',
    'an orange pumpkin',
    'a black computer mouse',
)
_VARIANTS = {
    Operator.WRONG_OBJECT: _THINGS,
    Operator.TARGET_REPLACEMENT: _THINGS,
    Operator.FOREGROUND_OCCLUSION: (
        "a person's hand in a grey sleeve",
        'a plain cardboard panel',
        'a wooden board',
        'a hanging fold of dark blue cloth',
    ),
    Operator.BACKGROUND_CHANGE: (
        'the wall has a slightly warmer tone',
        'the far edge of the table shows a light grain of wood',
        'the floor is a little darker',
        'the wall has a faint vertical stripe',
    ),
    Operator.DISTRACTOR_CHANGE: (
        'one small potted plant stands at the far side of the scene',
        'one folded newspaper lies at the far side of the scene',
        'one grey stapler and one roll of string lie at the far side of the scene',
        'the one thing farthest from the gripper that the task does not need is gone',
    ),
    Operator.NON_TARGET_COLOUR: (
        'the largest movable thing that the task does not need is a little bluer',
        'the largest movable thing that the task does not need is a little greener',
        'the largest movable thing that the task does not need is a little darker',
    ),
}


def draw_variant(operator: Operator, instruction: str, seed: int) -> str:
    """Return with what an operator changes a trajectory, '' where it needs nothing.

    A thing that shares a word with the instruction, its colour included, is left out: it could be
    taken for what the task is about.

    Args:
        operator: What is done.
        instruction: Sentence of the episode, any case.
        seed: The same seed draws the same.
    """
    variants = _VARIANTS.get(operator)
    if variants is None:
        return ''
    named = set(instruction.lower().replace('_', ' ').split())
    free = variants
    if variants is _THINGS:
        free = tuple(v for v in variants if not named & set(v.split()[1:])) or variants
    return free[int(np.random.default_rng(seed).integers(len(free)))]
