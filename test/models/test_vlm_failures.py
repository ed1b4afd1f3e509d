"""How a task ends when planner or monitor fail in the ways that models and servers fail."""

import itertools
import json

import numpy as np
import pytest
from chat_server import ChatServer
from chat_server import chat
from task_bench import TaskBench

from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.openai_client import OpenAIMonitor
from structrl_ros.models.vlm.openai_client import OpenAIPlanner
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.types import Judgement

SCENE = ('soup', 'basket', 'drawer', 'bowl')
SENTENCE = 'put the soup in the basket'
FOUR = ['grasp soup', 'place soup in basket', 'open drawer', 'grasp bowl']
YES, NO = '{"done": true, "confidence": 0.9}', '{"done": false, "confidence": 0.8}'


class Texts:
    """A planner that gives texts in order, the last one for ever."""

    name = 'texts'

    def __init__(self, *texts):
        self.texts, self.requests = list(texts), []

    def propose(self, request):
        self.requests.append(request)
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]


class Eye:
    """A monitor that a function of (subtask, call number) tells what to say."""

    name = 'eye'

    def __init__(self, says):
        self.says, self.calls = says, itertools.count()

    def verify(self, subtask, start, now):
        return Judgement(self.says(subtask, next(self.calls)), 0.9)


def settings(server, **more):
    return ChatSettings(
        base_url=server.url,
        model='tiny',
        **{'timeout_s': 30.0, 'retries': 0, 'backoff_s': 0.01, **more},
    )


def test_true_too_early_is_mended_by_the_new_plan_of_a_later_failure():
    world = {'held': False}

    def says(subtask, call):
        if subtask.verb == 'grasp':
            return call == 0 or world['held']  # the very first answer is wrong
        return world['held']

    bench = TaskBench(
        RulePlanner(), Eye(says), ExecutiveSettings(subtask_timeout_s=1.0, attempts=2)
    ).start(SENTENCE, SCENE)

    def act(tick):  # the policy can only do what the plan tells it: grasp, after the replan
        world['held'] = bool(bench.plans) and bench.session.executive.replans == 1

    bench.run(60, act)
    assert bench.ends == [(True, 'all 3 steps verified')]
    again = [s.id for s in bench.plans[2].subtasks]
    assert again == ['grasp(soup)', 'place(soup, basket)']
    assert sum(v.stop for v in bench.verdicts) == 2


def test_monitor_that_never_says_true_ends_after_attempts_and_replans():
    bench = TaskBench(
        Texts(json.dumps(FOUR)),
        Eye(lambda *asked: False),
        ExecutiveSettings(subtask_timeout_s=1.0, attempts=2, replans=1),
    ).start(SENTENCE, SCENE)
    ((success, reason),) = bench.run(60)
    assert not success
    assert 'not done within 1 s, attempt 2 of 2, after 1 replans' in reason
    assert 'at step 1 of 4 (grasp soup)' in reason
    assert bench.plans[-1].subtasks == ()


def test_monitor_that_flickers_is_not_believed_and_the_task_ends():
    bench = TaskBench(
        Texts(json.dumps(FOUR)),
        Eye(lambda subtask, call: call % 2 == 0),
        ExecutiveSettings(subtask_timeout_s=2.0, attempts=1, replans=0, confirmations=2),
    ).start(SENTENCE, SCENE)
    ((success, reason),) = bench.run(60)
    assert not success
    assert 'at step 1 of 4' in reason
    assert not any(v.done for v in bench.verdicts)


def test_impossible_third_step_is_told_to_the_planner_which_may_leave_it_out():
    planner = Texts(json.dumps(FOUR), '["grasp bowl"]')
    bench = TaskBench(
        planner,
        Eye(lambda subtask, call: subtask.verb != 'open'),
        ExecutiveSettings(subtask_timeout_s=1.0, attempts=2),
    ).start(SENTENCE, SCENE)
    bench.run(60)
    assert bench.ends == [(True, 'all 3 steps verified')]
    failed = planner.requests[1].failed
    assert failed.plan.subtasks[failed.index].phrase == 'open drawer'
    assert failed.reason == 'open drawer: not done within 1 s, attempt 2 of 2'
    assert [p.revision for p in bench.plans] == [1, 2, 3]


