"""Every refusal of the console, against the real server."""

import logging
import socket

import pytest

pytest.importorskip('fastapi', reason='needs the console: pip install -r requirements/console.txt')
pytest.importorskip('uvicorn', reason='needs the console: pip install -r requirements/console.txt')

from console_server import RunningConsole
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from structrl_ros.console.gate import COOKIE
from structrl_ros.console.operator import Answer
from structrl_ros.console.serving import ConsoleServer
from structrl_ros.console.serving import Place
from structrl_ros.errors import ParameterError

TOKEN = 'correct horse battery'
ACTIONS = ['emergency_stop', 'reset_safety', 'run', 'cancel', 'release_takeover', 'mark']
ACTIONS += ['record', 'stop_recording', 'new_episode']


@pytest.fixture(scope='module')
def console():
    with RunningConsole() as running:
        yield running


@pytest.fixture
def page(console):
    console.operator.asked.clear()
    console.operator.answer = Answer(True, 'as you wish')
    with console.page() as client:
        yield client


def post(client, action, body=None, **headers):
    return client.post(f'/do/{action}', json=body or {}, headers=headers)


def test_an_action_of_the_own_page_is_done(console, page):
    answer = post(page, 'emergency_stop')
    assert answer.status_code == 200
    assert answer.json() == {'is_done': True, 'message': 'as you wish'}
    assert console.operator.asked == [('emergency_stop', ())]


@pytest.mark.parametrize('action', ACTIONS)
def test_an_action_without_the_csrf_secret_is_refused(console, page, action):
    answer = post(page, action, **{'x-structrl-csrf': ''})
    assert answer.status_code == 403
    assert 'x-structrl-csrf' in answer.json()['message']
    assert console.operator.asked == []


def test_an_action_with_the_secret_of_another_session_is_refused(console, page):
    with console.page() as other:
        secret = other.headers['x-structrl-csrf']
    assert post(page, 'run', **{'x-structrl-csrf': secret}).status_code == 403
    assert console.operator.asked == []


def test_an_action_without_a_session_is_refused(console, page):
    page.cookies.clear()
    assert post(page, 'emergency_stop').status_code == 401
    assert console.operator.asked == []


@pytest.mark.parametrize('origin', ['', 'null', 'http://evil.example', 'http://127.0.0.1:1'])
def test_an_action_from_a_foreign_page_is_refused(console, page, origin):
    answer = post(page, 'emergency_stop', origin=origin)
    assert answer.status_code == 403
    assert 'rigin' in answer.json()['message']
    assert console.operator.asked == []


def test_an_action_that_the_browser_calls_cross_site_is_refused(console, page):
    assert post(page, 'cancel', **{'sec-fetch-site': 'cross-site'}).status_code == 403
    assert console.operator.asked == []


@pytest.mark.parametrize('path', ['/', '/session', '/page/main.js'])
def test_a_foreign_host_name_is_refused_everything(console, path):
    with console.client(host='evil.example') as client:
        answer = client.get(path)
    assert answer.status_code == 421
    assert 'set-cookie' not in answer.headers


