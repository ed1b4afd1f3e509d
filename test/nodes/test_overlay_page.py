"""The page of `structrl overlay` beside a camera over DDS: what it serves, refuses and shows."""

import io
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import numpy as np
import pytest
from PIL import Image as Picture

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

from chromium import CHROMIUM
from chromium import Browser
from overlay_graph import LIVE
from overlay_graph import WANTED
from overlay_graph import overlay
from ros_domains import claimed_domain

from structrl_ros.evaluation.alignment import Overlay
from structrl_ros.nodes.overlay_page import OverlayPage
from structrl_ros.recording.references import CARDS

pytestmark = pytest.mark.ros


def write_cards(folder):
    """Write two placement cards, of the wanted scene and of the live one."""
    folder.mkdir()
    cards = []
    for number, picture in enumerate((WANTED, LIVE)):
        name = f'{number}.png'
        Picture.fromarray(picture).save(folder / name)
        cards.append(
            {
                'task': 'lunch',
                'seed': number,
                'initial_state': 0,
                'text': f'apple at x 0.{number} m; <b>box</b> at x 0.5 m',
                'pictures': {'head': name},
            }
        )
    (folder / CARDS).write_text(json.dumps({'format': 1, 'cards': cards}))
    return str(folder)


@contextmanager
def page_of(tmp_path):
    with overlay(tmp_path, reference=write_cards(tmp_path / 'cards')) as (node, looker):
        page = OverlayPage(node, 0)
        page.start()
        try:
            yield page, node, looker
        finally:
            page.stop()


def get(page, path, **headers):
    request = urllib.request.Request(page.url.rstrip('/') + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def state(page, card=0):
    return json.loads(get(page, f'/state.json?card={card}')[2])


def test_the_page_serves_overlays_of_every_card(tmp_path):
    with page_of(tmp_path) as (page, node, looker):
        looker.wait(lambda: state(page)['match'])  # asking makes the node hear the camera
        assert node.camera.is_heard
        first, second = state(page, 0), state(page, 1)
        status, headers, body = get(page, '/overlay.jpg?card=0&mode=difference&percent=100')
        reference = get(page, '/reference.jpg?card=0')[2]
        html = get(page, '/')[2].decode()
        looker.wait(lambda: not node.camera.is_heard)  # nobody asks any more
    assert first['match']['score'] == pytest.approx(Overlay(WANTED).match(LIVE).score, abs=1e-3)
    assert second['match']['score'] == pytest.approx(1.0)
    assert [r['name'] for r in first['references']] == [
        'lunch, seed 0, initial state 0',
        'lunch, seed 1, initial state 0',
    ]
    assert (status, headers['Content-Type']) == (200, 'image/jpeg')
    shown = np.asarray(Picture.open(io.BytesIO(body))).astype(int)
    want = Overlay(WANTED).draw(LIVE, 'difference', 1.0)
    assert np.abs(shown - want).mean() < 8.0  # JPEG
    assert np.abs(np.asarray(Picture.open(io.BytesIO(reference))) - WANTED.astype(int)).mean() < 8
    assert 'Set up the scene: head camera' in html


def test_what_is_not_allowed_is_refused_in_one_line(tmp_path):
    with page_of(tmp_path) as (page, _, looker):
        looker.wait(lambda: state(page)['match'])
        wrong = {
            '/overlay.jpg?card=7': (400, 'card 7; allowed: 0 to 1'),
            '/overlay.jpg?card=-1': (400, "card is '-1'; allowed: a whole number"),
            '/overlay.jpg?mode=negative': (400, "overlay 'negative' with alpha 0.5; allowed"),
            '/overlay.jpg?percent=400': (400, 'alpha 4.0; allowed'),
            '/reference.jpg?card=2': (400, 'card 2; allowed: 0 to 1'),
            '/etc/passwd': (404, 'no such page'),
        }
        for path, (status, line) in wrong.items():
            found, _, body = get(page, path)
            assert found == status
            assert line in body.decode()
        assert get(page, '/state.json', Host='evil.example:80')[0] == 421
        headers = get(page, '/')[1]
        assert page.url.startswith('http://127.0.0.1:')
    assert "default-src 'none'" in headers['Content-Security-Policy']
    assert headers['X-Content-Type-Options'] == 'nosniff'


@pytest.mark.slow
def test_the_command_tells_its_address_and_ends_at_a_signal(tmp_path):
    words = ['overlay', '--reference', write_cards(tmp_path / 'cards'), '--port', '0']
    child = subprocess.Popen(
        [sys.executable, '-m', 'structrl_ros.cli.main', *words],
        env={**os.environ, 'ROS_DOMAIN_ID': str(claimed_domain('overlay'))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        url = child.stdout.readline().split()[1]
        with urllib.request.urlopen(f'{url}state.json', timeout=60) as answer:
            references = json.loads(answer.read())['references']
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert len(references) == 2
    assert child.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed')
def test_the_page_shows_the_live_overlay_and_the_card(tmp_path):
    browser = Browser(tmp_path / 'profile')
    try:
        with page_of(tmp_path) as (page, _, _):
            for width, dark in ((360, False), (1440, True)):
                browser.open(page.url, width, dark=dark)
                browser.wait("document.getElementById('overlay').naturalWidth === 128")
                browser.wait("document.getElementById('score').textContent.startsWith('0.')")
                assert browser.value('document.documentElement.scrollWidth') <= width
            items = "[...document.querySelectorAll('#text li')].map((e) => e.textContent)"
            assert browser.value(items) == ['apple at x 0.0 m', '<b>box</b> at x 0.5 m']
            browser.value(
                "(() => { const e = document.getElementById('card'); e.value = '1';"
                " e.dispatchEvent(new Event('change')); return 1; })()"
            )
            browser.wait("document.getElementById('score').textContent === '1.00'")
            browser.wait(items + ".join().includes('0.1 m')")
            assert browser.complaints() == []
    finally:
        browser.close()