def test_impossible_third_step_that_is_planned_again_ends_the_task_at_it():
    left = json.dumps(FOUR[2:])
    bench = TaskBench(
        Texts(json.dumps(FOUR), left),
        Eye(lambda subtask, call: subtask.verb != 'open'),
        ExecutiveSettings(subtask_timeout_s=1.0, attempts=1, replans=2),
    ).start(SENTENCE, SCENE)
    ((success, reason),) = bench.run(60)
    assert not success
    assert 'after 2 replans, at step 1 of 2 (open drawer)' in reason
    assert [v.subtask_id for v in bench.verdicts if v.done] == [
        'grasp(soup)',
        'place(soup, basket)',
    ]


EXAMPLE = read_prompt('plan_v1').rpartition('else: ')[2]


@pytest.mark.parametrize(
    'text',
    [
        read_prompt('plan_v1'),
        f'Instruction: {SENTENCE}\nIn the scene: {", ".join(SCENE)}',
        EXAMPLE,
        f'<think>...</think><answer>{EXAMPLE}</answer>',
        '',
    ],
    ids=['system', 'user', 'example', 'example in blocks', 'nothing'],
)
def test_model_that_returns_its_prompt_gives_no_plan_and_the_task_ends(text):
    planner = Texts(text)
    bench = TaskBench(planner, Eye(lambda *asked: True)).start(SENTENCE, SCENE)
    ((success, reason),) = bench.ends
    assert not success
    assert reason.startswith('planner texts gave no valid plan in 3 answers: ')
    assert bench.plans == []
    assert [len(r.rejected) for r in planner.requests] == [0, 1, 2]


def test_monitor_that_returns_its_prompt_ends_the_task_after_three_calls():
    with ChatServer(chat(read_prompt('verify_v1'))) as server:
        monitor = OpenAIMonitor(settings(server))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        ((success, reason),) = bench.run(20)
        monitor.close()
    assert not success
    assert 'monitor openai:tiny failed 3 times in a row: the monitor answered' in reason
    assert len(server.requests) == 3


def test_pictures_of_other_sizes_in_a_row_are_judged_all_the_same():
    with ChatServer(chat(NO), chat(NO), chat(YES)) as server:
        monitor = OpenAIMonitor(settings(server))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        shapes = itertools.cycle([(4, 6, 3), (480, 640, 3), (9, 5, 3)])

        def look(tick):
            bench.image = np.full(next(shapes), tick, np.uint8)

        bench.run(20, look)
        monitor.close()
    assert bench.ends == [(True, 'all 2 steps verified')]


@pytest.mark.parametrize(
    'image', [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 3), np.float32)], ids=['grey', 'float']
)
def test_array_that_is_no_picture_ends_the_task_and_drops_no_step(image):
    with ChatServer(chat(NO)) as server:
        monitor = OpenAIMonitor(settings(server))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        bench.image = image
        ((success, reason),) = bench.run(20)
        monitor.close()
    assert not success
    assert 'failed 3 times in a row: image is' in reason
    assert 'allowed: uint8 (H, W, 3), at step 1 of 2 (grasp soup)' in reason
    assert server.requests == []


def test_server_that_is_back_before_the_third_failure_costs_nothing_but_ticks():
    with ChatServer(chat(NO)) as first:
        port = first.port
        monitor = OpenAIMonitor(settings(first))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        bench.run(2)
    bench.run(2)
    assert bench.ends == []
    assert [v.confidence for v in bench.verdicts] == [0.8, 0.8, 0.0, 0.0]
    with ChatServer(chat(YES), port=port) as second:
        bench.run(20)
        assert second.requests
    monitor.close()
    assert bench.ends == [(True, 'all 2 steps verified')]


def test_server_that_stays_away_ends_the_task_with_its_address():
    with ChatServer(chat(NO)) as server:
        monitor = OpenAIMonitor(settings(server))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        bench.run(2)
    ((success, reason),) = bench.run(20)
    monitor.close()
    assert not success
    assert f'failed 3 times in a row: model tiny at {server.url}: ' in reason


def test_planner_waits_for_a_server_that_restarts_within_its_tries():
    plan = chat(json.dumps({'reasoning': 'so', 'stages': [[FOUR[0]], [FOUR[1]]]}))
    with ChatServer((503, 'loading the model'), (503, 'loading the model'), plan) as server:
        planner = OpenAIPlanner(settings(server, retries=2), roles=())
        bench = TaskBench(planner, Eye(lambda *asked: True)).start(SENTENCE, SCENE)
        bench.run(5)
        planner.close()
    assert bench.ends == [(True, 'all 2 steps verified')]
    assert len(server.requests) == 3
