"""`structrl demo --body tabletop`: Pack Lunch through the whole graph, in both modes."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.sim]
pytest.importorskip('mujoco')

PAID = {
    'open(lunch_box_1)',
    'grasp(chicken_1)',
    'in(chicken_1, lunch_box_1_contain_region)',
    'grasp(apple_1)',
    'in(apple_1, lunch_box_1_contain_region)',
    'close(lunch_box_1)',
    'success',
}


@pytest.mark.parametrize(
    'mode',
    [['--lockstep'], pytest.param([], marks=pytest.mark.slow)],
    ids=['lockstep', 'real time'],
)
def test_lunch_is_packed_and_every_step_of_it_paid(tmp_path, mode):
    directory = tmp_path / 'run'
    words = ['demo', '--body', 'tabletop', '--run-dir', str(directory), *mode]
    done = subprocess.run(
        [sys.executable, '-m', 'structrl_ros.cli.main', *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'killed' not in done.stdout
    record = json.loads((directory / 'run.json').read_text())
    assert record['outcome']['reason'] == 'all 6 steps verified'
    assert record['ledger']['equal'] is True
    paid = {name for row in record['rewards'] for name, value in row['terms'] if value}
    assert paid == PAID
