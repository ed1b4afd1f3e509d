"""Where the console listens: https, a certificate that is none, the command's own words."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys

import pytest

pytest.importorskip('fastapi', reason='needs the console: pip install -r requirements/console.txt')
pytest.importorskip('uvicorn', reason='needs the console: pip install -r requirements/console.txt')

from console_server import RunningConsole
from websockets.sync.client import connect

from structrl_ros.errors import ParameterError

COMMAND = [sys.executable, '-m', 'structrl_ros.cli.main', 'console']


@pytest.fixture(scope='module')
def certificate(tmp_path_factory):
    if shutil.which('openssl') is None:
        pytest.skip('openssl is not installed')
    folder = tmp_path_factory.mktemp('certificate')
    words = ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
    words += ['-subj', '/CN=127.0.0.1', '-keyout', 'key.pem', '-out', 'certificate.pem']
    environment = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
    subprocess.run(words, cwd=folder, check=True, capture_output=True, env=environment)
    return folder / 'certificate.pem', folder / 'key.pem'


def test_with_a_certificate_page_actions_and_feed_are_encrypted(certificate):
    paths = dict(zip(('certificate', 'key'), certificate, strict=True))
    with RunningConsole(**paths) as console, console.client() as client:
        assert console.url.startswith('https://')
        told = client.get('/session')
        cookie = told.headers['set-cookie']
        assert 'Secure' in cookie
        client.headers['x-structrl-csrf'] = told.json()['csrf']
        assert client.post('/do/cancel', json={}).status_code == 200
        plain = console.url.replace('https', 'http')
        refused = client.post('/do/cancel', json={}, headers={'origin': plain})
        assert refused.status_code == 403
        context = ssl.create_default_context(cafile=certificate[0])
        context.check_hostname = False
        headers = {'Cookie': cookie.partition(';')[0]}
        url = console.url.replace('https', 'wss') + '/live'
        with connect(
            url,
            origin=console.url,
            additional_headers=headers,
            ssl=context,
            proxy=None,
            open_timeout=60,
        ) as live:
            assert live.recv(timeout=60)


def test_a_certificate_that_is_none_is_one_line(certificate, tmp_path):
    (tmp_path / 'wrong.pem').write_text('no certificate')
    for path in (tmp_path / 'wrong.pem', tmp_path / 'missing.pem'):
        with pytest.raises(ParameterError, match=path.name):
            RunningConsole(certificate=path, key=certificate[1])


@pytest.mark.ros
def test_the_command_says_its_address_and_ends_cleanly_by_either_signal():
    for number in (signal.SIGINT, signal.SIGTERM):
        run = subprocess.Popen(
            [*COMMAND, '--port', '0'],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert re.fullmatch(r'console: http://127\.0\.0\.1:\d+/\n', run.stdout.readline())
            run.send_signal(number)
            text = run.communicate(timeout=60)[0]
        finally:
            run.kill()
        assert run.returncode == 0, text
        assert 'Traceback' not in text


@pytest.mark.ros
def test_a_users_mistake_is_one_line_and_status_one():
    environment = {k: v for k, v in os.environ.items() if k != 'STRUCTRL_CONSOLE_TOKEN'}
    done = subprocess.run(
        [*COMMAND, '--host', '0.0.0.0'],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 1
    assert 'needs a token' in done.stderr
    assert 'Traceback' not in done.stderr
