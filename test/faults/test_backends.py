"""Servers that are not what they should be, and a graphics card without memory."""

import http.server
import threading

import numpy as np
import pytest
from chat_server import ChatServer
from chat_server import chat
from task_bench import TaskBench

from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import PolicyError
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.types import Episode

SENTENCE = 'put the soup in the basket'
SCENE = ('soup', 'basket')
PAGE = (
    '<!DOCTYPE html>\n<html>\n<head><title>Sign in to the campus network</title></head>\n'
    + '<body>\n'
    + '<p>You are not signed in.</p>\n' * 400
    + '</body>\n</html>\n'
)


@pytest.mark.parametrize('status', [200, 404, 502])
def test_a_server_that_returns_a_web_page_is_one_short_line_and_ends_the_task(status):
    """A login page of a network, a proxy in front of a server that is down."""
    pytest.importorskip('httpx', reason='needs httpx: requirements/core.txt')
    from structrl_ros.models.vlm.chat_client import ChatSettings
    from structrl_ros.models.vlm.openai_client import OpenAIPlanner

    with ChatServer((status, PAGE)) as server:
        chat_settings = ChatSettings(base_url=server.url, model='m', retries=1, backoff_s=0.01)
        planner = OpenAIPlanner(chat_settings, roles=())
        bench = TaskBench(planner, _NoMonitor()).start(SENTENCE, SCENE)
        planner.close()
    ((success, reason),) = bench.ends
    assert not success
    assert server.url in reason
    assert '\n' not in reason
    assert len(reason) < 500
    assert bench.plans == []


def test_a_web_page_in_the_middle_of_a_task_costs_ticks_and_no_step():
    pytest.importorskip('httpx', reason='needs httpx: requirements/core.txt')
    from structrl_ros.models.vlm.chat_client import ChatSettings
    from structrl_ros.models.vlm.openai_client import OpenAIMonitor

    yes = chat('{"done": true, "confidence": 0.9}')
    with ChatServer((200, PAGE), (200, PAGE), yes) as server:
        monitor = OpenAIMonitor(ChatSettings(base_url=server.url, model='m', retries=0))
        bench = TaskBench(RulePlanner(), monitor).start(SENTENCE, SCENE)
        bench.run(20)
        monitor.close()
    assert bench.ends == [(True, 'all 2 steps verified')]
    assert [v.confidence for v in bench.verdicts[:2]] == [0.0, 0.0]


class _NoMonitor:
    name = 'none'

    def verify(self, subtask, start, now):
        raise PlannerUnavailableError('nobody asks')


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *arguments):
        pass


def test_a_web_server_in_the_place_of_a_policy_server_is_one_line():
    pytest.importorskip('websockets', reason='needs websockets: requirements/learning.txt')
    from structrl_ros.models.policies.remote import RemotePolicy
    from structrl_ros.models.policies.remote import RemoteSettings

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    uri = f'ws://127.0.0.1:{server.server_address[1]}'
    policy = RemotePolicy(RemoteSettings(uri=uri, chunk_length=8, timeout_s=10.0))
    try:
        with pytest.raises(PolicyError, match=f'policy server {uri}: ') as told:
            policy.reset(Episode(1, 1, False, 'libero', 'long/0', SENTENCE, 0, 0))
    finally:
        policy.close()
        server.shutdown()
        server.server_close()
    assert '\n' not in str(told.value)
    assert len(str(told.value)) < 500


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return the folder of a small vision-language model."""
    torch = pytest.importorskip('torch', reason='needs torch: make install')
    pytest.importorskip('transformers', reason='needs transformers: requirements/learning.txt')
    from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm

    torch.set_num_threads(1)
    place = tmp_path_factory.mktemp('vlm') / 'model'
    save_tiny_vlm(place, 'qwen2_5_vl')
    return str(place)


@pytest.fixture(scope='module')
def monitor(folder):
    from structrl_ros.models.vlm.loading import VlmSettings
    from structrl_ros.models.vlm.loading import load_vlm
    from structrl_ros.models.vlm.local_monitor import LocalMonitor

    made = LocalMonitor(load_vlm(VlmSettings(model=folder, device='cpu')), threshold=1e-9)
    yield made
    made.close()


def no_memory():
    import torch

    raise torch.OutOfMemoryError(
        'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB\n'
        'of which 1.10 GiB is free. Including non-PyTorch memory ...\nSee documentation'
    )


@pytest.mark.torch
def test_a_graphics_card_without_memory_gives_no_verdict_and_the_task_goes_on(
    monitor, monkeypatch
):
    model = type(monitor.vlm.model)
    forward, calls = model.forward, []

    def sometimes(self, *arguments, **options):
        calls.append(1)
        if len(calls) in (2, 3):
            no_memory()
        return forward(self, *arguments, **options)

    monkeypatch.setattr(model, 'forward', sometimes)
    bench = TaskBench(RulePlanner(), monitor, ExecutiveSettings(confirmations=2))
    bench.image = np.random.default_rng(0).integers(0, 255, (56, 56, 3), dtype=np.uint8)
    bench.start(SENTENCE, SCENE).run(10)
    assert bench.ends == [(True, 'all 2 steps verified')]
    confidences = [v.confidence for v in bench.verdicts]
    assert confidences[1:3] == [0.0, 0.0]
    assert not any(v.done for v in bench.verdicts[:3])
    assert confidences[0] > 0


@pytest.mark.torch
def test_a_graphics_card_that_stays_without_memory_ends_the_task_in_one_line(monitor, monkeypatch):
    monkeypatch.setattr(type(monitor.vlm.model), 'forward', lambda *_, **__: no_memory())
    bench = TaskBench(RulePlanner(), monitor)
    bench.image = np.random.default_rng(0).integers(0, 255, (56, 56, 3), dtype=np.uint8)
    ((success, reason),) = bench.start(SENTENCE, SCENE).run(10)
    assert not success
    assert 'failed 3 times in a row' in reason
    assert 'CUDA out of memory. Tried to allocate 2.00 GiB.' in reason
    assert '\n' not in reason
    assert bench.plans[-1].subtasks == (), 'an empty plan: hold'


@pytest.mark.torch
def test_a_model_that_does_not_fit_the_graphics_card_is_one_line(monitor, folder, monkeypatch):
    from structrl_ros.errors import CheckpointError
    from structrl_ros.models.vlm.loading import VlmSettings
    from structrl_ros.models.vlm.loading import load_vlm

    monkeypatch.setattr(type(monitor.vlm.model), 'to', lambda *_, **__: no_memory())
    with pytest.raises(CheckpointError, match='CUDA out of memory') as told:
        load_vlm(VlmSettings(model=folder, device='cpu'))
    assert '\n' not in str(told.value)
