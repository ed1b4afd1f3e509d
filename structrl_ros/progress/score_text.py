"""Reading the GRM's answer: one strict rule, and an error rather than 0 for anything else.

The answer of a progress model is `<score>+NN%</score>`. The rule:

- The text holds exactly one score block; a repeated or nested block is an error, because taking
  the last one would let a model contradict itself.
- Inside, spaces aside: an optional sign (`+`, `-` or U+2212), digits with an optional decimal
  part, an optional `%`.
- The number is in [-100, 100]. Nothing else is a score: no words, no `N/A`, no bare number
  without the tags.
"""

from __future__ import annotations

import re

from structrl_ros.errors import StructRLError
from structrl_ros.progress.hop import LABEL_SCALE

#: Longest answer that is read, in characters.
MAX_CHARACTERS = 200_000

_BLOCK = re.compile(r'<score>([^<>]{0,64})</score>')
_TAG = re.compile(r'</?score>')
_NUMBER = re.compile('\\s*([+\\-\N{MINUS SIGN}]?)\\s*([0-9]{1,3}(?:\\.[0-9]{1,12})?)\\s*%?\\s*')


class ScoreTextError(StructRLError):
    """The text of a progress model holds no score; it is no prediction, and never 0."""


def parse_score(text: str) -> float:
    """Return the normalised hop in [-1, 1] that a progress model's text states.

    Robo-Dopamine 2.0, Eq. 9 and 12: the stated per cent divided by 100.

    Args:
        text: The model's whole answer.

    Raises:
        ScoreTextError: If the text does not hold exactly one score in [-100, 100] %.
    """
    if len(text) > MAX_CHARACTERS:
        raise ScoreTextError(f'answer of {len(text)} characters; at most {MAX_CHARACTERS}')
    blocks = _BLOCK.findall(text)
    if len(blocks) != 1 or len(_TAG.findall(text)) != 2:
        raise ScoreTextError(
            f'answer must hold exactly one <score>...</score>, got {len(blocks)} whole blocks '
            f'and {len(_TAG.findall(text))} tags'
        )
    number = _NUMBER.fullmatch(blocks[0])
    if number is None:
        raise ScoreTextError(f'score must be a number like +33%, got {blocks[0]!r}')
    sign = -1.0 if number[1] in ('-', '\N{MINUS SIGN}') else 1.0
    value = sign * float(number[2])
    if abs(value) > LABEL_SCALE:
        raise ScoreTextError(f'score must be in [-100, 100] %, got {value:g}')
    return value / LABEL_SCALE


def write_score(hop: float) -> str:
    """Return the text that states a normalised hop, in whole per cent; `parse_score` reads it.

    Raises:
        ScoreTextError: If the hop is not in [-1, 1].
    """
    if not -1.0 <= hop <= 1.0:
        raise ScoreTextError(f'hop must be in [-1, 1], got {hop:g}')
    return f'<score>{round(LABEL_SCALE * hop):+d}%</score>'
