"""Headless Chromium for tests, spoken to by the DevTools protocol over two pipes."""

import base64
import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

CHROMIUM = next(
    (p for n in ('chromium', 'chromium-browser', 'google-chrome') if (p := shutil.which(n))), None
)


class Browser:
    """One page; a thread reads what Chromium says, so that a live page never fills the pipe."""

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
        self._number = 0
        self._session = None
        self._answers = {}
        self._came = threading.Condition()
        self.events = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        attached = self.call('Target.attachToTarget', targetId=target, flatten=True)
        self._session = attached['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')

    def call(self, method, **params):
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': params}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._out, json.dumps(message).encode() + b'\0')
        with self._came:
            arrived = self._came.wait_for(lambda: self._number in self._answers, 60.0)
            assert arrived, f'Chromium does not answer to {method}'
            answer = self._answers.pop(self._number)
        assert 'error' not in answer, answer
        return answer['result']

    def open(self, url, width, *, dark=False):
        self._navigate('about:blank')  # what the last page still asks for is not of this one
        self.resize(width)
        scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}
        self.call('Emulation.setEmulatedMedia', features=[scheme])
        self._navigate(url)

    def _navigate(self, url):
        self.events.clear()
        self.call('Page.navigate', url=url)
        loaded = 'Page.loadEventFired'
        with self._came:
            assert self._came.wait_for(
                lambda: any(e['method'] == loaded for e in self.events), 60.0
            )

    def resize(self, width):
        self.call(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def value(self, expression):
        told = self.call(
            'Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True
        )
        assert 'exceptionDetails' not in told, told
        return told['result'].get('value')

    def wait(self, expression, limit_s=60.0):
        """Wait until an expression is true in the page and return it."""
        end = time.monotonic() + limit_s
        while not (value := self.value(expression)):
            assert time.monotonic() < end, f'{expression} is {value!r} after {limit_s} s'
            time.sleep(0.1)
        return value

    def press(self, key, code, number):
        for kind in ('rawKeyDown', 'keyUp'):
            self.call(
                'Input.dispatchKeyEvent',
                type=kind,
                key=key,
                code=code,
                windowsVirtualKeyCode=number,
            )

    def screenshot(self, path):
        size = self.call('Page.getLayoutMetrics')['cssContentSize']
        shot = self.call(
            'Page.captureScreenshot', captureBeyondViewport=True, clip={**size, 'scale': 1}
        )
        Path(path).write_bytes(base64.b64decode(shot['data']))

    def complaints(self):
        bad = ('Runtime.exceptionThrown', 'Log.entryAdded', 'Runtime.consoleAPICalled')
        return [e for e in list(self.events) if e.get('method') in bad]

    def requests(self):
        urls = [
            e['params']['request']['url']
            for e in list(self.events)
            if e.get('method') == 'Network.requestWillBeSent'
        ]
        return [u for u in urls if not u.startswith(('data:', 'file:', 'blob:'))]

    def close(self):
        os.write(self._out, json.dumps({'id': 0, 'method': 'Browser.close'}).encode() + b'\0')
        self._process.wait(timeout=30)
        os.close(self._out)
        self._reader.join(10)
        os.close(self._in)

    def _read(self):
        rest = b''
        while data := os.read(self._in, 1 << 20):
            rest += data
            *messages, rest = rest.split(b'\0')
            with self._came:
                for message in map(json.loads, messages):
                    if 'id' in message:
                        self._answers[message['id']] = message
                    elif message.get('method') not in _LOUD:
                        self.events.append(message)
                self._came.notify_all()


#: Events of a live page that nobody asks for and that come many times a second.
_LOUD = frozenset(
    {
        'Network.webSocketFrameReceived',
        'Network.webSocketFrameSent',
        'Network.dataReceived',
        'Network.loadingFinished',
        'Network.responseReceived',
    }
)
