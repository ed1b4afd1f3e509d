"""Planner and monitor against a real HTTP server that refuses, hangs, errs and answers."""

import base64
import io
import json
import socket
import time

import numpy as np
import pytest
from chat_server import ChatServer as Server
from chat_server import chat

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import StaleDataError
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.openai_client import OpenAIMonitor
from structrl_ros.models.vlm.openai_client import OpenAIPlanner
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
from structrl_ros.types import FailedAttempt
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import PlanRequest

PLAN = json.dumps(
    {'reasoning': 'Soup first.', 'stages': [['grasp soup'], ['place soup in basket']]}
)
IMAGE = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
SEEN = Observation(1, 1, images={'head': IMAGE})
REQUEST = PlanRequest('put the soup in the basket', ('soup', 'basket'), SEEN)


def settings(url, **more):
    return ChatSettings(
        base_url=url, model='tiny', **{'timeout_s': 0.3, 'backoff_s': 0.01, 'retries': 2, **more}
    )


def closed_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return f'http://127.0.0.1:{s.getsockname()[1]}/v1'


def test_both_are_of_their_ports_and_name_their_model():
    planner, monitor = (
        OpenAIPlanner(settings(closed_port())),
        OpenAIMonitor(settings(closed_port())),
    )
    assert isinstance(planner, Planner)
    assert isinstance(monitor, Monitor)
    assert planner.name == monitor.name == 'openai:tiny'
    planner.close()
    planner.close()


def test_good_answer_is_a_plan_with_its_reasoning():
    with Server(chat(PLAN)) as server:
        parsed = parse_plan(OpenAIPlanner(settings(server.url)).propose(REQUEST))
    assert parsed.reasoning == 'Soup first.'
    assert [s.id for s in to_plan(parsed)] == ['grasp(soup)', 'place(soup, basket)']


def test_request_is_as_the_chat_api_wants_it():
    with Server(chat(PLAN)) as server:
        OpenAIPlanner(settings(server.url), image_format='png').propose(REQUEST)
        ((path, _, body),) = server.requests
    assert path == '/v1/chat/completions'
    url = body['messages'][1]['content'][1]['image_url'].pop('url')
    assert body == {
        'model': 'tiny',
        'temperature': 0,
        'max_tokens': 1024,
        'messages': [
            {'role': 'system', 'content': read_prompt('plan_v1')},
            {
                'role': 'user',
                'content': [
                    {
                        'type': 'text',
                        'text': 'Instruction: put the soup in the basket\n'
                        'In the scene: soup, basket',
                    },
                    {'type': 'image_url', 'image_url': {}},
                ],
            },
        ],
        'response_format': {
            'type': 'json_schema',
            'json_schema': {
                'name': 'plan',
                'strict': True,
                'schema': {
                    'type': 'object',
                    'properties': {
                        'reasoning': {'type': 'string'},
                        'stages': {
                            'type': 'array',
                            'items': {'type': 'array', 'items': {'type': 'string'}},
                        },
                    },
                    'required': ['reasoning', 'stages'],
                    'additionalProperties': False,
                },
            },
        },
    }
    assert url.startswith('data:image/png;base64,')


def test_png_arrives_exactly_and_jpeg_is_smaller():
    from PIL import Image

    picture = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    sent = {}
    for kind in ('png', 'jpeg'):
        with Server(chat(PLAN)) as server:
            seen = Observation(1, 1, images={'head': picture})
            OpenAIPlanner(settings(server.url), image_format=kind).propose(
                PlanRequest('x', None, seen)
            )
            content = server.requests[0][2]['messages'][1]['content']
        sent[kind] = base64.b64decode(content[1]['image_url']['url'].partition(',')[2])
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(sent['png']))), picture)
    assert len(sent['jpeg']) < len(sent['png'])


def test_rejected_answers_go_back_with_their_exact_errors():
    request = PlanRequest('x', None, SEEN, rejected=(('bad text', 'step 1: unknown verb'),))
    with Server(chat(PLAN)) as server:
        OpenAIPlanner(settings(server.url)).propose(request)
        messages = server.requests[0][2]['messages']
    assert [m['role'] for m in messages] == ['system', 'user', 'assistant', 'user']
    assert messages[2]['content'] == 'bad text'
    assert 'step 1: unknown verb' in messages[3]['content']


