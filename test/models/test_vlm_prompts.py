"""What models are asked, word for word: a changed prompt is a new version, never the same one."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from structrl_ros.models.vlm import questions
from structrl_ros.models.vlm.questions import PLAN_FORMS
from structrl_ros.models.vlm.questions import plan_messages
from structrl_ros.models.vlm.questions import plan_pattern
from structrl_ros.models.vlm.questions import plan_schema
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import verify_messages
from structrl_ros.models.vlm.questions import with_reasoning
from structrl_ros.plan.parse import parse_plan
from structrl_ros.types import FailedAttempt
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask

PROMPTS = Path(questions.__file__).parent / 'prompts'
#: First 12 digits of the SHA-256 of each version; a line is added for a new one, none changes.
PUBLISHED = {
    'choose_letter_v1': 'f82ca3deb624',
    'choose_v1': 'ab04cd2f4779',
    'plan_v1': 'b8e41ce62404',
    'plan_blocks_v1': '0186798927a8',
    'plan_brief_v1': 'b19801710b87',
    'replan_v1': '91816f50ed86',
    'verify_v1': '44ae45b77c6e',
    'verify_word_v1': '07ca121f01ad',
}
STEPS = (
    Subtask('grasp(soup)', 'grasp soup', 'grasp', ('soup',), 0),
    Subtask('place(soup, basket)', 'place soup in basket', 'place', ('soup', 'basket'), 1),
)
PICTURE = {'type': 'image'}


def test_published_prompts_are_what_they_were():
    found = {
        p.stem: hashlib.sha256(p.read_bytes()).hexdigest()[:12] for p in PROMPTS.glob('*.txt')
    }
    assert {name: found.get(name) for name in PUBLISHED} == PUBLISHED


def test_plan_question_word_for_word():
    seen = Observation(1, 1, images={'head': np.zeros((2, 2, 3), np.uint8)})
    request = PlanRequest('tidy up', ('soup', 'basket'), seen)
    messages = plan_messages(request, read_prompt('plan_v1'), read_prompt('replan_v1'), [PICTURE])
    assert messages == [
        {'role': 'system', 'content': read_prompt('plan_v1')},
        {
            'role': 'user',
            'content': [
                {'type': 'text', 'text': 'Instruction: tidy up\nIn the scene: soup, basket'},
                PICTURE,
            ],
        },
    ]


def test_replan_question_word_for_word_after_rejected_answers():
    failed = FailedAttempt(Plan(1, 2, 'tidy up', STEPS), 1, 'not done within $15 {s}')
    request = PlanRequest('tidy up', None, None, failed, (('[]', 'no step found'),))
    messages = plan_messages(request, 'You plan.', read_prompt('replan_v1'), [])
    assert messages[1]['content'][0]['text'] == (
        'Instruction: tidy up\n'
        'Your plan was: 1. grasp soup; 2. place soup in basket\n'
        'Step 2 failed: not done within $15 {s}.\n'
        'Plan again from the scene as it is now; list only what is left to do.'
    )
    assert messages[2:] == [
        {'role': 'assistant', 'content': '[]'},
        {
            'role': 'user',
            'content': 'That is no valid plan: no step found. Answer again, with a valid one.',
        },
    ]


def test_verify_question_word_for_word_with_what_stays_first():
    start, now = {'type': 'image', 'at': 'start'}, {'type': 'image', 'at': 'now'}
    system, user = verify_messages(STEPS[0], read_prompt('verify_word_v1'), [start], [now])
    assert system['content'].endswith('Answer with one word and nothing else: True or False')
    assert user['content'] == [
        {'type': 'text', 'text': 'Step: grasp soup'},
        {'type': 'text', 'text': 'When the step began:'},
        start,
        {'type': 'text', 'text': 'Now:'},
        now,
    ]


@pytest.mark.parametrize(
    ('step', 'fits'),
    [
        ('grasp alphabet soup', True),
        ('place alphabet soup in basket', True),
        ('pour soup into basket', True),
        ('turn off basket', True),
        ('grasp dragon', False),
        ('place alphabet soup basket', False),
        ('grasp alphabet soup quickly', False),
        ('You plan for a single robot arm', False),
    ],
)
def test_schema_of_a_scene_takes_the_steps_that_the_parser_takes(step, fits):
    scene = ('alphabet_soup_1', 'basket')
    stages = plan_schema(scene)['properties']['stages']
    assert bool(re.fullmatch(stages['items']['items']['pattern'], step)) == fits
    if fits:
        assert parse_plan(json.dumps([step]), objects=(*scene, 'soup', 'alphabet soup')).steps


@pytest.mark.parametrize(
    ('text', 'fits'),
    [
        ('<think>So "it" is:\nsoup.</think>\n<answer>\n1. grasp soup\n</answer>', True),
        ('<think>x</think><answer>1. grasp soup\n2. place soup in basket\n</answer>', True),
        ('<think>x</think><answer>1. grasp dragon\n</answer>', False),
        ('<think>x</think><answer></answer>', False),
        ('<think></think><answer>1. grasp soup\n</answer>', False),
        ('<think>x<think></think><answer>1. grasp soup\n</answer>', False),
        ('1. grasp soup', False),
    ],
)
def test_blocks_take_what_the_parser_takes_in_the_format_that_is_rewarded(text, fits):
    pattern = plan_pattern(('soup', 'basket'), reasoning_characters=30, max_steps=2)
    assert bool(re.fullmatch(pattern, text)) == fits
    if fits:
        assert parse_plan(text, objects=('soup', 'basket')).format == 1


def test_every_prompt_for_plans_has_a_form():
    assert set(PLAN_FORMS) == {p.stem for p in PROMPTS.glob('plan_*.txt')}


def test_schema_without_a_scene_has_no_pattern_and_servers_get_plain_types():
    assert plan_schema() == plan_schema(None)
    assert 'pattern' not in json.dumps(plan_schema())
    assert 'pattern' not in json.dumps(plan_schema(('"', '\\d+')))
    small = plan_schema((), reasoning_characters=7, max_steps=2)['properties']
    assert small['stages']['maxItems'] == small['stages']['items']['maxItems'] == 2
    assert re.fullmatch(small['reasoning']['pattern'], 'so: 7!')
    for text in ('eight ch', '', 'a\nb', 'a"b', 'a\\b', 'a\x04'):
        assert not re.fullmatch(small['reasoning']['pattern'], text)


@pytest.mark.parametrize(
    ('text', 'reasoning'),
    [
        ('{"reasoning": "2 < 3", "stages": [["grasp soup"]]}', '2 < 3'),
        ('{"reasoning": " ", "stages": [["grasp soup"]]}', None),
        ('{"stages": [["grasp soup"]]}', None),
    ],
)
def test_reasoning_of_an_answer_is_kept(text, reasoning):
    assert parse_plan(with_reasoning(text)).reasoning == reasoning


@pytest.mark.parametrize('text', ['no JSON', '[1]', '{"reasoning": "<think>", "stages": []}'])
def test_answer_without_plain_reasoning_stays_as_it_is(text):
    assert with_reasoning(text) == text
