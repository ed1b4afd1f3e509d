"""Text to plan: golden cases, the corpus of odd texts, peers' faults, bounds in time."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.plan.blocks import format_reward
from structrl_ros.plan.grammar import ARITY
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.grammar import parse_phrase
from structrl_ros.plan.grammar import render_step
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan

HERE = Path(__file__).parent
CORPUS = json.loads((HERE / 'corpus.json').read_text())['cases']
GOLDEN = json.loads((HERE.parent / 'golden' / 'parse_plan.json').read_text())['cases']
PLAN = '["grasp cup", "place cup on table"]'


def _as_document(parsed):
    steps = [{'action': s.action, 'objects': list(s.objects)} for s in parsed.steps]
    return {
        'steps': steps,
        'format': parsed.format,
        'stages': [list(s) for s in parsed.stages],
    }


def _ids(case):
    return case['name']


@pytest.mark.parametrize('case', GOLDEN, ids=_ids)
def test_golden_case_gives_expected_plan_or_error(case):
    if 'error' in case['expected']:
        with pytest.raises(PlanSyntaxError):
            parse_plan(**case['input'])
    else:
        assert _as_document(parse_plan(**case['input'])) == case['expected']


@pytest.mark.parametrize('case', CORPUS, ids=_ids)
def test_corpus_text_gives_expected_plan_or_error(case):
    options = {k: case[k] for k in ('objects', 'max_steps') if k in case}
    if 'error' in case:
        with pytest.raises(PlanSyntaxError) as caught:
            parse_plan(case['text'], **options)
        assert case['error'] in str(caught.value)
        assert '\n' not in str(caught.value)
        position = caught.value.position
        assert position is None or 0 <= position <= len(case['text'])
    else:
        expected = {k: case[k] for k in ('steps', 'format', 'stages')}
        assert _as_document(parse_plan(case['text'], **options)) == expected


def test_corpus_holds_at_least_sixty_texts():
    assert len(CORPUS) >= 60
    assert sum('error' in c for c in CORPUS) >= 40


def test_leading_space_keeps_the_format():
    assert format_reward(f' <think>x</think><answer>{PLAN}</answer>') == 1.0


def test_prefilled_think_tag_counts_as_part_of_the_answer():
    text = f'x</think><answer>{PLAN}</answer>'
    assert format_reward(text) == 0.0
    assert format_reward(text, prefilled='<think>\n') == 1.0


def test_empty_think_block_earns_no_format():
    assert format_reward(f'<think></think><answer>{PLAN}</answer>') == 0.0


def test_think_block_without_answer_earns_no_format():
    assert format_reward('<think></think>') == 0.0
    assert format_reward('<think>x</think>' + PLAN) == 0.0


def test_doubled_closing_tag_earns_no_format():
    assert format_reward(f'<think>x</think></think><answer>{PLAN}</answer>') == 0.0


def test_reasoning_is_the_think_block():
    assert parse_plan(f'<think> the cup </think><answer>{PLAN}</answer>').reasoning == 'the cup'
    assert parse_plan(f'the cup</think><answer>{PLAN}</answer>').reasoning == 'the cup'
    assert parse_plan(PLAN).reasoning is None


def test_error_points_at_the_fault():
    text = 'grasp cup\n- fly to moon'
    with pytest.raises(PlanSyntaxError, match='step 2') as caught:
        parse_plan(text)
    assert text[caught.value.position :].startswith('- fly')
    broken = '<answer>["grasp cup",]</answer>'
    with pytest.raises(PlanSyntaxError) as caught:
        parse_plan(broken)
    assert broken[caught.value.position] == ']'


@pytest.mark.parametrize('count', [0, -1, 1.5, True, None])
def test_bad_limit_of_steps_is_a_parameter_error(count):
    with pytest.raises(ParameterError, match='max_steps'):
        parse_plan(PLAN, max_steps=count)


@pytest.mark.parametrize(
    'text',
    [
        'x' * 10_000_000,
        '[' * 10_000_000,
        '[' * 199_999,
        '{"plan":' * 20_000,
        '```' * 60_000,
        '<answer>' * 20_000,
        'grasp cup\n' * 19_000,
        '[' + '1' * 150_000 + ']',
        '"' * 199_999,
        '<think>' + 'the a an ' * 20_000,
        'grasp ' + '.' * 190_000,
        'place ' + 'in ' * 60_000,
    ],
    ids=str.__len__,
)
def test_long_text_is_refused_in_bounded_time(text):
    start = time.process_time()
    with pytest.raises(PlanSyntaxError):
        parse_plan(text)
    assert time.process_time() - start < 2.0


def test_repeated_steps_get_unique_ids_and_keep_their_phrases():
    pot = ['grasp moka pot', 'place moka pot on stove', 'Grasp the moka_pot']
    subtasks = to_plan(parse_plan(json.dumps([*pot, pot[1]])))
    assert [s.id for s in subtasks] == [
        'grasp(moka pot)',
        'place(moka pot, stove)',
        'grasp(moka pot)#2',
        'place(moka pot, stove)#2',
    ]
    assert subtasks[1].phrase == 'place moka pot on stove'
    assert [s.stage for s in subtasks] == [0, 1, 2, 3]


NAMES = st.sampled_from(['cup', 'red cup', 'caf\u00e9 tasse', 'drawer 2'])
STEPS = st.sampled_from(sorted(ARITY)).flatmap(
    lambda verb: st.tuples(*[NAMES] * ARITY[verb]).map(lambda things: Step(verb, things))
)


@given(STEPS)
def test_rendered_step_parses_to_itself(step):
    assert parse_phrase(render_step(step)) == step


@given(st.lists(STEPS, min_size=1, max_size=8))
def test_plan_survives_json_lines_and_objects(steps):
    phrases = [render_step(s) for s in steps]
    objects = [{'action': s.action, 'objects': list(s.objects)} for s in steps]
    for text in (json.dumps(phrases), '\n'.join(phrases), json.dumps({'plan': objects})):
        assert list(parse_plan(text).steps) == steps


PIECES = st.sampled_from(
    ['<think>', '</think>', '<answer>', '</answer>', '```', '```json\n', '[', ']', '{', '}', '"',
     '"plan":', '"stages":', ',', ':', 'grasp cup', 'place a in b', '\n', '1. ', '- ', ' ', 'NaN',
     '\\u0000', '\x07', 'for a while', 'null', '1e999']
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=14).map(''.join))


def _check_any_text(text, objects):
    try:
        parsed = parse_plan(text, objects=objects)
    except PlanSyntaxError as error:
        assert str(error)
        assert error.position is None or 0 <= error.position <= len(text)
    else:
        assert 1 <= len(parsed.steps) <= 20
        assert sorted(i for s in parsed.stages for i in s) == list(range(len(parsed.steps)))
        assert len({s.id for s in to_plan(parsed)}) == len(parsed.steps)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.none() | st.lists(st.text(max_size=5), max_size=3))
def test_any_text_gives_a_plan_or_a_plan_error(text, objects):
    _check_any_text(text, objects)


@pytest.mark.slow
@settings(max_examples=20_000, deadline=None)
@given(TEXTS, st.none() | st.lists(st.text(max_size=5), max_size=3))
def test_twenty_thousand_texts_give_a_plan_or_a_plan_error(text, objects):
    _check_any_text(text, objects)
