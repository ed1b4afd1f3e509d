"""The main job, as `make demo LOCKSTEP=1` does it: the real LIBERO scene and the whole graph."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.sim]


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp('libero') / 'run'
    words = ['demo', '--lockstep', '--run-dir', str(directory)]
    done = subprocess.run(
        [sys.executable, '-m', 'structrl_ros.cli.main', *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    return directory, done


def test_both_the_soup_and_the_sauce_go_into_the_basket(run):
    directory, done = run
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((directory / 'run.json').read_text())
    assert record['episode']['success'] is True
    assert record['outcome'] == {
        'success': True,
        'reason': 'all 4 steps verified',
        'told_by': 'task',
    }


def test_every_node_ends_by_itself(run):
    _, done = run
    assert 'killed' not in done.stdout


def test_monitor_holds_five_hertz_of_simulated_time(run):
    directory, _ = run
    monitor = json.loads((directory / 'run.json').read_text())['monitor']
    assert monitor['period']['p99_s'] <= 0.210
    assert monitor['held']['rate_hz'] == pytest.approx(5.0, abs=0.1)


def test_ledger_is_recomputed_to_the_last_bit_and_sums_to_the_return(run):
    directory, _ = run
    record = json.loads((directory / 'run.json').read_text())
    assert record['ledger']['equal'] is True
    assert record['ledger']['compared'] == len(record['rewards']) > 10
    assert record['sum_of_terms'] == pytest.approx(record['episode_return'], abs=1e-12)
    paid = {name for row in record['rewards'] for name, value in row['terms'] if value}
    assert paid == {
        'grasp(alphabet_soup_1)',
        'in(alphabet_soup_1, basket_1_contain_region)',
        'grasp(tomato_sauce_1)',
        'in(tomato_sauce_1, basket_1_contain_region)',
        'success',
    }


def test_report_holds_pictures_of_the_scene(run):
    directory, _ = run
    page = (directory / 'report.html').read_text()
    assert page.count('data:image/') >= 12