@pytest.mark.parametrize('method', ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
def test_an_action_by_any_other_method_than_post_is_refused(console, page, method):
    assert page.request(method, '/do/emergency_stop').status_code in (404, 405)
    assert console.operator.asked == []


def test_a_form_of_another_page_is_refused_by_its_content_type(console, page):
    answer = page.post('/do/emergency_stop', content='{}', headers={'content-type': 'text/plain'})
    assert answer.status_code == 415
    assert console.operator.asked == []


def test_a_body_that_is_too_large_is_refused_before_it_is_read(console, page):
    answer = post(page, 'run', {'instruction': 'x' * 20_000})
    assert answer.status_code == 413


def test_a_body_of_unknown_length_is_refused(console, page):
    headers = {'content-type': 'application/json'}
    answer = page.post('/do/cancel', content=iter([b'{', b'}']), headers=headers)
    assert answer.status_code == 411


@pytest.mark.parametrize(
    ('action', 'body', 'word'),
    [
        ('run', {}, 'instruction'),
        ('run', {'instruction': ''}, 'instruction'),
        ('run', {'instruction': 'x' * 501}, 'instruction'),
        ('run', {'instruction': 'a\x00b'}, 'instruction'),
        ('run', {'instruction': 7}, 'instruction'),
        ('run', {'instruction': 'go', 'time_limit_s': -1}, 'time_limit_s'),
        ('run', {'instruction': 'go', 'more': 1}, 'more'),
        ('mark', {'success': 'yes'}, 'success'),
        ('reset_safety', {}, 'confirmed'),
        ('reset_safety', {'confirmed': False}, 'confirmed'),
        ('new_episode', {'confirmed': False}, 'confirmed'),
    ],
)
def test_a_body_that_is_not_allowed_is_refused_by_name(console, page, action, body, word):
    answer = post(page, action, body)
    assert answer.status_code in (400, 422)
    assert word in answer.json()['message']
    assert console.operator.asked == []


def test_what_the_graph_refuses_is_told_in_its_words(console, page):
    console.operator.answer = Answer(False, 'the planner carries out another one')
    answer = post(page, 'run', {'instruction': 'go'})
    assert answer.status_code == 409
    assert answer.json()['message'] == 'the planner carries out another one'


def test_answers_forbid_frames_foreign_scripts_and_storing(console, page):
    for path in ('/', '/page/main.js', '/session', '/nothing'):
        headers = page.get(path).headers
        assert "default-src 'none'" in headers['content-security-policy']
        assert "frame-ancestors 'none'" in headers['content-security-policy']
        assert headers['x-content-type-options'] == 'nosniff'
        assert headers['cache-control'] == 'no-store'
        assert 'access-control-allow-origin' not in headers
    for path in ('/docs', '/openapi.json', '/page/../gate.py', '/page/__init__.py'):
        assert page.get(path).status_code in (401, 404)


def socket_status(console, **headers):
    """Return the status with which a WebSocket is refused, 101 if it is not."""
    cookie = headers.pop('cookie', '')
    origin = headers.pop('origin', console.url)
    url = console.url.replace('http', 'ws', 1) + '/live'
    more = {'Cookie': cookie, **headers}
    try:
        with connect(
            url, origin=origin, additional_headers=more, proxy=None, open_timeout=60
        ) as live:
            live.recv(timeout=60)
    except InvalidStatus as error:
        return error.response.status_code
    return 101


def test_a_websocket_of_the_own_page_is_served(console):
    assert socket_status(console, cookie=console.cookie()) == 101


@pytest.mark.parametrize('origin', [None, 'null', 'http://evil.example', 'http://127.0.0.1:1'])
def test_a_websocket_from_a_foreign_page_is_refused(console, origin):
    assert socket_status(console, cookie=console.cookie(), origin=origin) == 403


def test_a_websocket_without_a_session_is_refused(console):
    assert socket_status(console) == 403
    assert socket_status(console, cookie=f'{COOKIE}=made.up') == 403


def test_a_websocket_under_a_foreign_host_name_is_refused(console):
    port = console.url.rsplit(':', 1)[1]
    with socket.create_connection(('127.0.0.1', int(port))) as raw:
        raw.sendall(
            b'GET /live HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n'
            b'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
            b'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
            b'Cookie: ' + console.cookie().encode() + b'\r\n\r\n'
        )
        assert b' 403 ' in raw.recv(4096).split(b'\r\n')[0]


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.0.2.1'])
def test_beyond_this_machine_it_does_not_start_without_a_token(console, host, monkeypatch):
    monkeypatch.delenv('STRUCTRL_CONSOLE_TOKEN', raising=False)
    with pytest.raises(ParameterError, match='needs a token'):
        ConsoleServer(Place(host=host, port=0), console.operator, console.viewers)


def test_a_port_that_is_taken_is_one_line(console):
    port = int(console.url.rsplit(':', 1)[1])
    with pytest.raises(ParameterError, match=f'127.0.0.1:{port}'):
        ConsoleServer(Place(port=port), console.operator, console.viewers)


def test_with_a_token_nothing_is_shown_or_done_before_it_was_given(monkeypatch, caplog, capfd):
    monkeypatch.setenv('STRUCTRL_CONSOLE_TOKEN', TOKEN)
    monkeypatch.setattr('structrl_ros.console.routes.WRONG_TOKEN_S', 0.0)
    caplog.set_level(logging.DEBUG)
    with RunningConsole(host='0.0.0.0') as console, console.client() as client:
        assert client.get('/').status_code == 200
        assert client.get('/session').status_code == 401
        assert post(client, 'emergency_stop').status_code == 401
        assert socket_status(console) == 403
        wrong = client.post('/login', json={'token': 'a wrong one, and long'})
        assert wrong.status_code == 401
        assert not client.cookies
        foreign = client.post('/login', json={'token': TOKEN}, headers={'origin': 'http://evil'})
        assert foreign.status_code == 403
        told = client.post('/login', json={'token': TOKEN})
        assert told.status_code == 200
        cookie = told.headers['set-cookie']
        assert 'HttpOnly' in cookie
        assert 'SameSite=strict' in cookie
        client.headers['x-structrl-csrf'] = told.json()['csrf']
        assert post(client, 'emergency_stop').status_code == 200
        assert socket_status(console, cookie=cookie.partition(';')[0]) == 101
        assert console.operator.asked == [('emergency_stop', ())]
    assert TOKEN not in caplog.text + ''.join(capfd.readouterr())


def test_an_emergency_stop_passes_while_other_actions_wait_for_ever(console, page):
    console.operator.answer = None
    cookie, secret = page.cookies[COOKIE], page.headers['x-structrl-csrf']
    waiting = []
    for _ in range(60):  # more than any pool of threads would have
        raw = socket.create_connection(('127.0.0.1', int(console.url.rsplit(':', 1)[1])))
        raw.sendall(
            (
                f'POST /do/cancel HTTP/1.1\r\nHost: {console.url[7:]}\r\nOrigin: {console.url}\r\n'
                f'Cookie: {COOKIE}={cookie}\r\nX-Structrl-Csrf: {secret}\r\n'
                'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
            ).encode()
        )
        waiting.append(raw)
    while len(console.operator.asked) < 60:
        assert page.get('/session').status_code == 200
    console.operator.answer = Answer(True, 'stopped')
    assert post(page, 'emergency_stop').json()['message'] == 'stopped'
    for raw in waiting:
        raw.close()
