"""The mismatch page in headless Chromium: no console error, no network, no overflow."""

from dataclasses import replace

import pytest
from chromium import CHROMIUM
from chromium import Browser
from mismatch_bags import World
from mismatch_bags import write_world

from structrl_ros.recording.mismatch import compare_bags
from structrl_ros.recording.mismatch_page import write_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason='Chromium is not installed'),
]


@pytest.fixture(scope='module')
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags')
    sim = write_world(folder / 'a_rather_long_name_of_a_simulated_run' / 'bag', World(chunks=12))
    real = write_world(folder / 'real', replace(World(chunks=12), brightness=40.0, scale=0.5))
    return write_page(compare_bags(sim, real), folder / 'mismatch.html').as_uri()


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp('profile'))
    yield browser
    browser.close()


@pytest.mark.parametrize('dark', [False, True])
@pytest.mark.parametrize('width', [360, 1440])
def test_the_page_fits_and_is_silent(browser, address, width, dark):
    browser.open(address, width, dark=dark)
    assert browser.value('document.documentElement.scrollWidth') <= width
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.value("document.querySelectorAll('svg.small-chart').length") == 13
