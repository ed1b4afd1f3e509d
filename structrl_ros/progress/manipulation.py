"""What an instruction is about: primitives, target, colour (Robo-Dopamine 2.0, Appendix A).

The paper names the seven primitives and what its parser keeps, not its words; those are
of `structrl_ros.verbs`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from structrl_ros.errors import ParameterError
from structrl_ros.naming import fold
from structrl_ros.verbs import one_of
from structrl_ros.verbs import words_of


class Primitive(StrEnum):
    """The seven manipulation primitives."""

    GRASP_LIFT = 'grasp-lift'
    PLACE_TRANSFER = 'place-transfer'
    OPEN = 'open'
    CLOSE = 'close'
    TOGGLE_ON = 'toggle-on'
    TOGGLE_OFF = 'toggle-off'
    PUSH_MOVE = 'push-move'


_PRIMITIVES = words_of(
    {
        'take': Primitive.GRASP_LIFT,
        'place': Primitive.PLACE_TRANSFER,
        'open': Primitive.OPEN,
        'close': Primitive.CLOSE,
        'turn on': Primitive.TOGGLE_ON,
        'press': Primitive.TOGGLE_ON,
        'turn off': Primitive.TOGGLE_OFF,
        'push': Primitive.PUSH_MOVE,
        'move': Primitive.PUSH_MOVE,
        'rotate': Primitive.PUSH_MOVE,
    }
)
_WORDS = one_of(_PRIMITIVES)
_ACTION = re.compile(rf'\b(?:{_WORDS})\b')
#: "and", "then" or a comma before an action: another step begins.
_NEXT = re.compile(rf'(?:\s*(?:,|;|\band\b|\bthen\b)\s*)+(?=(?:{_WORDS})\b)')
#: Where the target ends and its surroundings begin.
_RELATION = re.compile(
    r'\b(?:into|onto|inside|in|on|to|from|of|off|out|under|above|behind|between|next to|near|with'
    r'|at)\b'
)
_MANY = re.compile(r'\b(?:both|all|each|every|two|three|four)\b|,|\band\b')
_NUMBERS = re.compile(r'^(?:both|all|each|every|two|three|four)\s+')
_COLOUR = re.compile(
    r'\b(?:red|green|blue|yellow|orange|purple|pink|black|white|brown|gr[ae]y|silver|gold)\b'
)
_PRONOUNS = frozenset({'it', 'them'})


@dataclass(frozen=True, slots=True)
class Manipulation:
    """An instruction as the operators see it.

    Attributes:
        instruction: Lower case, no articles, white space folded.
        primitives: In the order they are done; placing an object that was not grasped before
            begins with a grasp.
        target: Phrase of the first object acted on, '' if there is none.
        has_many_objects: Several objects may rightly be the target.
        is_multi_stage: It has subgoals of different things; to grasp and place one is no two.
        target_colour: Colour word of the target, '' if the instruction names none.
    """

    instruction: str
    primitives: tuple[Primitive, ...]
    target: str
    has_many_objects: bool
    is_multi_stage: bool
    target_colour: str


def parse_manipulation(instruction: str) -> Manipulation:
    """Normalise an instruction, and find its primitives and its target (Appendix A).

    The target is what follows the first action, up to a relation such as "into" or "next to".

    Raises:
        ParameterError: If no word of the instruction is an action.
    """
    text = fold(instruction)
    first = _ACTION.search(text)
    if first is None:
        raise ParameterError(
            f'instruction {instruction!r}: no action in it; allowed: {", ".join(_PRIMITIVES)}'
        )
    primitives: list[Primitive] = []
    goals = 0
    objects: list[str] = []
    for step in _NEXT.split(text[first.start() :]):
        action = _ACTION.match(step)
        assert action is not None  # _NEXT splits before an action only
        primitive = Primitive(_PRIMITIVES[action.group()])
        phrase = _RELATION.split(step[action.end() :], maxsplit=1)[0].strip(' ,;')
        is_held = primitives[-1:] == [Primitive.GRASP_LIFT] and phrase in {*_PRONOUNS, *objects}
        if primitive == Primitive.PLACE_TRANSFER and not is_held:
            primitives.append(Primitive.GRASP_LIFT)
        goals += not (primitive == Primitive.PLACE_TRANSFER and is_held)
        if primitives[-1:] != [primitive]:
            primitives.append(primitive)
        if phrase not in _PRONOUNS:
            objects.append(phrase)
    colour = _COLOUR.search(objects[0])
    return Manipulation(
        instruction=text,
        primitives=tuple(primitives),
        target=_NUMBERS.sub('', objects[0]),
        has_many_objects=any(_MANY.search(phrase) for phrase in objects),
        is_multi_stage=goals > 1,
        target_colour=colour.group() if colour else '',
    )
