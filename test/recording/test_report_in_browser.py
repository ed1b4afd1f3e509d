"""The report in headless Chromium: no console error, no network, no overflow, light and dark."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from structrl_ros.recording.report import write_report

CHROMIUM = next(
    (p for n in ('chromium', 'chromium-browser', 'google-chrome') if (p := shutil.which(n))), None
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed'),
]


class Browser:
    """Speaks the DevTools protocol over two pipes."""

    def __init__(self, profile):
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()

        def place_pipes():
            # Chromium reads from descriptor 3 and writes to 4; high numbers first: no clash.
            os.dup2(to_child, 103)
            os.dup2(from_child, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        command = [
            CHROMIUM,
            '--headless=new',
            '--hide-scrollbars',
            '--no-sandbox',
            '--disable-gpu',
            '--disable-dev-shm-usage',
            '--remote-debugging-pipe',
            f'--user-data-dir={profile}',
        ]
        environment = {k: v for k, v in os.environ.items() if k != 'LD_LIBRARY_PATH'}
        self._process = subprocess.Popen(
            command,
            preexec_fn=place_pipes,
            close_fds=False,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._rest = b''
        self._number = 0
        self._session = None
        self.events = []
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self._session = self.call('Target.attachToTarget', targetId=target, flatten=True)[
            'sessionId'
        ]
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def call(self, method, **params):
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': params}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._out, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._receive()
            if answer.get('id') == self._number:
                assert 'error' not in answer, answer
                return answer['result']
            self.events.append(answer)

    def open(self, url, width, *, dark):
        self.events.clear()
        self.call(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.call('Emulation.setEmulatedMedia', features=[scheme])
        self.call('Page.navigate', url=url)
        while not any(e['method'] == 'Page.loadEventFired' for e in self.events):
            self.events.append(self._receive())

    def value(self, expression):
        return self.call('Runtime.evaluate', expression=expression, returnByValue=True)['result'][
            'value'
        ]

    def screenshot(self, path):
        size = self.call('Page.getLayoutMetrics')['cssContentSize']
        shot = self.call(
            'Page.captureScreenshot', captureBeyondViewport=True, clip={**size, 'scale': 1}
        )
        Path(path).write_bytes(base64.b64decode(shot['data']))

    def complaints(self):
        bad = ('Runtime.exceptionThrown', 'Log.entryAdded', 'Runtime.consoleAPICalled')
        return [e for e in self.events if e.get('method') in bad]

    def requests(self):
        return [
            e['params']['request']['url']
            for e in self.events
            if e.get('method') == 'Network.requestWillBeSent'
            and not e['params']['request']['url'].startswith(('data:', 'file:'))
        ]

    def close(self):
        os.write(self._out, json.dumps({'id': 0, 'method': 'Browser.close'}).encode() + b'\0')
        os.close(self._out)
        self._process.wait(timeout=20)
        os.close(self._in)

    def _receive(self):
        while b'\0' not in self._rest:
            data = os.read(self._in, 1 << 20)
            assert data, 'Chromium has ended'
            self._rest += data
        message, _, self._rest = self._rest.partition(b'\0')
        return json.loads(message)


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp('profile'))
    yield browser
    browser.close()


@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('width', [360, 1440])
def test_report_fits_and_is_silent(tmp_path, synthetic_run, browser, width, dark):
    synthetic_run().write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), width, dark=dark)
    if folder := os.environ.get('STRUCTRL_SCREENSHOTS'):
        browser.screenshot(Path(folder) / f'report_{width}_{"dark" if dark else "light"}.png')
    assert browser.value('document.documentElement.scrollWidth') <= width
    assert browser.value('document.documentElement.clientWidth') == width
    assert browser.complaints() == []
    assert browser.requests() == []
    background = browser.value('getComputedStyle(document.body).backgroundColor')
    assert (sum(map(int, background[4:-1].split(','))) < 200) is dark


def test_film_plays_and_moves_the_cursor(tmp_path, synthetic_run, browser):
    synthetic_run().write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), 1440, dark=False)
    before = browser.value("document.getElementById('cursor').getAttribute('x1')")
    first = browser.value("document.getElementById('screen').src")
    browser.value(
        "(() => { const s = document.getElementById('seek'); s.value = s.max;"
        " s.dispatchEvent(new Event('input')); })()"
        ' || 0'
    )
    after = browser.value("document.getElementById('cursor').getAttribute('x1')")
    assert float(after) > float(before) + 500
    assert browser.value("document.getElementById('screen').src") != first
    assert browser.value("document.getElementById('when').value") == '9.60 s'
    browser.value("document.getElementById('play').click() || 0")
    assert browser.value("document.getElementById('play').textContent") == 'Pause'
    assert browser.complaints() == []
