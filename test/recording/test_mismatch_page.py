"""The page and the table of a mismatch report, as a user gets them."""

import json
import re
from dataclasses import replace

import pytest
from mismatch_bags import World
from mismatch_bags import write_world
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.recording.mismatch import compare_bags
from structrl_ros.recording.mismatch_page import format_number
from structrl_ros.recording.mismatch_page import render


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp('bags')
    write_world(folder / 'run' / 'bag', World(chunks=12))
    real = replace(World(chunks=12), brightness=40.0, latency_periods=3)
    return folder / 'run', write_world(folder / 'real', real)


@pytest.fixture(scope='module')
def page(bags):
    sim, real = bags
    return render(compare_bags(sim / 'bag', real))


def test_the_page_needs_nothing_else(page):
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert 'url(' not in page
    assert 'nan' not in re.sub(r'base64,[^"]*', '', page).split()


def test_the_page_names_what_is_apart_with_its_size_and_remedy(page):
    table = page[page.index('What to look at first') : page.index('Everything else')]
    assert table.index('brightness of head') < table.index('Pictures, head')
    assert 'observation to chunk' in table
    assert 'lockstep:=false' in table
    assert page.count('<svg') == 1 + 5 + 7  # one camera, five latencies, seven entries


def test_the_command_takes_runs_and_writes_page_and_numbers(bags, tmp_path):
    sim, real = bags
    html, numbers = tmp_path / 'm.html', tmp_path / 'm.json'
    words = ['bag', 'mismatch', str(sim), str(real), '--html', str(html), '--json', str(numbers)]
    result = CliRunner().invoke(app, words, env={'COLUMNS': '200'})
    assert result.exit_code == 0, result.output
    assert 'brightness of head' in result.output
    assert 'quantities worth a look' in result.output
    assert html.read_text().startswith('<!DOCTYPE html>')
    names = [line['name'] for line in json.loads(numbers.read_text())['lines']]
    assert 'brightness of head' in names


def test_two_equal_recordings_have_no_table(bags):
    sim, _ = bags
    result = CliRunner().invoke(app, ['bag', 'mismatch', str(sim), str(sim)])
    assert result.exit_code == 0, result.output
    assert result.output.startswith('0 of ')


@pytest.mark.parametrize(
    ('value', 'text'),
    [(0.0, '0'), (1e-9, '0'), (0.0385, '0.0385'), (-123.4, '-123'), (1e4, '10000')],
)
def test_numbers_have_three_figures(value, text):
    assert format_number(value) == text
