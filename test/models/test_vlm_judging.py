"""From a model's answer to a judgement: chances of two words, or an object."""

import math

import pytest

from structrl_ros.errors import AnswerError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.judging import judgement
from structrl_ros.models.vlm.judging import judgement_of_tokens
from structrl_ros.models.vlm.judging import read_judgement


def test_confidence_is_the_share_of_the_answer_and_the_threshold_decides():
    yes = judgement(2.0, 0.0, 0.5, 'x')
    assert yes.done
    assert yes.confidence == pytest.approx(1 / (1 + math.exp(-2)))
    no = judgement(2.0, 0.0, 0.9, 'x')
    assert not no.done
    assert no.confidence == pytest.approx(1 - yes.confidence)
    assert judgement(-2000.0, 2000.0, 0.5, 'x').confidence == 1.0
    with pytest.raises(PlannerUnavailableError, match='not finite'):
        judgement(math.nan, 0.0, 0.5, 'x')


def chances(**tokens):
    return {token.replace('_', ' '): math.log(chance) for token, chance in tokens.items()}


def test_tokens_of_one_word_count_together_and_others_not_at_all():
    tokens = chances(True_=0.0001, true=0.2, T=0.1, False_=0.05, F=0.05, Maybe=0.5)
    told = judgement_of_tokens({**tokens, ' True': math.log(0.2)}, 0.5, 'x')
    assert told.done
    assert told.confidence == pytest.approx(0.5001 / 0.6001)
    no = judgement_of_tokens(tokens, 0.9, 'x')
    assert not no.done
    assert no.confidence == pytest.approx(0.1 / 0.4001, abs=1e-3)


def test_word_that_is_not_among_the_likeliest_counts_as_less_likely_than_they():
    sure = judgement_of_tokens(chances(True_=0.9, Yes=0.01), 0.5, 'x')
    assert sure.done
    assert 0.9999 < sure.confidence < 1.0
    assert not judgement_of_tokens(chances(false=0.5), 0.5, 'x').done


def test_answer_without_either_word_is_an_error_that_quotes_it():
    with pytest.raises(AnswerError, match="answered 'Yes', '\\*', ''; allowed: True or False"):
        judgement_of_tokens(chances(Yes=0.9) | {'*': -3.0, '': -4.0}, 0.5, 'x')
    with pytest.raises(AnswerError, match='answered nothing'):
        judgement_of_tokens({}, 0.5, 'x')


@pytest.mark.parametrize(
    'text',
    [
        'True',
        '',
        '{}',
        '[]',
        '{"done": "yes", "confidence": 1}',
        '{"done": true}',
        '{"done": true, "confidence": 2}',
        '{"done": true, "confidence": NaN}',
        '{"done": true, "confidence": true}',
    ],
)
def test_answer_that_is_no_judgement_is_an_error(text):
    with pytest.raises(PlannerUnavailableError, match='the monitor answered'):
        read_judgement(text)
