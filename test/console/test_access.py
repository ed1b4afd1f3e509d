"""Rules of access: names of hosts, origins, sessions, and where the token may come from."""

import pytest

from structrl_ros.console.access import Sessions
from structrl_ros.console.access import host_rule
from structrl_ros.console.access import is_loopback
from structrl_ros.console.access import origin_refusal
from structrl_ros.console.access import read_token
from structrl_ros.errors import ParameterError

TOKEN = 'correct horse battery'


@pytest.mark.parametrize('host', ['127.0.0.1:8765', 'localhost', 'LOCALHOST:1', '[::1]:8765'])
def test_loopback_names_are_let_through_on_any_port(host):
    assert host_rule('127.0.0.1').refusal(host) == ''


@pytest.mark.parametrize(
    'host',
    [
        '',
        'evil.example',
        'evil.example:8765',
        '192.168.1.5',
        'localhost.evil.example',
        'a b',
        '[::1',
    ],
)
def test_other_names_are_refused_so_that_rebinding_gains_nothing(host):
    assert host_rule('127.0.0.1').refusal(host)


def test_a_wildcard_takes_addresses_but_no_names_beyond_those_allowed():
    rule = host_rule('0.0.0.0', ['Robot.lab'])
    assert rule.refusal('192.168.1.5:8765') == ''
    assert rule.refusal('robot.lab:8765') == ''
    assert rule.refusal('evil.example:8765')
    assert rule.refusal('0.0.0.0.evil.example')
    with pytest.raises(ParameterError, match='--allow-host'):
        host_rule('0.0.0.0', ['http://robot'])


@pytest.mark.parametrize(
    ('headers', 'word'),
    [
        ({}, 'missing'),
        ({'origin': 'null'}, 'not this console'),
        ({'origin': 'http://evil.example'}, 'not this console'),
        ({'origin': 'http://localhost:9999'}, 'not this console'),
        ({'origin': 'https://localhost:8765'}, 'not this console'),
        ({'origin': 'http://localhost:8765', 'sec-fetch-site': 'cross-site'}, 'another site'),
        ({'origin': 'http://localhost:8765', 'sec-fetch-site': 'same-site'}, 'another site'),
    ],
)
def test_an_origin_that_is_not_this_page_is_refused(headers, word):
    assert word in origin_refusal({'host': 'localhost:8765', **headers}, 'http')


def test_the_own_origin_is_let_through():
    headers = {'host': 'localhost:8765', 'origin': 'http://localhost:8765'}
    assert origin_refusal(headers, 'http') == ''
    assert origin_refusal({**headers, 'sec-fetch-site': 'same-origin'}, 'http') == ''


def test_sessions_take_their_own_cookies_and_secrets_alone():
    ours, others = Sessions(), Sessions()
    cookie, second = ours.open(), ours.open()
    assert ours.is_open(cookie)
    assert not others.is_open(cookie)
    assert not ours.is_open('')
    assert not ours.is_open('.')
    assert not ours.is_open(cookie[:-1] + ('0' if cookie[-1] != '0' else '1'))
    assert not ours.is_open('ä.ö')
    assert ours.is_csrf(cookie, ours.csrf(cookie))
    assert not ours.is_csrf(cookie, ours.csrf(second))
    assert not ours.is_csrf(cookie, '')


def test_with_a_token_a_session_outlives_a_restart_and_no_other_token():
    cookie = Sessions(TOKEN).open()
    assert Sessions(TOKEN).is_open(cookie)
    assert not Sessions(TOKEN + '!').is_open(cookie)
    assert Sessions(TOKEN).is_token(TOKEN)
    assert not Sessions(TOKEN).is_token('')
    assert not Sessions('').is_token('')


def test_the_token_comes_from_a_file_before_the_environment(tmp_path):
    path = tmp_path / 'token'
    path.write_text(TOKEN + '\n')
    path.chmod(0o600)
    assert read_token(path, {'STRUCTRL_CONSOLE_TOKEN': 'another long word'}) == TOKEN
    assert read_token(None, {'STRUCTRL_CONSOLE_TOKEN': TOKEN}) == TOKEN
    assert read_token(None, {}) == ''


def test_a_token_file_that_others_may_read_is_refused_without_telling_it(tmp_path):
    path = tmp_path / 'token'
    path.write_text(TOKEN)
    path.chmod(0o640)
    with pytest.raises(ParameterError, match='chmod 600') as caught:
        read_token(path, {})
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    'token', ['short', 'ünicode is not sent by headers', 'tab\tin the token is odd']
)
def test_a_bad_token_is_refused_without_telling_it(token):
    with pytest.raises(ParameterError, match='at least 16') as caught:
        read_token(None, {'STRUCTRL_CONSOLE_TOKEN': token})
    assert token not in str(caught.value)


def test_a_token_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ParameterError, match='No such file'):
        read_token(tmp_path / 'none', {})


@pytest.mark.parametrize(
    'host',
    ['127.0.0.1', '127.1.2.3', '::1', 'localhost'],
)
def test_this_machine_alone_is_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize('host', ['0.0.0.0', '192.168.1.5', 'robot.lab', '::'])
def test_what_others_reach_is_not_loopback(host):
    assert not is_loopback(host)