def test_failed_attempt_is_told_with_its_plan_and_reason():
    steps = to_plan(parse_plan(PLAN))
    failed = FailedAttempt(Plan(1, 1, 'x', steps), 1, 'not done within 30 s')
    with Server(chat(PLAN)) as server:
        OpenAIPlanner(settings(server.url)).propose(PlanRequest('x', None, SEEN, failed))
        said = server.requests[0][2]['messages'][1]['content'][0]['text']
    assert '1. grasp soup; 2. place soup in basket' in said
    assert 'Step 2 failed: not done within 30 s.' in said


def test_blocks_are_asked_for_in_words_alone_and_their_reasoning_is_kept():
    text = '<think>Soup < basket.</think><answer>1. grasp soup</answer>'
    with Server(chat(text)) as server:
        planner = OpenAIPlanner(settings(server.url), prompt='plan_blocks_v1')
        assert parse_plan(planner.propose(REQUEST)).reasoning == 'Soup < basket.'
        body = server.requests[0][2]
    assert 'response_format' not in body
    assert body['messages'][0]['content'] == read_prompt('plan_blocks_v1')


def test_planner_without_cameras_sends_words_only():
    with Server(chat(PLAN)) as server:
        OpenAIPlanner(settings(server.url), roles=()).propose(PlanRequest('x', None, None))
        content = server.requests[0][2]['messages'][1]['content']
    assert [p['type'] for p in content] == ['text']


def test_missing_image_is_said_and_nothing_is_sent():
    with Server(chat(PLAN)) as server:
        with pytest.raises(StaleDataError, match='no image of left_wrist'):
            OpenAIPlanner(settings(server.url), roles=('head', 'left_wrist')).propose(REQUEST)
        assert server.requests == []


def test_refused_connection_names_the_server():
    url = closed_port()
    with pytest.raises(PlannerUnavailableError, match='3 tries') as caught:
        OpenAIPlanner(settings(url)).propose(REQUEST)
    assert f'model tiny at {url}' in str(caught.value)
    assert '\n' not in str(caught.value)


def test_hanging_server_is_given_up_in_bounded_time():
    begun = time.monotonic()
    with Server('hang') as server:
        with pytest.raises(PlannerUnavailableError, match=r'no answer within 0\.3 s'):
            OpenAIPlanner(settings(server.url, retries=1)).propose(REQUEST)
        assert len(server.requests) == 2
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize('status', [429, 500, 503])
def test_status_that_may_pass_is_tried_again_until_the_good_answer(status):
    with Server((status, 'busy'), (status, 'busy'), chat(PLAN)) as server:
        assert parse_plan(OpenAIPlanner(settings(server.url)).propose(REQUEST)).steps
        assert len(server.requests) == 3


def test_status_500_for_ever_ends_with_what_the_server_said():
    with Server((500, 'image input is not supported')) as server:
        with pytest.raises(PlannerUnavailableError, match='HTTP 500: image input is not'):
            OpenAIPlanner(settings(server.url)).propose(REQUEST)
        assert len(server.requests) == 3


@pytest.mark.parametrize('status', [400, 401, 404])
def test_status_that_will_not_pass_is_not_tried_again(status):
    with Server((status, 'no such model')) as server:
        with pytest.raises(PlannerUnavailableError, match=f'HTTP {status}: no such model'):
            OpenAIPlanner(settings(server.url)).propose(REQUEST)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    'body', ['', 'hello', '[]', '{}', '{"choices": []}', '{"choices": [{"message": {}}]}']
)
def test_answer_that_is_no_completion_is_tried_again(body):
    with Server((200, body), chat(PLAN)) as server:
        assert parse_plan(OpenAIPlanner(settings(server.url)).propose(REQUEST)).steps
    with Server((200, body)) as server, pytest.raises(PlannerUnavailableError, match='completion'):
        OpenAIPlanner(settings(server.url, retries=0)).propose(REQUEST)


