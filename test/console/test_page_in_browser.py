"""The page in headless Chromium on a console without a graph: layout, buttons, reconnection."""

import time

import numpy as np
import pytest

pytest.importorskip('fastapi', reason='needs the console: pip install -r requirements/console.txt')
pytest.importorskip('uvicorn', reason='needs the console: pip install -r requirements/console.txt')

from console_server import RunningConsole

from structrl_ros.console import operator
from structrl_ros.console.operator import Answer
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

pytestmark = pytest.mark.slow

SECOND = 1_000_000_000
TOKEN = 'correct horse battery'
LONG = 'place_the_very_long_name_without_any_blank_that_a_simulator_may_give_to_an_object'
ALLOWED = dict.fromkeys(
    (operator.RUN, operator.CANCEL, operator.RECORD, operator.RESET_SAFETY), ''
)
REASONS = {**ALLOWED, operator.MARK: 'no evaluation that asks a person serves /mark_episode'}


def fill(console):
    """Have a graph say something of everything, with long words."""
    steps = tuple(Subtask(f'{LONG}({n})', f'{LONG} {n}', 'place', (), n) for n in range(4))
    state = console.state
    state.look_around({'body': True, 'planner': True}, REASONS, ('head', 'left_wrist'))
    state.take_health('sim_node: body', 0, f'real-time factor 1.00 {LONG}')
    state.take(Episode(SECOND, 1, False, 'twin', LONG, f'put {LONG} away', 3, 1))
    state.take(Safety(SECOND, SafetyState.OK, ''))
    state.take(Plan(SECOND, 1, 'pack', steps, LONG, 'rules'))
    state.take(
        SubtaskStatus(SECOND, 1, 1, 1, steps[1].id, (steps[0].id,), (steps[1].id,), (steps[3].id,))
    )
    for k in range(20):
        stamp_ns = (k + 1) * SECOND
        terms = ((LONG, 0.5),) if k % 7 == 0 else ()
        state.take(Reward(stamp_ns, 1, k, 0.1, terms, 0.1 * k, False, False))
        state.take(Progress(stamp_ns, 1, k, 0, 0, 0, False, np.sin(0.3 * k), 0.0, 0.1, True))
    for role in ('head', 'left_wrist'):
        console.shelf.put(role, SECOND, np.full((240, 320, 3), 120, np.uint8))


@pytest.fixture
def console():
    with RunningConsole() as running:
        fill(running)
        yield running


def text(browser, name):
    return browser.value(f"document.getElementById('{name}').textContent")


def click(browser, name):
    """Press a button that can be pressed; on a busy machine the page may be without news."""
    browser.wait(f"document.getElementById('{name}').title === ''")
    browser.value(f"document.getElementById('{name}').click()")


def ready(browser, console, width=1440, *, dark=False):
    browser.open(f'{console.url}/', width, dark=dark)
    browser.wait("document.querySelector('#camera-head')?.dataset.number")
    browser.wait("document.querySelectorAll('#plan li').length === 4")


def wait_for_asked(browser, console, count):
    end = time.monotonic() + 60.0
    while len(console.operator.asked) < count:
        assert time.monotonic() < end, text(browser, 'notice')
        time.sleep(0.05)


@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('width', [360, 1440])
def test_the_page_fits_is_silent_and_asks_nobody_else(
    browser, console, width, dark, keep_screenshot
):
    ready(browser, console, width, dark=dark)
    keep_screenshot(f'page_{width}_{"dark" if dark else "light"}')
    assert browser.value('document.documentElement.scrollWidth') <= width
    assert browser.value('document.documentElement.clientWidth') == width
    assert browser.complaints() == []
    assert {u for u in browser.requests() if not u.startswith(f'{console.url}/')} == set()
    background = browser.value('getComputedStyle(document.body).backgroundColor')
    assert (sum(map(int, background[4:-1].split(','))) < 200) is dark
    areas = browser.value(
        "[...document.querySelectorAll('main button, header button')]"
        '.map(b => [b.id, b.offsetWidth * b.offsetHeight]).sort((a, b) => b[1] - a[1])'
    )
    assert areas[0][0] == 'stop'
    assert areas[0][1] > 2 * areas[1][1]
    assert browser.value(
        "(() => { const b = document.getElementById('stop').getBoundingClientRect();"
        ' return b.top >= 0 && b.bottom <= innerHeight; })()'
    )


def test_plan_curves_and_control_are_drawn_from_what_was_heard(browser, console):
    ready(browser, console)
    states = browser.value("[...document.querySelectorAll('#plan li')].map(li => li.className)")
    assert states == ['done', 'current', 'open', 'blocked']
    for chart in ('return', 'potential'):
        assert browser.value(f"document.querySelectorAll('#{chart}-chart path.line').length") == 1
    assert text(browser, 'return-now') == 'return 1.9'
    console.state.take_health('sim_node: body', 0, 'well')
    browser.wait("document.getElementById('safety').textContent === 'ok'")


def test_a_button_without_a_server_says_why_and_sends_nothing(browser, console):
    ready(browser, console)
    button = "document.getElementById('mark_success')"
    browser.wait(f'{button}.title.startsWith("no evaluation")')
    assert browser.value(f'{button}.title') == REASONS[operator.MARK]
    assert browser.value(f"{button}.getAttribute('aria-disabled')") == 'true'
    browser.value(f'{button}.click()')
    browser.wait("document.getElementById('notice').textContent.includes('no evaluation')")
    assert console.operator.asked == []


