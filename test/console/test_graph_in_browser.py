"""The console on a running graph, in headless Chromium: watch a task, stop it, cancel it."""

import io
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs the ROS 2 wheels: make install')
pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')
pytest.importorskip('fastapi', reason='needs the console: pip install -r requirements/console.txt')
pytest.importorskip('uvicorn', reason='needs the console: pip install -r requirements/console.txt')

from chromium import CHROMIUM
from console_server import RunningConsole
from PIL import Image
from ros_domains import claimed_domain

from structrl_ros.console.live_state import LiveState
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.nodes.console_link import ConsoleLink
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState

pytestmark = [
    pytest.mark.ros,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed'),
]
#: Wall seconds for a graph to come up and for a subtask to be done, on a busy machine.
GRAPH_S = 150.0
BODIES = ['twin', pytest.param('libero', marks=pytest.mark.sim)]


class Scene:
    """A graph in processes of its own, a console on it, and the page in a browser."""

    def __init__(self, body, folder, browser):
        self.browser, self.folder = browser, folder
        domain = claimed_domain(f'console and {body}')
        words = ['up', 'deploy', f'body:={body}', f'record:={folder / "bag"}']
        self.graph = subprocess.Popen(
            [sys.executable, '-m', 'structrl_ros.cli.main', *words, '--run-dir', folder / 'run'],
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.state, self.shelf = LiveState(), PictureShelf()
        self._link = ConsoleLink(self.state, self.shelf, domain_id=domain)
        self._link.__enter__()
        operator = self._link.node.operator
        self.console = RunningConsole(operator, self.state, self.shelf)
        self.console.__enter__()

    def value(self, expression):
        return self.browser.value(expression)

    def wait(self, expression):
        return self.browser.wait(expression, GRAPH_S)

    def text(self, name):
        return self.value(f"document.getElementById('{name}').textContent")

    def click(self, name):
        """Press a button once it can be pressed."""
        self.wait(f"document.getElementById('{name}').title === ''")
        self.value(f"document.getElementById('{name}').click()")

    def has(self, name, words):
        self.wait(f"document.getElementById('{name}').textContent.includes({words!r})")

    def newer_pictures(self, count):
        number = "Number(document.getElementById('camera-head').dataset.number || 0)"
        before = self.value(number)
        self.wait(f'{number} >= {before + count}')

    def picture(self):
        jpeg = self.shelf.newest('head').jpeg
        return np.asarray(Image.open(io.BytesIO(jpeg)), dtype=float)

    def is_latched(self):
        return self.state.newest(Safety).state is SafetyState.EMERGENCY

    def close(self):
        self.console.__exit__()
        self._link.__exit__(None, None, None)
        if self.graph.poll() is None:
            self.graph.send_signal(signal.SIGINT)
        self.graph.wait(60)


@pytest.fixture(params=BODIES)
def scene(request, tmp_path, browser):
    scene = Scene(request.param, tmp_path, browser)
    yield scene
    scene.close()


def test_a_task_is_watched_stopped_run_again_cancelled_and_its_graph_dies(
    scene, browser, keep_screenshot
):
    browser.open(f'{scene.console.url}/', 1440)
    scene.has('graph', 'alive')
    scene.newer_pictures(3)
    still = scene.picture()
    scene.click('run')
    scene.wait("document.querySelector('#plan li.current') !== null")
    scene.wait("document.querySelector('#plan li.done') !== null")
    scene.wait("document.querySelector('#return-chart path.line') !== null")
    scene.has('control', 'scripted expert')
    scene.newer_pictures(1)
    assert np.abs(scene.picture() - still).max() > 50.0
    keep_screenshot('watched')
    assert_fits(browser, 1440)

    browser.press('Escape', 'Escape', 27)
    scene.wait("!document.getElementById('latched').hidden")
    assert scene.is_latched()
    scene.has('task', 'cancelled')
    assert_holds(scene)
    keep_screenshot('stopped')

    scene.click('reset')
    scene.click('ask-yes')
    scene.wait("document.getElementById('latched').hidden")
    assert_holds(scene)  # the stop has cancelled the task: a reset alone moves nothing

    scene.click('run')
    scene.has('task', 'under way')
    browser.open(f'{scene.console.url}/', 360, dark=True)  # another look, while it is under way
    scene.has('task', 'under way')
    scene.wait("document.querySelector('#plan li.current') !== null")
    assert_fits(browser, 360)
    scene.click('cancel')
    scene.has('task', 'cancelled')
    scene.wait("document.querySelectorAll('#plan li').length === 0")
    assert_holds(scene)

    scene.click('stop_recording')
    scene.has('recorder', 'ended')
    scene.click('record')
    scene.has('recorder', 'bag_2')
    assert (scene.folder / 'bag' / 'metadata.yaml').is_file()
    assert browser.complaints() == []

    scene.graph.send_signal(signal.SIGINT)
    scene.graph.wait(60)
    scene.has('lost', 'the body')
    scene.wait("document.getElementById('graph').textContent !== 'alive'")
    scene.wait("document.querySelector('figure.stale') !== null")
    assert re.search(r'\?$', scene.text('safety'))


def assert_fits(browser, width):
    assert browser.value('document.documentElement.scrollWidth') <= width
    assert browser.complaints() == []


def assert_holds(scene):
    """The body comes to rest within a few pictures, and then it is at rest."""
    for _ in range(4):
        if is_at_rest(scene):
            break
    assert is_at_rest(scene)


def is_at_rest(scene):
    """Return whether the scene looks the same three pictures later, but for what settles."""
    scene.newer_pictures(1)
    before = scene.picture()
    scene.newer_pictures(3)
    moved = np.abs(scene.picture() - before) > 40.0
    return moved.mean() < 0.001
