"""The report in headless Chromium: no console error, no network, no overflow, light and dark."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from chromium import CHROMIUM
from chromium import Browser

from structrl_ros.recording.report import write_report
from structrl_ros.recording.report_episodes import load_pictures
from structrl_ros.recording.report_episodes import save_picture
from structrl_ros.recording.report_evaluation import write_comparison
from structrl_ros.recording.report_evaluation import write_evaluation
from structrl_ros.training.experiments.report import write_report as write_learning

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed'),
]


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp('profile'))
    yield browser
    browser.close()


def cpu_s(browser):
    """Return the CPU seconds of all processes of the browser."""
    session, browser._session = browser._session, None
    found = browser.call('SystemInfo.getProcessInfo')['processInfo']
    browser._session = session
    return sum(process['cpuTime'] for process in found)


def click(browser, name):
    """Click the element of an id as a person does, so that the page may play media."""
    x, y = browser.value(
        f"(() => {{ const e = document.getElementById('{name}'); e.scrollIntoView();"
        ' const b = e.getBoundingClientRect();'
        ' return [b.x + b.width / 2, b.y + b.height / 2]; })()'
    )
    for kind in ('mousePressed', 'mouseReleased'):
        browser.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)


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
    click(browser, 'play')
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
        browser.press('Tab', 'Tab', 9)
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
        before = cpu_s(browser)
        browser.open(page_of_500.as_uri(), 1440, dark=False)
        browser.wait('document.readyState === "complete" && document.body.offsetHeight > 0')
        spent.append(cpu_s(browser) - before)
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
    results = browser.value(f'{counts}.map((r) => r.cells[5].textContent)')
    assert set(results) == {'only before'}
    assert browser.value("document.getElementById('shown').value") == f'{len(results)} of 500'
    times = f'{counts}.map((r) => +r.cells[8].textContent)'
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
    assert set(browser.value(f'{counts}.map((r) => r.cells[1].textContent)')) == {'task_7'}
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