def test_run_sends_the_sentence_and_cancel_cancels(browser, console):
    ready(browser, console)
    assert browser.value("document.getElementById('instruction').value") == f'put {LONG} away'
    browser.value("document.getElementById('instruction').value = ' open  the\\nbox '")
    click(browser, 'run')
    browser.wait("document.getElementById('notice').textContent === 'as you wish'")
    click(browser, 'cancel')
    wait_for_asked(browser, console, 2)
    assert console.operator.asked == [('run', ('open the box', 0.0)), ('cancel', ())]


@pytest.mark.parametrize('how', ['click', 'key', 'key while typing', 'key over a dialog'])
def test_emergency_stop_by_button_and_by_key_wherever_the_focus_is(browser, console, how):
    ready(browser, console)
    if how == 'key while typing':
        browser.value("document.getElementById('instruction').focus()")
    if how == 'key over a dialog':
        console.state.take(Safety(SECOND, SafetyState.EMERGENCY, 'button'))
        browser.wait("!document.getElementById('latched').hidden")
        click(browser, 'reset')
        browser.wait("document.getElementById('ask').open")
    if how == 'click':
        click(browser, 'stop')
    else:
        browser.press('Escape', 'Escape', 27)
    browser.wait("document.getElementById('notice').textContent.startsWith('Emergency stop')")
    assert console.operator.asked == [('emergency_stop', ())]


def test_a_latched_stop_is_shown_and_its_reset_asks_again(browser, console):
    ready(browser, console)
    console.state.take(Safety(SECOND, SafetyState.EMERGENCY, 'button'))
    browser.wait("!document.getElementById('latched').hidden")
    assert 'button' in text(browser, 'latched-text')
    assert browser.value('document.title').startswith('■')
    click(browser, 'reset')
    browser.wait("document.getElementById('ask').open")
    click(browser, 'ask-no')
    browser.wait("!document.getElementById('ask').open")
    assert console.operator.asked == []
    click(browser, 'reset')
    click(browser, 'ask-yes')
    wait_for_asked(browser, console, 1)
    assert console.operator.asked == [('reset_safety', ())]
    console.state.take(Safety(SECOND, SafetyState.HOLD, 'no chunk'))
    browser.wait("document.getElementById('latched').hidden")


def test_a_stop_that_nobody_confirms_is_told_and_tried_again(browser, console):
    ready(browser, console)
    console.operator.answer = Answer(False, 'nobody serves /emergency_stop')
    click(browser, 'stop')
    browser.wait("!document.getElementById('undelivered').hidden")
    assert 'NOT CONFIRMED: nobody serves' in text(browser, 'undelivered')
    console.operator.answer = Answer(True, 'stopped')
    browser.wait("document.getElementById('undelivered').hidden")
    assert {action for action, _ in console.operator.asked} == {'emergency_stop'}


def test_a_picture_that_grows_old_is_marked_with_its_age_and_a_new_one_is_live(browser, console):
    ready(browser, console)
    old = "document.querySelector('#camera-head').closest('figure')"
    browser.wait(f"{old}.classList.contains('stale')")
    assert 's old' in browser.value(f"{old}.querySelector('.age').textContent")
    console.shelf.put('head', 2 * SECOND, np.full((240, 320, 3), 20, np.uint8))
    browser.wait(f"!{old}.classList.contains('stale')")
    browser.wait(f"{old}.classList.contains('stale')")


def test_a_graph_that_dies_is_told_with_the_age_of_what_is_shown(browser, console):
    ready(browser, console)
    browser.wait("document.getElementById('graph').textContent === 'silent'")
    assert 'no sign of life' in text(browser, 'lost')
    assert text(browser, 'safety') == 'ok?'
    console.state.look_around({'body': False}, {}, ())
    browser.wait("document.getElementById('graph').textContent === 'absent'")
    assert 'has gone' in text(browser, 'lost')


def test_a_console_that_goes_is_told_and_one_that_returns_is_found_without_a_reload(browser):
    with RunningConsole() as first:
        fill(first)
        ready(browser, first)
        browser.value('window.marker = 7')
        port = int(first.url.rsplit(':', 1)[1])
    browser.wait("document.getElementById('lost').textContent.includes('No connection')")
    browser.wait("document.getElementById('run').title === 'no connection to the console'")
    with RunningConsole(port=port) as second:
        fill(second)
        second.state.take(Plan(2 * SECOND, 2, 'pack', ()))
        browser.wait("document.getElementById('no-plan').textContent.includes('hold')")
        click(browser, 'stop')
        browser.wait("document.getElementById('notice').textContent.startsWith('Emergency')")
        assert second.operator.asked == [('emergency_stop', ())]
        assert browser.value('window.marker') == 7


def test_with_a_token_the_page_asks_for_it_and_then_works(browser, monkeypatch):
    monkeypatch.setenv('STRUCTRL_CONSOLE_TOKEN', TOKEN)
    with RunningConsole(host='0.0.0.0') as console:
        fill(console)
        browser.call('Network.clearBrowserCookies')
        browser.open(f'{console.url}/', 1440)
        browser.wait("document.getElementById('login').open")
        assert browser.value("document.querySelectorAll('#plan li').length") == 0
        for token in ('a wrong one, and long', TOKEN):
            browser.value(f"document.getElementById('token').value = '{token}'")
            browser.value("document.getElementById('login-form').requestSubmit()")
            browser.wait("!document.getElementById('login-text').textContent.includes('looking')")
        browser.wait("!document.getElementById('login').open")
        browser.wait("document.querySelectorAll('#plan li').length === 4")
        assert browser.value('document.cookie') == ''
        assert TOKEN not in browser.value('document.documentElement.outerHTML')
