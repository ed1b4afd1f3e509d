"""Names of the 40 tasks."""

import subprocess
import sys

import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.tasks import SUITE_FOLDERS
from structrl_ros.sim.libero.tasks import TASKS
from structrl_ros.sim.libero.tasks import find_task


def test_there_are_ten_tasks_in_each_of_four_suites():
    assert len(TASKS) == 40
    assert {t.suite: sum(u.suite == t.suite for u in TASKS) for t in TASKS} == dict.fromkeys(
        ('long', 'spatial', 'object', 'goal'), 10
    )


@pytest.mark.parametrize('task', TASKS, ids=lambda t: t.id)
def test_every_task_is_found_by_number_by_name_and_by_sentence(task):
    for name in (
        task.id,
        f'{task.folder}/{task.number}',
        f'{task.suite}/{task.short_name}',
        f'{task.folder}/{task.name}',
        task.name,
        f'{task.instruction.capitalize()}.',
    ):
        assert find_task(name) == task


def test_instruction_is_the_sentence_of_the_file_name():
    assert find_task('long/8').instruction == 'put both moka pots on the stove'
    assert find_task('object/3').instruction == 'pick up the bbq sauce and place it in the basket'


@pytest.mark.parametrize(
    'name', ['long/10', 'long/-1', 'kitchen/0', '', '0', 'long/', 'make tea', 'long/00']
)
def test_an_unknown_task_is_one_line_that_says_what_is_allowed(name):
    with pytest.raises(SimulationError) as caught:
        find_task(name)
    line = str(caught.value)
    assert '\n' not in line and repr(name) in line
    assert 'long, spatial, object, goal' in line and len(line) < 200


def test_listing_tasks_imports_no_simulator():
    program = (
        'import sys; from structrl_ros.sim.libero import tasks, body, expert_policy; '
        'body.LiberoBody(); '
        'print([m for m in ("mujoco", "robosuite", "libero", "OpenGL") if m in sys.modules])'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.stdout.strip() == '[]', done.stderr


@pytest.mark.sim
def test_names_and_order_are_those_of_the_installed_benchmark():
    suites = pytest.importorskip('libero.libero.benchmark.libero_suite_task_map')
    for suite, folder in SUITE_FOLDERS.items():
        mine = [t.name for t in TASKS if t.suite == suite]
        assert mine == list(suites.libero_task_map[folder])
