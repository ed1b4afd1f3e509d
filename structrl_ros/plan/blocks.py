"""The think and answer blocks of a model's text: REVER's format reward and where the plan stands.

`R_format` is 1 only for exactly one think block that says something, followed by exactly one
answer block, with nothing but white space around and between them (REVER, Section III-B1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from structrl_ros.errors import PlanSyntaxError

_TAG = re.compile(r'<(/?)(think|answer)>')
_TEMPLATE = ('<think>', '</think>', '<answer>', '</answer>')


@dataclass(frozen=True, slots=True)
class Blocks:
    """Parts of a text: reasoning (None without a think block), body with the plan, its offset."""

    reasoning: str | None
    body: str
    offset: int
    format: int


def format_reward(text: str, *, prefilled: str = '') -> float:
    """Return REVER's R_format of a whole answer, 0 or 1; no text raises.

    Args:
        text: What the model wrote.
        prefilled: What the chat template had written before it, often '<think>'; it counts as
            part of the answer.
    """
    whole = prefilled + text
    tags = list(_TAG.finditer(whole))
    if tuple(t.group() for t in tags) != _TEMPLATE:
        return 0.0
    around = (whole[: tags[0].start()], whole[tags[1].end() : tags[2].start()])
    inside = (whole[tags[0].end() : tags[1].start()], whole[tags[2].end() : tags[3].start()])
    is_template = not any(a.strip() for a in (*around, whole[tags[3].end() :]))
    return float(is_template and all(i.strip() for i in inside))


def split_blocks(text: str) -> Blocks:
    """Return the think block and the text in which the plan is to be looked for.

    That is the inside of the answer block if there is one, else the whole text but for the think
    block. A closing think tag alone ends a block that the chat template had opened.

    Raises:
        PlanSyntaxError: If a block is repeated, nested in another or not closed.
    """
    think = _span(text, 'think')
    answer = _span(text, 'answer')
    reasoning = None if think is None else text[think[0] : think[1]].strip()
    grade = int(format_reward(text))
    if answer is None:
        return Blocks(reasoning, _without(text, think), 0, grade)
    if think is not None and max(think[0], answer[0]) < min(think[1], answer[1]):
        raise PlanSyntaxError('the think and answer blocks are nested', position=answer[0])
    return Blocks(reasoning, text[answer[0] : answer[1]], answer[0], grade)


def _without(text: str, think: tuple[int, int] | None) -> str:
    """Return the text with spaces in place of the think block, so that positions stay."""
    if think is None:
        return text
    start = max(0, think[0] - len('<think>'))
    end = think[1] + len('</think>')
    return text[:start] + ' ' * (end - start) + text[end:]


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Return start and end of the inside of a block, None without any of its tags."""
    opened, closed = f'<{name}>', f'</{name}>'
    for tag in (opened, closed):
        if text.count(tag) > 1:
            second = text.index(tag, text.index(tag) + 1)
            raise PlanSyntaxError(f'{tag} stands more than once; one block only', position=second)
    start, end = text.find(opened), text.find(closed)
    if start < 0 and end < 0:
        return None
    if start < 0 and name == 'think':
        return 0, end
    if start < 0 or end < start:
        at = max(start, end)
        raise PlanSyntaxError(f'{opened} and {closed} do not form a block', position=at)
    return start + len(opened), end
