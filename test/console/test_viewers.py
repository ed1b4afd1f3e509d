"""Browsers that are fast, slow, hung or gone: the newest only, and nobody holds up another."""

import contextlib
import io
import json
import struct
import threading
import time

import numpy as np
import pytest

pytest.importorskip('fastapi', reason='needs the console: pip install -r requirements/console.txt')
pytest.importorskip('uvicorn', reason='needs the console: pip install -r requirements/console.txt')

from console_server import RunningConsole
from PIL import Image
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from structrl_ros.console.pictures import LONGEST_SIDE
from structrl_ros.console.pictures import PictureShelf
from structrl_ros.console.pictures import jpeg_of
from structrl_ros.console.viewers import MOST_VIEWERS

LIMIT_S = 60.0


def grey(level, height=24, width=32):
    return np.full((height, width, 3), level, np.uint8)


class Page:
    """A browser's end of the feed; takes and confirms what a test asks it to."""

    def __init__(self, console):
        url = console.url.replace('http', 'ws', 1) + '/live'
        headers = {'Cookie': console.cookie()}
        self._opened = contextlib.ExitStack()
        self._socket = self._opened.enter_context(
            connect(
                url, origin=console.url, additional_headers=headers, proxy=None, open_timeout=60
            )
        )

    def look(self, *roles):
        self._socket.send(json.dumps({'look': roles}))

    def next(self, *, state=False):
        """Return the next picture (head, JPEG), or state; states on the way are confirmed."""
        while True:
            message = self._socket.recv(timeout=LIMIT_S)
            if isinstance(message, str):
                self._socket.send(json.dumps({'seen': 'state'}))
                if state:
                    return json.loads(message)
            elif not state:
                length = struct.unpack('<I', message[:4])[0]
                return json.loads(message[4 : 4 + length]), message[4 + length :]

    def confirm(self, role):
        self._socket.send(json.dumps({'seen': role}))

    def say(self, text):
        self._socket.send(text)

    def close(self):
        self._opened.close()


@pytest.fixture
def console():
    with RunningConsole() as running:
        yield running


@pytest.fixture
def page(console):
    page = Page(console)
    yield page
    page.close()


def wait(true, what):
    end = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def test_a_picture_is_a_jpeg_of_what_was_put_in(console, page):
    page.look('head')
    console.shelf.put('head', 7_000_000_000, grey(200))
    head, jpeg = page.next()
    assert (head['role'], head['number'], head['t']) == ('head', 1, 7.0)
    pixels = np.asarray(Image.open(io.BytesIO(jpeg)))
    assert pixels.shape == (24, 32, 3)
    assert abs(int(pixels.mean()) - 200) <= 2


def test_a_browser_that_does_not_confirm_gets_nothing_more_and_then_the_newest(console, page):
    page.look('head')
    console.shelf.put('head', 0, grey(1))
    assert page.next()[0]['number'] == 1
    for level in range(2, 52):
        console.shelf.put('head', 0, grey(level))
    for _ in range(3):  # states go on meanwhile, and no picture comes between them
        assert page.next(state=True)
    page.confirm('head')
    assert page.next()[0]['number'] == 51


def test_nothing_is_made_a_jpeg_while_nobody_looks(console, page, monkeypatch):
    made = []
    monkeypatch.setattr(
        'structrl_ros.console.pictures.jpeg_of', lambda image: made.append(1) or jpeg_of(image)
    )
    console.shelf.put('head', 0, grey(1))
    assert page.next(state=True)
    assert page.next(state=True)
    assert made == []
    page.look('head')
    page.next()
    assert made == [1]


def test_two_browsers_share_one_jpeg(console, page, monkeypatch):
    made = []
    monkeypatch.setattr(
        'structrl_ros.console.pictures.jpeg_of', lambda image: made.append(1) or jpeg_of(image)
    )
    other = Page(console)
    page.look('head')
    other.look('head')
    console.shelf.put('head', 0, grey(1))
    assert page.next()[1] == other.next()[1]
    assert made == [1]
    other.close()


def test_a_hung_browser_holds_up_neither_another_nor_the_node(console, page):
    hung = Page(console)  # confirms nothing, reads nothing
    hung.look('head')
    page.look('head')
    spent_s = []
    for number in range(1, 31):
        began_s = time.thread_time()
        console.shelf.put('head', 0, grey(number, 480, 640))
        console.state.take_health('sim_node: body', 0, str(number))
        spent_s.append(time.thread_time() - began_s)
        head, _ = page.next()
        page.confirm('head')
        assert head['number'] == number
    assert max(spent_s) < 0.02
    hung.close()


def test_a_browser_that_goes_is_forgotten_with_its_cameras(console, page):
    gone = Page(console)
    gone.look('head')
    page.look('left_wrist')
    wait(lambda: console.shelf.wanted_roles == {'head', 'left_wrist'}, 'both cameras')
    gone.close()
    wait(lambda: console.shelf.wanted_roles == {'left_wrist'}, 'one camera')
    page.look()
    wait(lambda: console.shelf.wanted_roles == frozenset(), 'no camera')
    wait(lambda: console.viewers.count == 1, 'one browser')


def test_what_a_browser_says_that_is_no_sense_is_ignored(console, page):
    for text in ('', '{', '[]', '7', '{"look": 3}', '{"look": ["gripper", 5]}', '{"seen": []}'):
        page.say(text)
    page.look('head')
    wait(lambda: console.shelf.wanted_roles == {'head'}, 'the camera')


def test_one_browser_too_many_is_told_so(console):
    pages = [Page(console) for _ in range(MOST_VIEWERS)]
    for page in pages:
        page.next(state=True)
    extra = Page(console)
    with pytest.raises(ConnectionClosed, match='look already'):
        extra.next()
    for page in pages:
        page.close()


def test_the_state_comes_whole_then_what_is_new_and_its_age_without_news(console, page):
    first = page.next(state=True)
    assert first['log']['restart']
    console.state.take_health('sim_node: body', 0, 'well')
    told = page.next(state=True)
    while not told['health']:
        told = page.next(state=True)
    assert told['health'][0]['text'] == 'well'
    assert not told['log']['restart']
    age_s = told['health'][0]['age_s']
    assert page.next(state=True)['health'][0]['age_s'] > age_s


def test_a_large_picture_is_made_smaller_and_a_small_one_is_left():
    large = Image.open(io.BytesIO(jpeg_of(grey(9, 720, 1280))))
    assert large.size == (LONGEST_SIDE, LONGEST_SIDE * 720 // 1280)
    assert Image.open(io.BytesIO(jpeg_of(grey(9)))).size == (32, 24)


def test_the_shelf_is_filled_and_read_by_threads_at_once():
    shelf = PictureShelf()
    shelf.put('head', 0, grey(0))
    stop = threading.Event()

    def fill():
        while not stop.is_set():
            shelf.put('head', 0, grey(shelf.number('head') % 256))

    thread = threading.Thread(target=fill)
    thread.start()
    numbers = [shelf.newest('head').number for _ in range(100)]
    stop.set()
    thread.join(LIMIT_S)
    assert numbers == sorted(numbers)
    assert shelf.newest('nothing') is None
