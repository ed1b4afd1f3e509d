"""From what a model answers to a judgement: the chances of True and False, or a JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from structrl_ros.errors import AnswerError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.questions import WORDS
from structrl_ros.types import Judgement


def judgement(is_true: float, is_false: float, threshold: float, name: str) -> Judgement:
    """Return the judgement of the logits, or logarithms of the chances, of both answers.

    The confidence is the probability of the answer among the two.

    Raises:
        PlannerUnavailableError: If one is not finite.
    """
    if not math.isfinite(is_true - is_false):
        raise PlannerUnavailableError(f'model {name}: its logits are not finite')
    probability = 1.0 / (1.0 + math.exp(min(is_false - is_true, 700.0)))
    done = probability >= threshold
    return Judgement(done, probability if done else 1.0 - probability)


def judgement_of_tokens(tokens: Mapping[str, float], threshold: float, name: str) -> Judgement:
    """Return the judgement of the likeliest first tokens of a one-word answer.

    A token stands for the word that it begins, as ' True' or 'T'; those of one word count
    together. A word of which no token is among them counts as less likely than any that is.

    Args:
        tokens: Tokens with the logarithms of their chances.
        threshold: Probability of True from which the step is done.
        name: The model, for errors.

    Raises:
        AnswerError: If no token begins either word.
    """
    chances = dict.fromkeys(WORDS, 0.0)
    for token, logarithm in tokens.items():
        bare = token.strip()
        for word in WORDS:
            if bare and word.lower().startswith(bare.lower()):
                chances[word] += math.exp(min(logarithm, 0.0))
    if not any(chances.values()):
        said = ', '.join(repr(t) for t in list(tokens)[:5]) or 'nothing'
        raise AnswerError(f'the monitor answered {said}; allowed: {" or ".join(WORDS)}')
    least = math.exp(min((*tokens.values(), 0.0)))
    is_true, is_false = (math.log(max(chances[w], least * 1e-3, 1e-300)) for w in WORDS)
    return judgement(is_true, is_false, threshold, name)


def read_judgement(text: str) -> Judgement:
    """Read {"done": bool, "confidence": number in [0, 1]}.

    Raises:
        AnswerError: If the text is anything else.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    done = answer.get('done') if isinstance(answer, dict) else None
    confidence = answer.get('confidence') if isinstance(answer, dict) else None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        confidence = math.nan
    if not isinstance(done, bool) or not 0 <= confidence <= 1:
        said = ' '.join(text.split())[:80]
        allowed = '{"done": true or false, "confidence": 0 to 1}'
        raise AnswerError(f'the monitor answered {said!r}; allowed: {allowed}')
    return Judgement(done, float(confidence))