def test_answer_without_text_is_no_plan():
    null = (200, '{"choices": [{"message": {"content": null}}]}')
    with Server(null) as server, pytest.raises(PlannerUnavailableError, match='holds no text'):
        OpenAIPlanner(settings(server.url, retries=0)).propose(REQUEST)


def test_cut_answer_is_tried_again():
    with Server('cut', chat(PLAN)) as server:
        assert parse_plan(OpenAIPlanner(settings(server.url)).propose(REQUEST)).steps


def test_text_that_is_no_json_reaches_the_parser_unchanged():
    for text in ('I cannot plan.', '["grasp soup",]', '[]', '3'):
        with Server(chat(text)) as server:
            assert OpenAIPlanner(settings(server.url)).propose(REQUEST) == text


def test_key_comes_from_the_environment_and_never_into_errors(monkeypatch):
    monkeypatch.setenv('STRUCTRL_TEST_KEY', 'secret-123')
    with Server((401, 'wrong key secret-123')) as server:
        with pytest.raises(PlannerUnavailableError) as caught:
            OpenAIPlanner(settings(server.url, key_variable='STRUCTRL_TEST_KEY')).propose(REQUEST)
        assert server.requests[0][1]['Authorization'] == 'Bearer secret-123'
    assert 'secret-123' not in str(caught.value)
    assert 'wrong key ***' in str(caught.value)


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv('STRUCTRL_TEST_KEY', raising=False)
    for variable in ('STRUCTRL_TEST_KEY', ''):
        with Server(chat(PLAN)) as server:
            OpenAIPlanner(settings(server.url, key_variable=variable)).propose(REQUEST)
            assert 'Authorization' not in server.requests[0][1]


def test_monitor_compares_start_and_now():
    step = to_plan(parse_plan('grasp soup'))[0]
    now = Observation(2, 1, images={'head': IMAGE[::-1].copy()})
    with Server(chat('{"done": true, "confidence": 0.75}')) as server:
        judgement = OpenAIMonitor(settings(server.url), image_format='png').verify(step, SEEN, now)
        content = server.requests[0][2]['messages'][1]['content']
        schema = server.requests[0][2]['response_format']['json_schema']
    assert (judgement.done, judgement.confidence) == (True, 0.75)
    assert [p.get('text') for p in content if p['type'] == 'text'] == [
        'Step: grasp soup',
        'When the step began:',
        'Now:',
    ]
    pictures = [p['image_url']['url'] for p in content if p['type'] == 'image_url']
    assert len(pictures) == 2
    assert pictures[0] != pictures[1]
    assert schema['schema']['required'] == ['done', 'confidence']


def one_word(*tokens):
    told = [{'token': token, 'logprob': logarithm} for token, logarithm in tokens]
    content = [{'token': tokens[0][0], 'logprob': tokens[0][1], 'top_logprobs': told}]
    choice = {'message': {'content': tokens[0][0]}, 'logprobs': {'content': content}}
    return 200, json.dumps({'choices': [choice]})


def test_monitor_of_one_word_takes_its_confidence_from_the_chances():
    step = to_plan(parse_plan('grasp soup'))[0]
    with Server(one_word(('True', -0.1), ('False', -2.1))) as server:
        judged = OpenAIMonitor(settings(server.url), prompt='verify_word_v1').verify(
            step, SEEN, SEEN
        )
        body = server.requests[0][2]
    assert judged.done
    assert judged.confidence == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert (body['max_tokens'], body['logprobs'], body['top_logprobs']) == (1, True, 20)
    assert 'response_format' not in body
    assert body['messages'][0]['content'] == read_prompt('verify_word_v1')


def test_server_without_chances_says_which_prompt_needs_none():
    step = to_plan(parse_plan('grasp soup'))[0]
    with Server(chat('True')) as server:
        monitor = OpenAIMonitor(settings(server.url, retries=0), prompt='verify_word_v1')
        with pytest.raises(PlannerUnavailableError, match='no logprobs; verify_v1 does without'):
            monitor.verify(step, SEEN, SEEN)


