"""The report in headless Chromium: no console error, no network, no overflow, light and dark."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from structrl_ros.recording.report import write_report
from structrl_ros.recording.report_episodes import load_pictures
from structrl_ros.recording.report_episodes import save_picture
from structrl_ros.recording.report_evaluation import write_comparison
from structrl_ros.recording.report_evaluation import write_evaluation
from structrl_ros.training.experiments.report import write_report as write_learning

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

    def cpu_s(self):
        """Return the CPU seconds of all processes of the browser."""
        session, self._session = self._session, None
        found = self.call('SystemInfo.getProcessInfo')['processInfo']
        self._session = session
        return sum(process['cpuTime'] for process in found)

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
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        assert 'exceptionDetails' not in answer, answer
        return answer['result'].get('value')

    def wait(self, condition, seconds=60.0):
        """Wait until an expression is true."""
        expression = (
            f'new Promise((done) => {{ const end = Date.now() + {seconds * 1000};'
            f' const look = () => ({condition}) ? done(true) : Date.now() > end ? done(false)'
            ' : setTimeout(look, 20); look(); })'
        )
        answer = self.call(
            'Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True
        )
        assert answer['result'].get('value') is True, condition

    def click(self, name):
        """Click the element of an id as a person does, so that the page may play media."""
        x, y = self.value(
            f"(() => {{ const e = document.getElementById('{name}'); e.scrollIntoView();"
            ' const b = e.getBoundingClientRect();'
            ' return [b.x + b.width / 2, b.y + b.height / 2]; })()'
        )
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def press(self, key):
        """Press and release a key."""
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=key)

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


def check_fits(browser, width, dark, name):
    """Look at the open page: no overflow, no complaint, no request, and the wanted colours."""
    if folder := os.environ.get('STRUCTRL_SCREENSHOTS'):
        browser.screenshot(Path(folder) / f'{name}_{width}_{"dark" if dark else "light"}.png')
    assert browser.value('document.documentElement.scrollWidth') <= width
    assert browser.value('document.documentElement.clientWidth') == width
    assert browser.complaints() == []
    assert browser.requests() == []
    background = browser.value('getComputedStyle(document.body).backgroundColor')
    assert (sum(map(int, background[4:-1].split(','))) < 200) is dark


@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('width', [360, 1440])
def test_report_fits_and_is_silent(tmp_path, synthetic_run, browser, width, dark):
    synthetic_run(is_rich=True).write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), width, dark=dark)
    check_fits(browser, width, dark, 'report')


def test_videos_of_all_cameras_play(tmp_path, synthetic_run, browser):
    pytest.importorskip('av')
    synthetic_run(is_rich=True).write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), 1440, dark=False)
    browser.wait("[...document.querySelectorAll('video')].every((v) => v.readyState >= 2)")
    videos = browser.value(
        "[...document.querySelectorAll('video')].map((v) => [v.videoWidth, v.duration])"
    )
    assert [w for w, _ in videos] == [128, 128]
    assert videos[0][1] == pytest.approx(9.6, abs=0.5)
    assert browser.value("document.getElementById('play').textContent") == 'Play'
    browser.value("document.getElementById('speed').value = '4' || 0")
    browser.click('play')
    browser.wait("document.querySelector('video').ended")
    shown = browser.value(
        "document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames"
    )
    assert shown > 0
    assert browser.value("document.querySelector('video').error") is None
    assert browser.complaints() == []


def test_film_moves_the_cursor_of_the_timeline(tmp_path, synthetic_run, browser):
    pytest.importorskip('av')
    synthetic_run().write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), 1440, dark=False)
    browser.wait("document.querySelector('video').readyState >= 2")
    before = browser.value("document.getElementById('cursor').getAttribute('x1')")
    browser.value("[...document.querySelectorAll('.still')].at(-1).click() || 0")
    after = browser.value("document.getElementById('cursor').getAttribute('x1')")
    assert float(after) > float(before) + 500
    assert browser.value("document.getElementById('when').value") == '9.60 s'
    browser.wait("!document.querySelector('video').seeking")
    assert browser.value("document.querySelector('video').currentTime") > 9.0
    assert browser.complaints() == []


def test_every_control_can_be_reached_by_keyboard(tmp_path, synthetic_run, browser):
    synthetic_run(is_rich=True).write(tmp_path)
    browser.open(write_report(tmp_path).as_uri(), 1440, dark=False)
    kinds = 'a, button, input, select, summary, [tabindex="0"]'
    wanted = browser.value(
        f"(window.wanted = new Set([...document.querySelectorAll('{kinds}')]"
        '.filter((e) => e.checkVisibility()))).size'
    )
    for _ in range(wanted):
        browser.press('Tab')
        browser.value('window.wanted.delete(document.activeElement)')
    left = browser.value('[...window.wanted].map((e) => e.outerHTML.slice(0, 80))')
    assert wanted > 30
    assert left == []


@pytest.fixture(scope='module')
def page_of_500(tmp_path_factory, make_results):
    """Return the comparison of 500 pairs of episodes with 1,000 pictures."""
    folder = tmp_path_factory.mktemp('evaluation')
    random = np.random.default_rng(0)
    for number in range(500):
        pixels = random.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        save_picture(folder, number, pixels.repeat(5, 0).repeat(5, 1))
    pictures = load_pictures(folder)
    a = make_results('before', tasks=10, each=50, skill=0.4)
    b = make_results('after practice', tasks=10, each=50, seed=1, skill=0.8)
    return write_comparison(folder / 'report.html', a, b, pictures=(pictures, pictures))


@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('width', [360, 1440])
def test_comparison_fits_and_is_silent(tmp_path, make_results, browser, width, dark):
    a, b = make_results('before'), make_results('after practice', seed=1, skill=0.8)
    browser.open(write_comparison(tmp_path / 'c.html', a, b).as_uri(), width, dark=dark)
    check_fits(browser, width, dark, 'comparison')


@pytest.mark.parametrize('width', [360, 1440])
def test_evaluation_fits_and_is_silent(tmp_path, make_results, browser, width):
    results = make_results('a_policy_with_a_long_name_that_has_no_spaces_' * 2)
    browser.open(write_evaluation(tmp_path / 'e.html', results).as_uri(), width, dark=False)
    check_fits(browser, width, False, 'evaluation')


def test_500_pairs_of_episodes_open_in_2_s_of_cpu_time(page_of_500, browser):
    spent = []
    for _ in range(3):  # other processes of a busy machine cost CPU time, too: the best counts
        before = browser.cpu_s()
        browser.open(page_of_500.as_uri(), 1440, dark=False)
        browser.wait('document.readyState === "complete" && document.body.offsetHeight > 0')
        spent.append(browser.cpu_s() - before)
    assert browser.value("document.querySelectorAll('#episodes tbody tr').length") == 500
    assert browser.value("document.querySelectorAll('#episodes img').length") == 1000
    assert browser.value("document.querySelectorAll('#episodes img[src]').length") < 100
    assert min(spent) < 2.0


def test_table_of_episodes_sorts_and_filters(page_of_500, browser):
    browser.open(page_of_500.as_uri(), 1440, dark=False)
    assert browser.value("document.getElementById('shown').value") == '500 of 500'
    counts = "[...document.querySelectorAll('#episodes tbody tr')].filter((r) => !r.hidden)"
    browser.value(
        "(() => { const s = document.querySelectorAll('.choice')[1]; s.value = '=only before';"
        " s.dispatchEvent(new Event('change')); })() || 0"
    )
    results = browser.value(f'{counts}.map((r) => r.cells[4].textContent)')
    assert set(results) == {'only before'}
    assert browser.value("document.getElementById('shown').value") == f'{len(results)} of 500'
    times = f'{counts}.map((r) => +r.cells[7].textContent)'
    sort = "[...document.querySelectorAll('.sort')][7]"
    browser.value(f'{sort}.click() || 0')
    up = browser.value(times)
    assert up == sorted(up)
    browser.value(f'{sort}.click() || 0')
    assert browser.value(times) == sorted(up, reverse=True)
    assert browser.value(f"{sort}.closest('th').getAttribute('aria-sort')") == 'descending'
    browser.value(
        "(() => { const f = document.getElementById('find'); f.value = 'task_7';"
        " f.dispatchEvent(new Event('input')); })() || 0"
    )
    assert set(browser.value(f'{counts}.map((r) => r.cells[0].textContent)')) == {'task_7'}
    assert browser.complaints() == []


def test_pictures_come_when_they_are_looked_at(page_of_500, browser):
    browser.open(page_of_500.as_uri(), 1440, dark=False)
    last = "[...document.querySelectorAll('#episodes img')].at(-1)"
    assert browser.value(f"{last}.hasAttribute('src')") is False
    browser.value(f'{last}.scrollIntoView() || 0')
    browser.wait(f'{last}.complete && {last}.naturalWidth === 80')
    assert browser.complaints() == []


def test_print_is_light_without_controls_and_with_every_row(page_of_500, browser):
    browser.open(page_of_500.as_uri(), 1440, dark=True)
    scheme = {'name': 'prefers-color-scheme', 'value': 'dark'}
    browser.call('Emulation.setEmulatedMedia', media='print', features=[scheme])
    assert browser.value('getComputedStyle(document.body).backgroundColor') == 'rgb(247, 248, 248)'
    controls = "getComputedStyle(document.querySelector('.controls')).display"
    assert browser.value(controls) == 'none'
    tall = "document.querySelector('.tall')"
    assert browser.value(f'{tall}.clientHeight === {tall}.scrollHeight')
    browser.call('Emulation.setEmulatedMedia', media='', features=[])


@pytest.mark.parametrize('width', [360, 1440])
def test_report_of_learning_fits_and_is_silent(tmp_path, browser, width):
    results = Path(__file__).parents[2] / 'docs/learning_results.json'
    page = write_learning(tmp_path, json.loads(results.read_text()))
    browser.open(page.as_uri(), width, dark=True)
    check_fits(browser, width, True, 'learning')
