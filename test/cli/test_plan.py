"""structrl plan: a plan as a table, and one line for what is wrong."""

import json

import pytest
from chat_server import ChatServer
from chat_server import chat
from PIL import Image
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import PlanSyntaxError

SENTENCE = 'put the alphabet soup in the basket'
SCENE = ('--objects', 'alphabet soup, basket')


def call(*words):
    done = CliRunner().invoke(app, ['plan', *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def openai(server):
    return [
        'planner:=openai',
        f'openai_base_url:={server.url}',
        'openai_model:=tiny',
        'openai_retries:=0',
    ]


def test_plan_of_the_rules_is_a_table_with_a_row_a_step():
    rows = [
        line for line in call(SENTENCE, *SCENE).splitlines() if 'basket' in line or '│' in line
    ]
    assert SENTENCE in rows[0]
    assert [[cell.strip() for cell in row.strip('│').split('│')] for row in rows[1:]] == [
        ['1', 'grasp alphabet soup', 'grasp', 'alphabet soup'],
        ['2', 'place alphabet soup in basket', 'place', 'alphabet soup, basket'],
    ]


def test_model_gets_the_picture_and_its_reasoning_and_second_answer_are_told(tmp_path):
    picture = tmp_path / 'head.png'
    Image.new('L', (20, 10)).save(picture)
    good = {'reasoning': 'Soup [bold] first.', 'stages': [['grasp alphabet soup']]}
    with ChatServer(chat('no plan'), chat(json.dumps(good))) as server:
        told = call(SENTENCE, *openai(server), *SCENE, '--picture', str(picture))
        contents = [body['messages'][1]['content'] for _, _, body in server.requests]
    assert 'reasoning: Soup [bold] first.' in told
    assert 'valid was answer 2' in told
    assert '(openai:tiny)' in told
    assert [[part['type'] for part in content] for content in contents] == [
        ['text', 'image_url'],
        ['text', 'image_url'],
    ]


def test_model_that_gives_no_plan_is_one_line():
    with ChatServer(chat('no plan')) as server:
        with pytest.raises(PlanSyntaxError, match='gave no valid plan in 3 answers'):
            call(SENTENCE, *openai(server), *SCENE)
        url = server.url
    with pytest.raises(PlannerUnavailableError, match=url):
        call(SENTENCE, *openai(server), *SCENE)


@pytest.mark.parametrize(
    ('words', 'match'),
    [
        (['planner:=local'], "parameter 'model' must be given"),
        (['planner:=magic'], 'allowed: rules, openai, local'),
        (['planer:=rules'], "unknown parameter 'planer'"),
        (['--picture', __file__], 'is no image'),
        (['--picture', 'a'] * 4, 'head, left_wrist, right_wrist'),
    ],
)
def test_wrong_word_is_one_line(words, match):
    with pytest.raises(ParameterError, match=match):
        call(SENTENCE, *words)


def test_sentence_that_names_nothing_lists_the_scene():
    with pytest.raises(PlanSyntaxError, match='in the scene: alphabet soup, basket'):
        call('put the dragon in the basket', *SCENE)
