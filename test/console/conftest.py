"""One Chromium for all pages of the console."""

import os
from pathlib import Path

import pytest
from chromium import CHROMIUM
from chromium import Browser


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip('Chromium is not installed')
    browser = Browser(tmp_path_factory.mktemp('profile'))
    yield browser
    browser.close()


@pytest.fixture
def keep_screenshot(browser):
    """Keep a picture of the page where STRUCTRL_SCREENSHOTS names a folder."""

    def keep(name):
        if folder := os.environ.get('STRUCTRL_SCREENSHOTS'):
            browser.screenshot(Path(folder) / f'console_{name}.png')

    return keep