def test_monitor_without_an_image_says_which():
    step = to_plan(parse_plan('grasp soup'))[0]
    monitor = OpenAIMonitor(settings(closed_port()))
    with pytest.raises(StaleDataError, match='no image of head'):
        monitor.verify(step, SEEN, Observation(2, 1))


@pytest.mark.parametrize(
    'change',
    [
        {'base_url': ''},
        {'base_url': 'ftp://x/v1'},
        {'base_url': '127.0.0.1:8000'},
        {'base_url': 'http://me:pw@host/v1'},
        {'model': ''},
        {'timeout_s': 0.0},
        {'retries': -1},
    ],
)
def test_settings_that_cannot_work_are_refused(change):
    with pytest.raises(ParameterError, match=r'base_url|model|timeout_s'):
        ChatSettings(**{'base_url': 'http://x/v1', 'model': 'm', **change})


def test_unknown_prompt_format_and_missing_cameras_are_refused():
    with pytest.raises(ParameterError, match='plan_v1, replan_v1, verify_v1, verify_word_v1'):
        read_prompt('plan_v0')
    with pytest.raises(ParameterError, match='without cameras'):
        OpenAIMonitor(settings(closed_port()), roles=())
    with pytest.raises(ParameterError, match='jpeg'):
        OpenAIPlanner(settings(closed_port()), image_format='gif').propose(REQUEST)


def test_too_long_answer_is_not_read_to_its_end():
    with Server((200, 'x' * 4_100_000)) as server:
        client = ChatClient(settings(server.url, retries=0, timeout_s=20.0))
        with pytest.raises(PlannerUnavailableError, match='longer than'):
            client.complete([], {}, 'x')


class _Clock:
    def now_ns(self):
        return 1


def carry_out(url):
    """Start a task on a planner at this address; return its plans and how it ended."""
    plans, ends = [], []
    planner = OpenAIPlanner(settings(url, retries=1), roles=())
    monitor = OpenAIMonitor(settings(url))
    session = TaskSession(
        Executive(ExecutiveSettings(), planner.name, monitor.name),
        planner,
        monitor,
        Outputs(plans.append, lambda verdict: None, lambda *end: ends.append(end)),
        SessionSettings(),
        _Clock(),
        spawn=lambda work: work(),
    )
    session.start(Goal('put the soup in the basket', 0.0, ('alphabet soup', 'basket')))
    return plans, ends


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ('hang', 'no answer within 0.3 s (2 tries)'),
        ((500, 'out of memory'), 'HTTP 500: out of memory (2 tries)'),
        ((200, '<html>'), 'the answer is no chat completion: <html> (2 tries)'),
        (
            chat('I am sorry.'),
            "gave no valid plan in 3 answers: step 1: 'I am sorry.': unknown verb",
        ),
        (chat('{"stages": [["grasp dragon"]]}'), "'dragon' is not in the scene"),
    ],
    ids=['hangs', '500', 'no completion', 'no JSON', 'outside the scene'],
)
def test_task_on_a_failing_server_ends_with_the_reason_and_without_a_plan(answer, reason):
    with Server(answer) as server:
        plans, ((success, said),) = carry_out(server.url)
    assert plans == []
    assert not success
    assert 'planner openai:tiny' in said
    assert reason in said


def test_task_on_a_refusing_server_ends_with_the_reason():
    plans, ((success, said),) = carry_out(closed_port())
    assert (plans, success) == ([], False)
    assert 'planner openai:tiny gave no plan' in said


def test_task_goes_on_with_the_good_answer_after_two_invalid_ones():
    with Server(chat('no JSON'), chat('{"stages": [["grasp dragon"]]}'), chat(PLAN)) as server:
        plans, ends = carry_out(server.url)
        conversations = [body['messages'] for _, _, body in server.requests]
    assert [s.id for s in plans[0].subtasks] == ['grasp(soup)', 'place(soup, basket)']
    assert plans[0].reasoning == 'Soup first.'
    assert ends == []
    assert [len(c) for c in conversations] == [2, 4, 6]
    assert 'unknown verb' in conversations[1][-1]['content']
    assert "'dragon' is not in the scene" in conversations[2][-1]['content']
